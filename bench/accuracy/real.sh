#!/bin/bash
# bench/accuracy-real.sh runs this: real.sh FOLDER [NAME...], with CULPRIT in the environment.
set -u
folder=${1:?the folder that truth.sh has filled}
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$here/workloads
inputs=$folder/inputs
bench=$(dirname "$CULPRIT")/../../bench/bench-accuracy-real
names=${*:-gzip bzip2 xz zstd python3 perl sqlite3 lua cc1}
runs=${ACCURACY_RUNS:-8}
. "$work/commands.sh"

"$bench" --head
for name in $names; do
	[ -s "$folder/$name.callgrind" ] || continue
	set_workload "$name" || exit 2
	profiles=()
	for run in $(seq "$runs"); do
		# shellcheck disable=SC2086 # a list
		"$CULPRIT" record --quiet --user --edges --overhead 20 ${ACCURACY_RECORD:-} -o "$name.$run" -- \
			"${workload[@]}" >/dev/null </dev/null || exit 1
		profiles+=("$name.$run")
	done
	"$bench" "$name" "$folder/$name.callgrind" "${profiles[@]}" || exit 1
done >rows || exit 1
cat rows
for by in alone branches alone-1 costs-1 branch-1; do
	for without in none cc1; do
		awk -v by="$by" -v without="$without" '
		$2 == by && $1 != without { n++; for (i = 4; i <= 7; i++) sum[i] += $i }
		END {
			printf "mean of %d by %-8s", n, by
			for (i = 4; i <= 7; i++) printf " %5.1f", sum[i] / n
			print without == "cc1" ? "   without cc1" : ""
		}' rows
	done
done
