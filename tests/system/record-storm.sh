# Many processes of a few milliseconds, all of which are gone before anybody looks: at most one
# sample in a thousand stays without an image.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

culprit record --quiet -a -F 2000 -- "$KERNELS/busy" execs 400 2
all=$(samples culprit.prof)
expect_between "samples" "$all" 1000 100000
expect_between "share without an image" "$(ratio "$(bill culprit.prof 'unknown_.*')" "$all")" 0 0.001
one=$(samples culprit.prof 10 busy_one)
two=$(samples culprit.prof 10 busy_two)
expect_between "busy_one of both" "$(ratio "$one" $((one + two)))" 0.25 0.42
expect_between "samples of the short work" $((one + two)) 800 4000
expect_equal "records about processes lost" "$(bill culprit.prof lost_sideband)" 0
