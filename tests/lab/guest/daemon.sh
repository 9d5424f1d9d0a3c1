# The daemon counts cycles all the time, instructions all the time, and instructions eight times more by
# counters that take turns, ten events on seven counters: in each epoch what was scaled is what was
# counted, and states its error. (How often intervals hold the truth takes hundreds of epochs to tell:
# record-turns.sh.) tests/lab/host/daemon-boots.sh reads what two boots leave.
# boots: slow double
. "$LIB"
epochs=2 seconds=6
[ "$LAB_BOOT" = slow ] || epochs=1 seconds=2 # for the host alone
pmu=armv8_pmuv3
turns="-e r8 -e r08 -e r008 -e $pmu/event=0x8/ -e $pmu/event=8/ -e $pmu/event=0x08/ -e $pmu/config=8/ -e $pmu/config=0x8/"
"$TOOLS/count-segments" load 1000000 &
load=$!
culprit daemon --config /dev/null -o "$OUT/db" --socket socket -u --engine ring --no-stacks --epoch ${seconds}s --merge-interval ${seconds}s --no-stash \
	-F 30 -e cycles:D -e instructions:D $turns 2>said &
daemon=$!
sleep $((seconds * (epochs + 2)))
culprit ctl --socket socket status
culprit ctl --socket socket stop
wait $daemon || fail "the daemon ended with $?: $(cat said)"
kill $load
cat said
culprit check "$OUT/db"
[ "$LAB_BOOT" = slow ] || exit 0

for epoch in $(find "$OUT/db" -name '*.prof' | sort | sed '1d;$d'); do # neither the start nor what is left
	"$TOOLS/cells" "$epoch" | awk -F '\t' '
		function root(x,  y, i) {
			for (y = x > 1 ? x : 1; i < 200; i++) y = (y + x / y) / 2
			return y
		}
		$1 == "bill" && $2 ~ /^instructions/ { truth[$4] += $5 }
		$1 == "bill" && $2 ~ /^cycles/ { cycles[$4] += $5 }
		$1 == "bill" && $2 !~ /^(instructions|cycles)/ && $4 ~ /^(count|count_variance|enabled_ns|running_ns|runs|stored)$/ { item[$2, $4] += $5; names[$2] = 1 }
		END {
			rate = truth["count"] / truth["enabled_ns"]
			for (name in names) {
				is = item[name, "count"] / item[name, "enabled_ns"]
				half = 1960 * root(item[name, "count_variance"]) / item[name, "enabled_ns"] # in thousands, squared
				print (is - half <= rate && rate <= is + half), is / rate, half / rate,
					item[name, "running_ns"] / item[name, "enabled_ns"],
					cycles["running_ns"] == cycles["enabled_ns"] && truth["running_ns"] == truth["enabled_ns"]
			}
		}' >>estimates
done
awk '
	{ held += $1; error = $2 - 1; sum += error; far += error > 0.02 || error < -0.02; half += $3; none += $3 <= 0; share += $4; always += $5 }
	END {
		printf "%d estimates, on the PMU %.0f %% of the time: error %.3f %% in the mean, half width %.3f %%; %.0f %% of the intervals hold the truth\n",
			NR, 100 * share / NR, 100 * sum / NR, 100 * half / NR, 100 * held / NR
		exit !(NR >= 8 * 2 && always == NR && share / NR < 0.9 && !far && !none && half / NR < 0.02)
	}' estimates || fail "estimates are far from the truth: $(cat estimates)"
