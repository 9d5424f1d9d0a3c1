# As an ordinary user: the kernel's part is left out, and what then would be 0 is not said.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip "perf_event_paranoid is not 2"
chmod 755 .
cp "$(command -v culprit)" ./culprit-copy
as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --no-new-privs ./culprit-copy stat "$@"
}
as_user -x , -e task-clock,page-faults,context-switches -o - true >counted 2>said
expect_match "page faults" "$(cat counted)" '^[0-9]+,,page-faults:u,'
expect_match "task clock" "$(cat counted)" '^[0-9.]+,msec,task-clock,'
expect_match "context switches" "$(cat counted)" '^<not supported>,,context-switches'
expect_match "reason" "$(cat said)" 'not counted: context-switches(:u)?: permission denied'
status=0
as_user -a --duration 10ms >said 2>&1 || status=$?
expect_match "whole CPUs" "$(cat said)" 'permission denied'
expect_match "without any count" "$(cat said)" 'none of the events can be counted'
expect_equal "status without any count" $status 1
status=0
as_user -p $$ --duration 10ms >said 2>&1 || status=$?
expect_equal "status of another user's process" $status 1
expect_match "another user's process" "$(cat said)" "process $$ is another user's"
as_user -x , -e context-switches:u,page-faults:k -o - true >counted 2>said
expect_match "switches of user code" "$(cat counted)" '^<not supported>,,context-switches:u'
expect_match "reason" "$(cat said)" 'context-switches:u: it happens in the kernel'
expect_match "reason" "$(cat said)" 'page-faults:k: permission denied \(perf_event_paranoid is 2\)'
# too many targets for the descriptors that one may have: the message says what to raise
(
	ulimit -n 15
	status=0
	as_user -e task-clock,page-faults,minor-faults,major-faults,dummy,cpu-clock,alignment-faults,emulation-faults,task-clock,page-faults,minor-faults,major-faults,dummy -o - true >said 2>&1 || status=$?
	expect_equal "status" $status 1
)
expect_match "too few descriptors" "$(cat said)" 'ulimit -n'
