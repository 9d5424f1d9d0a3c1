# Code whose file is gone, was never one, or lies in another root: named all the same.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

named() {
	one=$(samples "$1" 10 busy_one)
	two=$(samples "$1" 10 busy_two)
	expect_between "samples in $1" $((one + two)) 400 2000
	expect_between "busy_one of both in $1" "$(ratio "$one" $((one + two)))" 0.25 0.42
}
cp "$KERNELS/busy" gone
culprit record --quiet -F 2000 -o deleted.prof -- ./gone deleted 0.4
[ ! -e gone ] || fail "the program did not delete itself"
named deleted.prof

culprit record --quiet -F 2000 -o memfd.prof -- "$KERNELS/busy" memfd 0.4
named memfd.prof

culprit record --quiet -e cpu-clock -F 2000 -o jit.prof -- "$KERNELS/busy" jit 0.8
expect_between "milliseconds of run-time code" $(($(estimate jit.prof 3 jit 10 jit_work) / 1000000)) 500 1000
