#!/usr/bin/env python3
"""Writes topdown_cases.h: what TopDown figures have to be, in exact fractions.

usage: topdown_oracle.py OUTPUT.h

Written from the documents alone, not from src/machine: registers after Linux'
tools/perf/Documentation/topdown.txt; methods after the metrics of intel/perfmon
(X/metrics/*.json where there is one, else the columns of TMA_Metrics-full.csv and
E-core_TMA_Metrics.csv), AMD's tables of pipeline utilization, and Arm's
telemetry-solution. Where those cut a difference off at 0 these do not.
"""

import random
import sys
from fractions import Fraction

ORDER = ["retiring", "bad_speculation", "frontend_bound", "backend_bound",
         "heavy_operations", "branch_mispredicts", "fetch_latency", "memory_bound",
         "light_operations", "machine_clears", "fetch_bandwidth", "core_bound",
         "smt_contention"]


class Counts(dict):
    """Remembers which events were asked for."""

    def __init__(self, chance):
        super().__init__()
        self.chance = chance

    def __missing__(self, name):
        self[name] = Fraction(self.chance.randint(10**5, 10**9))
        return self[name]


def rests(f):
    f["light_operations"] = f["retiring"] - f["heavy_operations"]
    f["machine_clears"] = f["bad_speculation"] - f["branch_mispredicts"]
    f["fetch_bandwidth"] = f["frontend_bound"] - f["fetch_latency"]
    f["core_bound"] = f["backend_bound"] - f["memory_bound"]
    return f


def before_ice_lake(kind):
    def figures(c, smt):
        core_clocks = c["cycles_any"] / 2 if smt else c["cycles"]
        slots = 4 * core_clocks
        recovery = (c["int_misc.recovery_cycles_any"] / 2 if smt
                    else c["int_misc.recovery_cycles"])
        f = {}
        f["frontend_bound"] = c["idq_uops_not_delivered.core"] / slots
        f["bad_speculation"] = (c["uops_issued.any"] - c["uops_retired.retire_slots"]
                                + 4 * recovery) / slots
        f["retiring"] = c["uops_retired.retire_slots"] / slots
        f["backend_bound"] = 1 - (f["frontend_bound"] + f["bad_speculation"] + f["retiring"])
        zero = c["idq_uops_not_delivered.cycles_0"]
        if kind in ("snb", "ivb", "hsw"):
            zero = min(c["cycles_thread"], zero)
        f["fetch_latency"] = 4 * zero / slots
        misses = c["br_misp_retired.all_branches"]
        f["branch_mispredicts"] = (misses / (misses + c["machine_clears.count"])
                                   * f["bad_speculation"])
        if kind == "skl":
            f["heavy_operations"] = (c["uops_retired.retire_slots"]
                                     + c["uops_retired.macro_fused"]
                                     - c["inst_retired.any"]) / slots
            stores = c["exe_activity.bound_on_stores"]
            share = (c["cycle_activity.stalls_mem_any"] + stores) / (
                c["cycle_activity.stalls_total"] + c["exe_activity.1_ports_util"]
                + f["retiring"] * c["exe_activity.2_ports_util"] + stores)
        else:
            f["heavy_operations"] = (c["uops_retired.retire_slots"] / c["uops_issued.any"]
                                     * c["idq.ms_uops"] / slots)
            share = memory_share(kind, c, smt, f)
        f["memory_bound"] = share * f["backend_bound"]
        return rests(f)
    return figures


def memory_share(kind, c, smt, f):
    uops = {"snb": "uops_dispatched.thread", "hsw": "uops_executed.core"}.get(
        kind, "uops_executed.thread")
    at_least = [None] + [c[f"{uops}_ge_{n}"] for n in (1, 2, 3)]
    fast = c["inst_retired.any"] / c["cycles_thread"] > Fraction(18, 10)
    busy = at_least[1] - (at_least[3] if fast else at_least[2])
    if kind == "hsw" and smt:
        busy /= 2
    empty = c["rs_events.empty_cycles"] if f["fetch_latency"] > Fraction(1, 10) else 0
    if kind == "bdw":
        stalls, memory = c["cycle_activity.stalls_total"], c["cycle_activity.stalls_mem_any"]
    else:
        name = "no_dispatch" if kind == "snb" else "no_execute"
        waits = "stalls_l1d_pending" if kind == "snb" else "stalls_ldm_pending"
        stalls = min(c["cycles_thread"], c[f"cycle_activity.cycles_{name}"])
        memory = min(c["cycles_thread"], c[f"cycle_activity.{waits}"])
    buffer = c["resource_stalls.sb"]
    return (memory + buffer) / (stalls + busy - empty + buffer)


