# "cycles" is that event alone where others are called "cycles:u", "cycles:k"; without it, it is both
cat >script <<'END'
# ========
# captured on    : Tue Mar  3 10:00:00 2020
# event : name = cycles, type = 0, { sample_period, sample_freq } = 4000, freq = 1
# event : name = cycles:u, type = 0, { sample_period, sample_freq } = 4000, freq = 1
# event : name = cycles:k, type = 0, { sample_period, sample_freq } = 4000, freq = 1
# ========
sh 7 [000] 1.5:      1000 cycles: 
	    401000 both+0x0 (/bin/sh)

sh 7 [000] 1.6:        20 cycles:u: 
	    401010 user+0x0 (/bin/sh)

sh 7 [000] 1.7:         3 cycles:k: 
	    401020 kernel+0x0 (/bin/sh)

END
grep -v 'cycles: *$\|both' script | sed '/^# event : name = cycles,/d' >without
say() {
	echo "-- $*"
	"$@" 2>&1 || echo "status $?"
}
for event in cycles cycles:u 'cycles*' cycles:p; do
	say culprit export --format folded -e "$event" script
done
say culprit export --format folded -e cycles without
say culprit report -e cycles --json script | tr ',' '\n' | grep '"name"'
say culprit diff script -e cycles -e cycles:u | sed -n '/^total/p; /^but/p'
say culprit diff --per cycles script script -e cycles:k | sed -n '/^compared/p'
say culprit flame -o a.svg --color cycles:u/cycles script
say culprit flame -o b.svg -e cycles script
grep -o '1 000 cycles\|1000 cycles' b.svg | head -1
