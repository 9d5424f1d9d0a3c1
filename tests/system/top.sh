# top prints tables of what runs now: a loop is on top of its own process's rows, by own samples and by a
# daemon's; a window forgets what has ended, and a process that ends ends the tables.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"

# first FILE TABLE: the first row of the table of that number
first() {
	awk -v wanted="$2" '/^ *%  / { table++; getline; if (table == wanted) print }' "$1"
}

# tables FILE: how many it has
tables() {
	grep -c '^on-CPU' "$1" || true
}

# begin FILE ARGUMENT...: top in the background, $top, which prints to that file
begin() {
	: >"$1"
	printed=$1
	shift
	culprit top -b -q "$@" >"$printed" 2>said &
	top=$!
}

# await_tables NUMBER: until it has printed so many
await_tables() {
	for try in $(seq 600); do
		[ "$(tables "$printed")" -lt "$1" ] || return 0
		kill -0 $top 2>/dev/null || fail "top has ended after $(tables "$printed") tables, not $1: $(cat said)"
		sleep 0.1
	done
	fail "top has printed $(tables "$printed") tables, not $1: $(cat said)"
}

# The load lives until the test ends, however slow the machine is.
many=
top=
end_all() {
	kill $many $loop $top 2>/dev/null || true
	clean_daemon
}
"$KERNELS/busy" split 3600 &
loop=$!
trap end_all EXIT
timeout 60 culprit top -b -q -n 2 -d 300ms --limit 3 -e cpu-clock -p $loop >own
expect_match "first row of one process" "$(first own 2)" "^ *[0-9.]+ +[0-9.]+ +[0-9]+ +busy +busy_two"
expect_match "above the table" "$(cat own)" "a clock counts time, not cycles: no CPI"
expect_equal "tables" "$(grep -c '^on-CPU' own)" 2
samples=$(first own 2 | awk '{ print $3 }')
[ "$samples" -gt "$(first own 1 | awk '{ print $3 }')" ] || fail "the second table has no more samples than the first: $(cat own)"

timeout 60 culprit top -b -q -n 1 -d 300ms -e cpu-clock -p $loop --search BUSY_ --limit 0 >searched
expect_equal "rows with a text" "$(awk '/^ *%  / { table = 1; next } table { print $5 }' searched | sort | tr '\n' ' ')" "busy_one busy_two "

timeout 60 culprit top -b -q -n 1 -d 300ms -e cpu-clock -p $loop --by image,process >parts
expect_match "row by image and process" "$(first parts 1)" "busy +busy\$"

# What its end leaves out is in no table, and nothing is said of it, however much there is to gather: here
# another program all the time, of which each has its own file.
mkdir programs
for i in $(seq 60); do
	cat "$KERNELS/busy" - >programs/$i <<-END
		$i
	END
	chmod +x programs/$i
done
(while :; do for i in $(seq 60); do timeout 0.05 programs/$i split 60 || true; done; done) 2>/dev/null &
many=$!
for i in 1 2 3; do
	begin ended -d 100ms --limit 1 -e cpu-clock -p $many
	await_tables 2
	kill $top || fail "top has ended before what it watches"
	expect_status 0 wait $top
	expect_match "table" "$(cat ended)" "^on-CPU"
	expect_equal "what it says at its end" "$(cat said)" ""
done
kill $many || fail "the load has ended before the test"
wait $many 2>/dev/null || true
many=
rm -r programs
daemon --merge-interval 10s --no-stacks --no-stash
timeout 60 culprit top -b -q -n 2 -d 1s --socket socket --search busy_ >asked
expect_match "first row of a daemon's samples" "$(first asked 2)" " busy +busy_two"
expect_match "where they come from" "$(cat asked)" "of the daemon's samples"
# Another epoch begins: what came before it is in no later table, and the tables go on.
begin across -d 500ms --socket socket --search busy_
await_tables 1
ctl epoch
later=$(($(tables across) + 3))
await_tables $later
kill $top
expect_status 0 wait $top
expect_match "first row after an epoch" "$(first across $later)" " busy +busy_two"

# A window of one interval forgets the loop once it has ended, and the tables end with it.
begin ended -d 300ms -w 300ms -e cpu-clock -p $loop
await_tables 1
kill $loop
wait $loop 2>/dev/null || true
status=0
wait $top || status=$?
top=
expect_equal "status once the process has ended" "$status" 0
expect_match "first row before" "$(first ended 1)" " busy +busy_two"
stop
