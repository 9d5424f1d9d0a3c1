# The same CPU time from a protobuf and from words: stacks, labels and refusals.
culprit report "$SOURCE/tests/data/pprof/speedscope-simple.prof" | sed 1d
culprit report --by line "$SOURCE/tests/data/pprof/speedscope-simple.prof" --limit 4 | sed 1d
culprit report "$SOURCE/tests/data/pprof/gobench.cpu" | sed 1d
tail -c +2 "$SOURCE/tests/fuzz/seeds/import_pprof/usual" >usual.pb
culprit import usual.pb -o usual.prof
culprit report --tree usual.prof
culprit report --by process usual.prof || true
gzip -dc "$SOURCE/tests/data/pprof/speedscope-simple.prof" | head -c 1500 >cut.pb
head -c 500 "$SOURCE/tests/data/pprof/gobench.cpu" >cut.cpu
for file in cut.pb cut.cpu; do
	culprit import $file -o cut.prof || echo "status $?"
	culprit import --force $file -o cut.prof || echo "status $?"
done
