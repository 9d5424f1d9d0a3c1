# Programs that wait for one thing: the first cause of their worst stall is that thing, from
# samples of the CPU clock alone.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
need_command python3
[ "$(uname -m)" = x86_64 ] || skip "the instructions to blame are named for x86-64"

# KERNEL CAUSE INSTRUCTION [CAUSE...]: what stalls worst there, and why; then who is cleared
check() {
	kernel=$1 cause=$2 instruction=$3
	shift 3
	culprit record --quiet -F 4000 -o "$kernel.prof" -- "$KERNELS/stalls" "$kernel" 0.4 >/dev/null
	culprit summary --json "stall_$kernel" "$kernel.prof" >"$kernel.json"
	found=$(python3 - "$kernel.json" "$@" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
total = document["total"]
worst = document["worst_stalls"][0] if document["worst_stalls"] else None
if not worst or not worst["culprits"]:
    sys.exit("no stall with a cause")
listed = [c["cause"] for c in worst["culprits"]]
wrong = [c for c in sys.argv[2:] if c in listed]
if wrong:
    print("not cleared:", *wrong)
tallied = document["total_tallied"]
if abs(tallied - total) > 1e-6 * total:
    print("tallied %g of %g" % (tallied, total))
print(listed[0], worst["instruction"].split()[0])
END
	)
	expect_match "worst stall of $kernel" "$found" "^$cause $instruction\$"
	share=$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); print(d["worst_stalls"][0]["cycles"] / d["total"])' "$kernel.json")
	expect_between "its share in $kernel" "$share" 0.15 1
}
check copy dcache_miss 'mov[a-z]*' icache_miss multiplier_busy divider_busy synchronisation other
check chase dcache_miss 'mov[a-z]*' icache_miss write_buffer multiplier_busy divider_busy
check divide divider_busy 'div[a-z]*' dcache_miss icache_miss write_buffer operand_chain
check multiply multiplier_busy 'imul[a-z]*' dcache_miss icache_miss write_buffer
check mispredict branch_mispredict '[a-z]*' write_buffer divider_busy synchronisation
check store write_buffer 'mov[a-z]*' dcache_miss icache_miss divider_busy
check atomic synchronisation 'lock' icache_miss divider_busy
check alias dcache_miss 'mov[a-z]*' icache_miss divider_busy