def ice_lake(register):
    def figures(c, smt):
        slots = c["slots"]
        drop, clears = c["int_misc.uop_dropping"], c["int_misc.clears_count"]
        f = {}
        if register:
            four = (c["topdown.retiring"] + c["topdown.bad_spec"] + c["topdown.fe_bound"]
                    + c["topdown.be_bound"])
            f["retiring"] = c["topdown.retiring"] / four
            f["frontend_bound"] = c["topdown.fe_bound"] / four - drop / slots
            f["backend_bound"] = c["topdown.be_bound"] / four + 5 * clears / slots
        else:
            f["retiring"] = c["uops_retired.slots"] / slots
            f["frontend_bound"] = (c["idq_uops_not_delivered.core"] - drop) / slots
            f["backend_bound"] = (c["topdown.backend_bound_slots"] + 5 * clears) / slots
        f["bad_speculation"] = 1 - (f["frontend_bound"] + f["backend_bound"] + f["retiring"])
        f["fetch_latency"] = (5 * c["idq_uops_not_delivered.cycles_0"] - drop) / slots
        misses = c["br_misp_retired.all_branches"]
        f["branch_mispredicts"] = (misses / (misses + c["machine_clears.count"])
                                   * f["bad_speculation"])
        f["heavy_operations"] = (
            c["uops_retired.slots"] / c["uops_issued.any"] * c["idq.ms_uops"] / slots
            + f["retiring"] * (c["uops_decoded.dec0"] - c["uops_decoded.dec0_cycles"])
            / c["idq.mite_uops"])
        stores = c["exe_activity.bound_on_stores"]
        f["memory_bound"] = f["backend_bound"] * (
            c["cycle_activity.stalls_mem_any"] + stores) / (
            c["cycle_activity.stalls_total"] + c["exe_activity.1_ports_util"]
            + f["retiring"] * c["exe_activity.2_ports_util"] + stores)
        return rests(f)
    return figures


def register_of_eight(corrected):
    def figures(c, smt):
        four = (c["topdown.retiring"] + c["topdown.bad_spec"] + c["topdown.fe_bound"]
                + c["topdown.be_bound"])
        c["slots"]
        f = {name: c["topdown." + field] / four for name, field in (
            ("retiring", "retiring"), ("bad_speculation", "bad_spec"),
            ("frontend_bound", "fe_bound"), ("backend_bound", "be_bound"),
            ("heavy_operations", "heavy_ops"), ("branch_mispredicts", "br_mispredict"),
            ("fetch_latency", "fetch_lat"), ("memory_bound", "mem_bound"))}
        if corrected:
            dropped = c["int_misc.uop_dropping"] / c["slots"]
            f["frontend_bound"] -= dropped
            f["fetch_latency"] -= dropped
            f["bad_speculation"] = 1 - (f["frontend_bound"] + f["backend_bound"] + f["retiring"])
        return rests(f)
    return figures


def cove_events(lion):
    def figures(c, smt):
        slots = c["slots"]
        drop = 0 if lion else c["int_misc.uop_dropping"]
        f = {"retiring": c["uops_retired.slots"] / slots,
             "frontend_bound": (c["idq_bubbles.core"] - drop) / slots,
             "backend_bound": c["topdown.backend_bound_slots"] / slots,
             "heavy_operations": c["uops_retired.heavy"] / slots,
             "branch_mispredicts": c["topdown.br_mispredict_slots"] / slots,
             "memory_bound": c["topdown.memory_bound_slots"] / slots}
        f["fetch_latency"] = (c["idq_bubbles.fetch_latency"] / c["cycles"] if lion
                              else (c["idq_bubbles.cycles_0"] * 6 - drop) / slots)
        f["bad_speculation"] = 1 - (f["frontend_bound"] + f["backend_bound"] + f["retiring"])
        return rests(f)
    return figures


