# boots: exact
# culprit stat on hardware counters: exact counts, figures made of them, and counts that took turns.
. "$LIB"
# counted OPTIONS...: the count of instructions:u, of -x,
counted() {
	culprit stat -q -x , -o lines "$@" 2>err || fail "$(cat err)"
	awk -F , '$3 == "instructions:u" { print $1 }' lines
}
# the loader and the start of the program are in both, 400,000 and some around the loop in each turn
few=$(counted -e instructions:u "$KERNELS/turns" 50)
many=$(counted -e instructions:u "$KERNELS/turns" 100)
expect_between "instructions of 50 turns more" "$((many - few))" 20000000 20002000
# in a group with cycles; this boot's instructions take a cycle
counted -e '{cycles:u,instructions:u}' "$KERNELS/turns" 50 >/dev/null
expect_between "instructions per cycle" "$(awk -F , '$3 == "instructions:u" { print $6 }' lines)" 0.98 1.02
culprit stat -q --json -u -M ipc -M cpi -o page "$KERNELS/turns" 50
expect_between "metric cpi" "$(sed -n 's/.*"metric":"cpi".*"value":\([0-9.]*\),.*/\1/p' page)" 0.98 1.02
# as many as were counted before, by a process of its own
same=$(counted -e instructions:u sh -c "$KERNELS/turns 50; exit")
expect_between "instructions with the shell's" "$((same - few))" 1 2000000
# intervals add up
culprit stat -q -x , -e instructions:u -I 5 -o lines "$KERNELS/turns" 50
expect_between "instructions of all intervals" "$(awk -F , '$4 == "instructions:u" { n += $2 } END { printf "%.0f\n", n }' lines)" \
	$((few - 2000)) $((few + 2000))
# the usual events
culprit stat -q -o page "$KERNELS/turns" 20
grep -q 'insn per cycle' page || fail "no instructions per cycle: $(cat page)"
# more events than counters, each in a group of its own or with those that fit: scaled, with an interval
culprit stat -q --json -o page -e instructions:u,cycles:u,r08:u,r11:u,r1b:u,r08:u,r11:u,r1b:u,r08:u,r11:u,r1b:u,r08:u,r11:u,r1b:u,instructions:u "$KERNELS/turns" 3000 2>err
grep '"event":"instructions:u"' page >values
expect_equal "values" "$(grep -c . values)" 2
truth=$(counted -e instructions:u "$KERNELS/turns" 3000)
while read -r line; do
	number() { echo "$line" | sed -n "s/.*\"$1\":\([0-9.e+]*\),.*/\1/p"; }
	low=$(number value_low)
	[ -n "$low" ] || fail "no interval: $line"
	expect_between "instructions that took turns" "$(number value)" "$(awk -v t="$truth" 'BEGIN { print t * 0.9 }')" \
		"$(awk -v t="$truth" 'BEGIN { print t * 1.1 }')"
done <values
# this processor's method has stalled cycles, and says what it has not
culprit stat -q --topdown -o page "$KERNELS/turns" 20
grep -q '% *frontend_bound .*of cycles' page || fail "no share of stalled cycles: $(cat page)"
grep -q 'not counted.*retiring .*Neoverse N1 counts stalled cycles' page || fail "no reason: $(cat page)"
