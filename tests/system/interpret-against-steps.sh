# What is interpreted from a sampled state is what the program then does, step by step.
# beside others
. "$SOURCE/tests/lib.sh"
need_command gzip
program="$(dirname "$CULPRIT")/../../bench/bench-interpret"
head -c 3000000 /dev/urandom | base64 >input
check() { # the least percent with an outcome; options
	least=$1
	shift
	status=0
	"$program" -n 2000 "$@" -- gzip -9 -c input >out 2>err || status=$?
	[ $status != 77 ] || skip "programs cannot be traced here"
	cat out err
	expect_equal "status" "$status" 0
	read -r paths _ compared _ diverge _ <out
	expect_equal "paths" "$paths" 2000
	expect_between "paths compared" "$compared" 1800 2000
	expect_between "paths that diverge" "$diverge" 0 1
	expect_between "paths with an outcome, in percent" \
		"$(sed -n 's/.*; \([0-9.]*\) % have.*/\1/p' out)" "$least" 100
}
check 20
check 20 -m # and what registers point to
expect_match "blocks" "$(cat out)" '[1-9][0-9.]* blocks a path'