def silvermont(c, smt):
    return {"retiring": c["uops_retired.all"] / (2 * c["cycles"]),
            "frontend_bound": c["no_alloc_cycles.not_delivered"] / c["cycles"]}


def goldmont(width):
    def figures(c, smt):
        slots = width * c["cycles"]
        f = {"retiring": c["uops_retired.any"] / slots,
             "frontend_bound": c["uops_not_delivered.any"] / slots,
             "bad_speculation": (c["uops_issued.any"] - c["uops_retired.any"]
                                 + c["issue_slots_not_consumed.recovery"]) / slots}
        f["backend_bound"] = 1 - sum(f.values())
        return f
    return figures


def atom(width, bad, latency):
    def figures(c, smt):
        slots = width * c["cycles"]
        f = {"retiring": c["topdown_retiring.all"] / slots,
             "frontend_bound": c["topdown_fe_bound.all"] / slots,
             "backend_bound": c["topdown_be_bound.all"] / slots,
             "core_bound": c["topdown_be_bound.alloc_restrictions"] / slots,
             "branch_mispredicts": c["topdown_bad_speculation.mispredict"] / slots,
             "machine_clears": c["topdown_bad_speculation.machine_clears"] / slots}
        f["bad_speculation"] = (c["topdown_bad_speculation.all"] / slots if bad else
                                1 - f["retiring"] - f["frontend_bound"] - f["backend_bound"])
        if latency:
            f["fetch_latency"] = c["topdown_fe_bound.frontend_latency"] / slots
            f["fetch_bandwidth"] = c["topdown_fe_bound.frontend_bandwidth"] / slots
        return f
    return figures


def zen(width):
    def figures(c, smt):
        total = width * c["ls_not_halted_cyc"]
        none = c["de_no_dispatch_per_slot.no_ops_from_frontend"]
        wide = width * c["de_no_dispatch_per_slot.no_ops_cycles"]
        misp, resyncs = c["ex_ret_brn_misp"], c["resyncs_or_nc_redirects"]
        bad = (c["de_src_op_disp.all"] - c["ex_ret_ops"]) / total
        back = c["de_no_dispatch_per_slot.backend_stalls"] / total
        memory = c["ex_no_retire.load_not_complete"] / c["ex_no_retire.not_complete"]
        micro = c["ex_ret_ucode_ops"] / c["ex_ret_ops"]
        retiring = c["ex_ret_ops"] / total
        return {"frontend_bound": none / total, "bad_speculation": bad, "backend_bound": back,
                "smt_contention": c["de_no_dispatch_per_slot.smt_contention"] / total,
                "retiring": retiring, "fetch_latency": wide / total,
                "fetch_bandwidth": (none - wide) / total,
                "branch_mispredicts": bad * misp / (misp + resyncs),
                "machine_clears": bad * resyncs / (misp + resyncs),
                "memory_bound": back * memory, "core_bound": back * (1 - memory),
                "light_operations": retiring * (1 - micro), "heavy_operations": retiring * micro}
    return figures


def neoverse(width, flush, front, back, off=0):
    """front, back: slots of a mispredicted branch that are in neither; off: cycles that stall_slot
    and its half of the frontend count too much."""
    def figures(c, smt):
        cycles = c["cpu_cycles"]
        slots = width * cycles
        idle = (c["stall_slot"] - off * cycles) / slots
        useful = c["op_retired"] / c["op_spec"]
        lost = c["stall_frontend_flush" if flush else "br_mis_pred"] / cycles
        f = {"frontend_bound": (c["stall_slot_frontend"] - off * cycles) / slots - front * lost,
             "backend_bound": c["stall_slot_backend"] / slots - back * lost,
             "retiring": useful * (1 - idle),
             "bad_speculation": (1 - useful) * (1 - idle) + (front + back) * lost}
        if flush:
            share = c["stall_backend_membound"] / c["stall_backend"]
            f["memory_bound"] = f["backend_bound"] * share
            f["core_bound"] = f["backend_bound"] * (1 - share)
        return f
    return figures


def neoverse_n1(c, smt):
    return {"frontend_bound": c["stall_frontend"] / c["cycles"],
            "backend_bound": c["stall_backend"] / c["cycles"]}


