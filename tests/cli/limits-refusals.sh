# Small files that would cost gigabytes: refused with the limit's name, within what they may have.
# 400 MB of address space is what a process has that holds to 64 MiB; without the limits
# each of these needs from 0.5 to 9 GB.
. "$SOURCE/tests/lib.sh"
make="$TOOLS/make-costly-file"
need_counted_memory
bounded() {
	status=0
	(ulimit -v 400000 && exec timeout 60 culprit "$@") || status=$?
	echo "culprit $*: status $status"
}
$make pprof 1400000 locations.pb.gz
$make folded 4500000 deep.folded.gz
$make perf-data 400 perf.data
$make code 8000000 code.prof
$make speedscope 100000 deep.json
find . -size +100k ! -name deep.json -print
for file in locations.pb.gz deep.folded.gz perf.data deep.json; do
	bounded import $file -o new.prof
	bounded report $file
done 2>&1 | hide 'at byte [0-9]+' 'at byte N' ' 6[0-9]\.[0-9] MiB' ' 6x MiB' 'for [0-9]+ bytes' 'for N bytes'
echo kept >page.svg
bounded flame -o page.svg deep.folded.gz >said 2>&1
hide ' 6[0-9]\.[0-9] MiB' ' 6x MiB' 'for [0-9]+ bytes' 'for N bytes' <said
cat page.svg
$make pprof-again 20000 again.pb.gz
bounded import --limits frames=4M -o new.prof again.pb.gz 2>&1 | hide '[0-9]{7,} frames' 'N frames' 'sample [0-9]+' 'sample N'
for verb in annotate summary; do
	bounded $verb code.prof
done 2>&1 | hide ' 6[0-9]\.[0-9] MiB' ' 6x MiB' 'for [0-9]+ bytes' 'for N bytes'
$make speedscope 4000 steps.json
bounded import -q -o steps.prof steps.json 2>&1
bounded export --limits output=1M -o steps.folded steps.prof 2>&1 | hide ' [0-9.]+ MiB' ' N MiB' 'for [0-9]+ bytes' 'for N bytes'
bounded import -q --limits frames=1M -o steps.prof steps.json 2>&1
ls
