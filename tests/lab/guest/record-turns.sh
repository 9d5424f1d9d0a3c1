# Ten events on five counters, which take turns (a sixth has the truth, that of cycles counts nothing
# else): how often the intervals of what their recordings scaled hold what happened. 300 recordings are
# the full form (LAB_TURNS=300).
# boots: slow
. "$LIB"
runs=${LAB_TURNS:-20}
pmu=armv8_pmuv3
names="instructions r8 r08 r008 $pmu/event=0x8/ $pmu/event=8/ $pmu/event=0x08/ $pmu/config=8/ $pmu/config=0x8/ $pmu/inst_retired/"
# record_load SEED EVENT...: the truth, and what the recording counted of the first event, its variance and
# the share of the time that it was on the PMU
record_load() {
	seed=$1
	shift
	truth=$("$TOOLS/count-segments" beside culprit record -q -u -C 0 --turns 10ms -c 2000003 --no-stash -o turns.prof $engine \
		$(printf ' -e %s' "$@") -- "$TOOLS/count-segments" load 6000 "$seed")
	"$TOOLS/cells" turns.prof | awk -F '\t' -v truth="$truth" '
		$1 == "bill" && $2 == "instructions" { item[$4] += $5 }
		END { print truth, item["count"], "count_variance" in item ? item["count_variance"] : "-", item["running_ns"] / item["enabled_ns"] }'
}
engine="--engine ring"
# What a recording counts besides: the load's start, and its own work. Five events fit.
set -- $(record_load 1001 $(echo $names | cut -d " " -f 1-5)) $(record_load 1002 $(echo $names | cut -d " " -f 1-5))
besides=$((($2 - $1 + $6 - $5) / 2))
echo "besides the load: $besides; on the PMU $4 of the time"
expect_equal "variance of what is counted all the time" "$3" -
run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	echo "$besides $(record_load $run $names)" >>windows
done
tail -n 3 windows
awk -v runs="$runs" '
	function root(x,  y, i) { # the awk here has no functions of its own
		for (y = x > 1 ? x : 1; i < 200; i++) y = (y + x / y) / 2
		return y
	}
	{ truth = $1 + $2; half = 1960 * root($4); held += $3 - half <= truth && truth <= $3 + half
	  error = 100 * ($3 / truth - 1); square += error * error; width += 100 * half / truth; sum += error; share += $5 }
	END {
		ideal = 1.96 * root(square / NR); width /= NR; held /= NR
		printf "%d recordings, on the PMU %.0f %% of the time: %.1f %% of the intervals hold the truth; half width %.3f %% in the mean, ideal %.3f %%; error %.3f %% in the mean\n",
			NR, 100 * share / NR, 100 * held, width, ideal, sum / NR
		# 93 to 97 % where recordings are enough to tell; else three standard errors around 95 %
		tolerance = runs < 300 ? 3 * root(0.05 * 0.95 / runs) : 0.02
		exit !(NR == runs && held >= 0.95 - tolerance && (runs < 300 || held <= 0.97) && width <= 2 * ideal)
	}' windows || fail "intervals do not hold the truth as often as they say: $(cat windows)"

# The same by the table in the kernel.
engine="--engine bpf"
set -- $(record_load 1003 $names)
count=$(bill turns.prof count)
expect_between "ten counts of the load in the table, of one" "$(awk "BEGIN { print $count / ($1 + $besides) / 10 }")" 0.9 1.1
expect_between "their samples, of these counts" "$(awk "BEGIN { print $(estimate turns.prof) / $count }")" 0.98 1.001
