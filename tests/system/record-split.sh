# Two functions that take 1:2 of the time do so in the profile, however it was recorded. Many samples
# a second make half a second enough.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

program=split$$ # others may run the same functions
cp "$KERNELS/busy" $program

check() {
	one=$(samples culprit.prof 10 busy_one 11 $program)
	two=$(samples culprit.prof 10 busy_two 11 $program)
	# 4 standard errors around 1/3 of some 1000 samples
	expect_between "busy_one of both with '$*'" "$(ratio "$one" $((one + two)))" 0.27 0.40
	expect_between "samples with '$*'" $((one + two)) 450 3000
	expect_equal "lost with '$*'" "$(bill culprit.prof 'lost_.*')" 0
}
for options in "" "-g" "--no-random" "-e cpu-clock -c 500009" "-F 2000 --per-thread --per-cpu"; do
	# shellcheck disable=SC2086
	[ -n "$options" ] && [ "$options" != -g ] || options="$options -F 2000"
	case "$options" in --no-random) options="-F 2000 --no-random" ;; esac
	culprit record --quiet $options -- ./$program split 0.5
	check "$options"
done
culprit record --quiet -a -F 2000 ./$program split 0.5
check -a
