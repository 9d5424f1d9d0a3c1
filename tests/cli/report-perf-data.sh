# perf.data is an input like any other: as a file, packed, from a pipe.
data="$SOURCE/tests/data/perfdata"
for file in quipper-singleprocess-3.4 quipper-pipe-group-6.8 linux-perf-data-compressed2 \
	simpleperf-two-functions-arm64; do
	echo "== $file"
	culprit report --by image "$data/$file.perf.data" 2>&1 | sed 1d
done
echo "== from a pipe"
culprit report --by image - <"$data/quipper-pipe-group-6.8.perf.data" | sed 1d
echo "== packed"
gzip -c "$data/quipper-singleprocess-3.4.perf.data" >packed
culprit report --by image packed | sed -n 6,8p
echo "== a profile of it"
culprit import -q "$data/quipper-singleprocess-3.4.perf.data"
culprit report --by image | sed -n 6,8p
echo "== cut off"
head -c 13000 "$data/quipper-singleprocess-3.4.perf.data" >cut
culprit report cut 2>&1 || echo "($?)"
culprit report --force --by image cut 2>&1 | sed -n '1p;7,8p'