METHODS = [
    ("sandy-bridge", before_ice_lake("snb"), "both"),
    ("ivy-bridge", before_ice_lake("ivb"), "both"),
    ("haswell", before_ice_lake("hsw"), "both"),
    ("broadwell", before_ice_lake("bdw"), "both"),
    ("skylake", before_ice_lake("skl"), "both"),
    ("ice-lake", ice_lake(True), "corrected"),
    ("ice-lake-events", ice_lake(False), ""),
    ("golden-cove", register_of_eight(False), ""),
    ("golden-cove", register_of_eight(True), "corrected"),
    ("golden-cove-events", cove_events(False), ""),
    ("lion-cove", register_of_eight(False), ""),
    ("lion-cove-events", cove_events(True), ""),
    ("silvermont", silvermont, ""),
    ("goldmont", goldmont(3), ""),
    ("goldmont-plus", goldmont(4), ""),
    ("tremont", atom(4, True, False), ""),
    ("gracemont", atom(5, False, True), ""),
    ("crestmont", atom(6, True, True), ""),
    ("skymont", atom(8, True, True), ""),
    ("zen4", zen(6), ""),
    ("zen5", zen(8), ""),
    ("neoverse-n1", neoverse_n1, ""),
    ("neoverse-v1", neoverse(8, False, 4, 0), ""),
    ("neoverse-n2", neoverse(5, False, 1, 3, 1), ""),
    ("neoverse-n2-r0p3", neoverse(5, False, 1, 3), ""),
    ("neoverse-n3", neoverse(5, True, 1, 0), ""),
    ("neoverse-v2", neoverse(8, False, 1, 3), ""),
    ("neoverse-v3", neoverse(10, True, 1, 0), ""),
]


def method_cases(chance):
    for name, figures, kind in METHODS:
        for smt in ([False, True] if kind == "both" else [False]):
            for _ in range(8):
                counts = Counts(chance)
                f = figures(counts, smt)
                given = ", ".join(f'{{ "{n}", {int(v)}u }}' for n, v in sorted(counts.items()))
                values = ", ".join(repr(float(f[k])) if k in f else "ABSENT" for k in ORDER)
                yield (f'\t{{ "{name}", {"true" if smt else "false"}, '
                       f'{"true" if kind == "corrected" else "false"}, {{ {given} }},\n'
                       f'\t  {{ {values} }} }},')


def fields(chance):
    """Four shares of 255 steps, then a part of each."""
    cuts = sorted(chance.randint(0, 255) for _ in range(3))
    level1 = [b - a for a, b in zip([0] + cuts, cuts + [255])]
    return level1 + [chance.randint(0, share) for share in level1]


def register_cases(chance):
    for i in range(200):
        a, b = fields(chance), fields(chance)
        slots_a = 0 if i % 10 == 0 else chance.randint(1, 2**(20 + i % 27))
        if slots_a == 0:
            a = [0] * 8
        slots_b = slots_a + chance.randint(1, 2**(20 + i % 27))
        scaled = [y * slots_b - x * slots_a for x, y in zip(a, b)]
        delta = slots_b - slots_a
        ratios = [Fraction(s, 255) / delta for s in scaled]
        ratios += [ratios[k] - ratios[k + 4] for k in range(4)]
        resolution = Fraction(1, 2) / 255 * Fraction(slots_a + slots_b, delta)
        word = [sum(f << 8 * k for k, f in enumerate(reading)) for reading in (a, b)]
        yield (f"\t{{ {{ {slots_a}u, {word[0]:#x}u }}, {{ {slots_b}u, {word[1]:#x}u }},\n"
               f"\t  {{ {', '.join(str(s) for s in scaled)} }},\n"
               f"\t  {{ {', '.join(repr(float(r)) for r in ratios)} }}, "
               f"{float(resolution)!r} }},")


def main(path):
    chance = random.Random(14)
    text = ["/* Written by topdown_oracle.py. */", "#pragma once", "",
            "static const struct register_case register_cases[] = {", *register_cases(chance),
            "};", "", "static const struct method_case method_cases[] = {",
            *method_cases(chance), "};", ""]
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(text))


if len(sys.argv) != 2:
    sys.exit(__doc__.strip())
main(sys.argv[1])
