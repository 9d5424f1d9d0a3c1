# A setting of the kernel that a script changes comes back however the script ends (guard_setting in tests/lib.sh),
# here a file that stands for one.
# beside others
. "$SOURCE/tests/lib.sh"
need_command python3 setsid

# changes COMMAND: a script that changes the setting and then does that
changes() {
	rm -f changed
	echo 2 >setting
	cat >script <<-END
	. "$SOURCE/tests/lib.sh"
	trap restore_settings EXIT
	guard_setting "$PWD/setting"
	echo \$\$ >changed
	echo 3 >setting
	$1
	END
	status=0
	setsid --wait sh -eu script 2>said || status=$?
	[ -s changed ] || skip "no setting can be guarded here: $(cat said)"
}

# await_setting VALUE
await_setting() {
	for i in $(seq 200); do
		[ "$(cat setting)" != "$1" ] || return 0
		sleep 0.05
	done
	fail "the setting is '$(cat setting)', not '$1', after a script that ended with $status: $(cat said)"
}

# The whole group, as tests/run-scripts does after a time limit.
changes 'kill -KILL -$$'
expect_equal "status of a script that is killed" $status 137
await_setting 2
changes 'kill -TERM -$$'
await_setting 2
changes 'false'
expect_equal "status of a script that fails" $status 1
expect_equal "setting at once after a script that fails" "$(cat setting)" 2
# Its guard has gone with it: what comes later stays.
changes 'restore_settings; echo 4 >setting; sleep 0.1'
expect_equal "status of a script that passes" $status 0
sleep 0.5
expect_equal "setting of later" "$(cat setting)" 4
