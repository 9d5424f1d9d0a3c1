# Helpers for tests/system/culprits-*.sh: programs that wait for one thing, each beside the same
# without that wait (tests/kernels/stalls.c). What a CPU does not slow down is skipped with the figure
# measured. Of the others the stalls that are shown are true: the first cause of the worst one can be,
# those that cannot be are absent, and a wait that any CPU out of order has is shown even by
# samples of the CPU clock alone.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_command python3
[ "$(uname -m)" = x86_64 ] || skip "the instructions to blame are named for x86-64"

# A kernel is slowed down when an element takes so many times as long as in its control.
SLOWED=1.5
# Loops of many rounds that fit in the first cache: fetched once.
FITS='icache_miss itlb_miss'

# record KERNEL: its profile, and in KERNEL.ns what an element took
record() {
	culprit record --quiet -e cpu-clock -F 4000 -o "$1.prof" -- "$KERNELS/stalls" "$1" 0.5 >"$1.ns"
}

# expect_summary KERNEL PROCEDURE RULE...: of its samples.
#	causes='A B'    the worst stall, if there is one of more than a tenth, has one of these first
#	at=REGEX        and is of such an instruction
#	never='A B'     these cannot be: no more than a tenth may be theirs
#	                (an operand chain is unproven where no table tells how many this CPU issues a cycle)
#	unproven='A B'  these are not there, but the samples need not tell: nothing is surely theirs
#	least=SHARE, most=SHARE  of all stalls together
expect_summary() {
	wrong=$(judge "$@")
	[ -z "$wrong" ] || fail "$1: $wrong"
}

judge() {
	culprit summary --json "$2" "$1.prof" >"$1.json"
	python3 - "$1.json" "$@" <<'PYTHON'
import json, re, sys
document = json.load(open(sys.argv[1]))
rules = dict(rule.split("=", 1) for rule in sys.argv[4:])
total, worst = document["total"], document["worst_stalls"]
ranges = {k: v for k, v in document["dynamic"].items() if isinstance(v, dict)}
if abs(document["total_tallied"] - total) > 1e-6 * total:
    print("tallied %g of %g" % (document["total_tallied"], total))
never, unproven = rules.get("never", "").split(), rules.get("unproven", "").split()
if document["processor"].startswith("generic-") and "operand_chain" in never:
    never.remove("operand_chain")
    unproven.append("operand_chain")
for cause in never:
    if ranges[cause]["high"] > 0.1 * total:
        print("%s may take %.1f %%" % (cause, 100 * ranges[cause]["high"] / total))
for cause in unproven:
    if ranges[cause]["low"] > 0.05 * total:
        print("%s takes at least %.1f %%" % (cause, 100 * ranges[cause]["low"] / total))
if document["relative_procedures"]:
    for cause, of in ranges.items():
        if of["high"] > 0 and of["high"] == of["low"]:
            print("%s has a range of no width" % cause)
share = document["total_stall"] / total
if share > float(rules.get("most", 1)):
    print("%.1f %% stalled, which it did not" % (100 * share))
if share < float(rules.get("least", 0)):
    print("no more than %.1f %% stalled" % (100 * share))
if worst and worst[0]["cycles"] > 0.1 * total and "causes" in rules:
    first = worst[0]["culprits"][0]["cause"] if worst[0]["culprits"] else "no cause"
    if first not in rules["causes"].split():
        print("first cause of the worst stall: %s, of %s" % (first, worst[0]["instruction"]))
    if not re.match(rules.get("at", ""), worst[0]["instruction"]):
        print("worst stall: %s" % worst[0]["instruction"])
PYTHON
}

# is_sampled_at MNEMONIC KERNEL PROCEDURE: whether a tenth of the procedure's samples are at instructions
# of that name. At the one that waits they are where an interrupt also comes before it (Ice Lake; Zen 5
# at loads of a slow memory): a part of its wait then counts for the instruction ahead of it.
is_sampled_at() {
	culprit annotate --quiet --json "$3" "$2.prof" | python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin)["procedures"][0]["rows"] if row.get("counts")]
samples = [(row["counts"][0].get("samples", 0), row.get("text") or "") for row in rows]
at = sum(n for n, text in samples if text.startswith(sys.argv[1]))
sys.exit(at < 0.1 * sum(n for n, _ in samples))' "$1"
}

# expect_slowed KERNEL: slower than its control here, or the test ends.
expect_slowed() {
	record "$1"
	record "$1-control"
	slowed=$(ratio "$(cat "$1.ns")" "$(cat "$1-control.ns")")
	awk -v slowed="$slowed" -v limit="$SLOWED" 'BEGIN { exit slowed < limit }' ||
		skip "this CPU does not slow $1 down: an element takes $slowed times what it takes in its control"
}
