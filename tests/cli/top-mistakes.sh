# Mistakes in the options of top, and no terminal: one line each.
say() {
	echo "\$ culprit $*"
	status=0
	culprit "$@" 2>&1 </dev/null || status=$?
	echo "-> $status"
}
unset XDG_RUNTIME_DIR
say top
say top sleep 1
say top -p 1 -a
say top --children
say top --cgroup /x -t 1
say top --socket here -e cpu-clock
say top --socket here --own
say top --user --kernel
say top --sort size
say top --by colour
say top --delay 1ms
say top --by image,line
say top --delay 10s --window 5s
say top --delay 100ms --window 1h
say top -n 3
say top --limit 3
say top -b -n 0
say top -b -p nobody
say top -b -e cylces
say top -b -n 1 --socket missing
: >file
say top -b -n 1 --socket file
