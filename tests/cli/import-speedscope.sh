# Profiles of samples and of opening frames, two threads in a file, and one that makes no sense.
data="$SOURCE/tests/data/speedscope"
culprit report "$data/simple.speedscope.json" | sed 1d
culprit report --by thread "$data/two-sampled.speedscope.json" | sed 1d
cp "$data/out-of-order-events.json" .
culprit import out-of-order-events.json -o bad.prof || echo "status $?"
culprit import --force out-of-order-events.json -o bad.prof
culprit export -q bad.prof
