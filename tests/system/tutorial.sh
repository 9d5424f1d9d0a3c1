# The story of docs/tutorial.md in short: a daemon, two equal periods, a third one in which the loops
# of one procedure are the other way round. What changed is found first and called significant; of
# the equal periods nothing is.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_command python3 cc
service=
clean() {
	clean_daemon
	[ -z "$service" ] || kill "$service" 2>/dev/null || true
}
trap clean EXIT

# deploy ARGUMENT...: builds the service and runs it in place of the one before
deploy() {
	[ -z "$service" ] || { kill "$service"; wait "$service" || true; }
	cc -O2 -g -fno-omit-frame-pointer "$@" -o orders.new "$SOURCE/examples/tutorial/orders.c"
	mv orders.new orders # the one before may be in use
	./orders 1000 >answers &
	service=$!
}

# changed ARGUMENT...: of the comparison, what procedure comes first, its verdict, and how many
# percent its cost has changed
changed() {
	culprit diff --json --process orders "$@" | python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"][:1]:
    change = row["changes"][0]
    print(row["procedure"], change["verdict"], round(change["change_percent"] or 0))'
}

# grown ARGUMENT...: the procedures of the service whose cost has more than doubled, and that
# significantly
grown() {
	culprit diff --json --process orders --image orders "$@" | python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"]:
    change = row["changes"][0]
    if change["verdict"] == "significant" and (change["change_percent"] or 0) > 100:
        print(row["procedure"])'
}

# epoch LABEL: begins one; the daemon refuses while the one before is being written
epoch() {
	for i in $(seq 100); do
		! ctl epoch --label "$1" 2>refusal || return 0
		sleep 0.2
	done
	fail "no epoch $1: $(cat refusal)"
}

deploy
daemon --merge-interval 1s -F 999 --no-edges
epoch monday
sleep 3
epoch tuesday
sleep 3
ctl pause # so that no epoch holds the moment of the change
await_state paused 60
sleep 1.1 # into another second than that in which the last epoch ended
deploy -DBY_COLUMN
deployed=$(date +@%s)
ctl resume
await_state sampling 60
sleep 3
stop

found=$(changed --base-label monday --since "$deployed" db)
expect_match "what changed" "$found" "^add_prices significant [1-9][0-9]"
expect_equal "what has grown" "$(grown --base-label tuesday --since "$deployed" db)" add_prices
# By what the procedure costs that did the same work: how often each came to run does not matter.
expect_match "what changed per request" "$(changed --base-label monday --since "$deployed" --per read_request db)" \
	"^add_prices [a-z]* [1-9][0-9][0-9]"

# Nothing grew between equal periods, by the same measure.
expect_equal "what has grown meanwhile" "$(grown --base-label monday --label tuesday db)" ""

# By time: what ended before that moment and what began since.
found=$(changed --since "$deployed" db)
expect_match "what changed since it was deployed" "$found" "^add_prices significant"
culprit flame --diff db --since "$deployed" --process orders -o changed.svg
expect_match "its frame" "$(sed -n 's/.*<title>\(add_prices .*\)<.title>.*/\1/p' changed.svg)" "significant"

# Where its time is: in the loop over the prices, on whose line the source says so.
culprit annotate add_prices --since "$deployed" db >listing
expect_match "the listing" "$(cat listing)" "total \+= prices"
expect_match "its loop" "$(cat listing)" "(9[0-9]|100)([.][0-9]*)? % of time;.*in the loop"
