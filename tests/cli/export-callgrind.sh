# Estimates by instruction in callgrind's format; what is read back adds up to the profile.
. "$SOURCE/tests/lib.sh"
"$TOOLS/make-code-profile" x86 code.prof
culprit export -f callgrind -o callgrind.out.1 code.prof
cat callgrind.out.1
culprit import -q callgrind.out.1 -o back.prof
# sums of an event by address
sums() {
	culprit export -q -f csv "$1" | awk -F, -v event="$2" '$1 == "flat" && $2 == event {
		sum[$19] += $25 } END { for (a in sum) print a, sum[a] }' | sort
}
sums code.prof cpu-clock >clock
sums back.prof cpu_clock | cmp - clock
total() {
	sums "$1" "$2" | awk '{ sum += $2 } END { print sum }'
}
expect_equal clock "$(total back.prof cpu_clock)" 135000000
expect_equal cycles "$(total back.prof Cycles)" "$(total code.prof cycles:u)"
