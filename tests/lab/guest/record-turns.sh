# Ten events on six counters, one of which counts all the time and has the truth, while the others take
# turns of 100 ms: how often the intervals of what was scaled hold what happened, in epochs of 4 s. 300
# epochs are the full form (LAB_TURNS=300). (Switching takes 0.2 ms here, in which no user code runs and
# nothing counts: the rate of turns of 10 ms would be 2 % too high.)
# boots: slow
. "$LIB"
epochs=${LAB_TURNS:-16}
pmu=armv8_pmuv3
events="-e r8 -e r08 -e r008 -e $pmu/event=0x8/ -e $pmu/event=8/ -e $pmu/event=0x08/ -e $pmu/config=8/ -e $pmu/config=0x8/ -e $pmu/inst_retired/"
# 4 s take some 1,600 parts of the load
culprit record -q -u --engine ring --epoch 4s --merge-interval 4s -F 30 -e instructions:D $events -o db -- \
	"$TOOLS/count-segments" load $((1600 * (epochs + 2)))
for epoch in $(find db -name '*.prof' | sort | sed '1d;$d'); do # neither the start nor what is left
	"$TOOLS/cells" "$epoch" | awk -F '\t' '
		$1 == "bill" && $2 ~ /^instructions/ { truth[$4] += $5 }
		$1 == "bill" && $2 == "r8" { item[$4] += $5 }
		END { print truth["count"] / truth["enabled_ns"], item["count"] / item["enabled_ns"],
			item["count_variance"] / item["enabled_ns"] / item["enabled_ns"],
			item["running_ns"] / item["enabled_ns"], truth["running_ns"] / truth["enabled_ns"] }' >>windows
done
tail -n 3 windows
# Those in which the load ran throughout: not the one in which it began.
awk 'NR == FNR { if ($1 > most) most = $1; next } $1 > 0.97 * most' windows windows >full
[ $(($(wc -l <windows) - $(wc -l <full))) -le 1 ] || fail "the load did not run: $(cat windows)"
awk '
	function root(x,  y, i) { # the awk here has no functions of its own
		for (y = x > 1 ? x : 1; i < 200; i++) y = (y + x / y) / 2
		return y
	}
	{ half = 1960 * root($3); held += $2 - half <= $1 && $1 <= $2 + half
	  error = 100 * ($2 / $1 - 1); square += error * error; width += 100 * half / $1; sum += error; share += $4; always += $5 == 1 }
	END {
		if (NR == 0) exit 1
		ideal = 1.96 * root(square / NR); width /= NR; held /= NR
		printf "%d epochs, on the PMU %.0f %% of the time: %.1f %% of the intervals hold the truth; half width %.3f %% in the mean, ideal %.3f %%; error %.3f %% in the mean\n",
			NR, 100 * share / NR, 100 * held, width, ideal, sum / NR
		# 93 to 97 % where epochs are enough to tell; else no less than 93 % by three standard errors
		least = 0.93 - (NR < 250 ? 3 * root(0.07 * 0.93 / NR) : 0)
		exit !(NR >= 12 && always == NR && held >= least && (NR < 250 || held <= 0.97) && width <= 2 * ideal)
	}' full || fail "intervals do not hold the truth as often as they say: $(cat full)"

# The same by the table in the kernel.
culprit record -q -u --engine bpf -F 30 -e instructions:D $events -o table.prof -- \
	"$TOOLS/count-segments" load 1600
truth=$(bill table.prof count)
expect_between "ten counts in the table, of the one that is always counted" "$("$TOOLS/cells" table.prof | awk -F '\t' '
	$1 == "bill" && $4 == "count" { all += $5 } $1 == "bill" && $4 == "count" && $2 ~ /^instructions/ { one += $5 }
	END { print all / one / 10 }')" 0.93 1.07
expect_between "their samples, of these counts" "$(awk "BEGIN { print $(estimate table.prof) / $truth }")" 0.95 1.001
expect_match "what the report says" "$(culprit report table.prof)" \
	'multiplexed: counted [0-9.]+ % of the time and scaled, in all \+- [0-9.]+ %'
