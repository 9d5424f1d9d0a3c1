# Stacks that are known beforehand: who called the work, how often, and the kernel above its caller.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
culprit record --quiet -F 1000 -g -- "$KERNELS/call_chain" 1

# share REPORT PROCEDURE [NTH]: total % of the NTH row (the first) of this name
share() {
	awk -v name="$2" -v nth="${3:-1}" '$NF == name && ++seen == nth { print $2; exit }' "$1"
}
# follow REPORT FIRST SECOND...: these rows, one right below the other
follow() {
	follow_of=$1
	shift
	awk -v wanted="$*" 'BEGIN { n = split(wanted, w, " ") }
		{ at = $NF == w[at + 1] ? at + 1 : $NF == w[1] ? 1 : 0; if (at == n) found = 1; if (at == n) exit }
		END { exit !found }' "$follow_of" || fail "$follow_of has no rows $* in this order: $(cat "$follow_of")"
}
culprit report --inclusive --min 0 --limit 0 --no-inline >inclusive
run=$(share inclusive run)
expect_between "share of run" "$run" 90 100
# of the four callers' parts 3:1:1 of what is not the kernel's
leaf=$(share inclusive chain_leaf)
for caller in chain_outer:0.6 chain_middle:0.6 chain_other:0.2 chain_deep:0.2; do
	low=$(awk -v part="${caller#*:}" 'BEGIN { print part - 0.1 }')
	high=$(awk -v part="${caller#*:}" 'BEGIN { print part + 0.1 }')
	expect_between "share of ${caller%:*} in chain_leaf" "$(ratio "$(share inclusive "${caller%:*}")" "$leaf")" "$low" "$high"
done
# A recursive function counts once.
expect_equal "rows of chain_deep" "$(grep -c ' chain_deep$' inclusive)" 1

culprit report --callers chain_leaf --min 1 >callers
follow callers chain_leaf chain_middle chain_outer run main
follow callers chain_other run main
follow callers chain_deep chain_deep chain_deep chain_deep chain_deep run main
culprit report --tree --min 1 --limit 0 --no-inline >tree
follow tree main run chain_outer chain_middle chain_leaf
follow tree chain_other chain_leaf
follow tree chain_deep chain_deep chain_deep chain_deep chain_deep chain_leaf

# Some of its samples are in the kernel, right below the function that called it.
culprit report --tree --min 1 --limit 0 --no-inline --focus chain_kernel >kernel
kernel=$(awk '$NF == "chain_kernel" { getline; if ($0 ~ /\[kernel\]/) print $2; exit }' kernel)
expect_between "share of the kernel below chain_kernel" "$kernel" 1 100
culprit report --callees chain_kernel --min 1 --no-inline >callees
expect_match "what chain_kernel called" "$(awk '$NF == "chain_kernel" { getline; print; exit }' callees)" "\[kernel\]"
! grep -q '\[kernel\].*chain_' tree || fail "user code is taken for the kernel's"

# The program keeps frame pointers: stacks break in the C library at most.
broken=$(culprit report --json | jq .stacks.broken_percent)
expect_between "percent of stacks that break" "$broken" 0 5
