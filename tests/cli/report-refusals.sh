# One clear message each.
make="$TOOLS/make-profile"
$make clock p
$make stacks s
try() {
	echo "== report $*"
	status=0
	culprit report "$@" 2>&1 || status=$?
	echo "($status)"
}
try
try missing
mkdir folder
try folder
: >empty
try empty
head -c 200000 /dev/zero >zeros
try zeros
printf PERFILE2........ >perf.data
try perf.data
head -c 3000 p >cut
try cut
try p -e cycles
try p --sort cpi
try p --sort nonsense
try p --tree
try p --focus x
try s --focus '('
try s --callers nobody
try s --callers a
try s --by image --tree
try p --by procedure,procedure
try p --by colour
try p --image gcc
try p --process nobody
try p --cgroup /nowhere
try p --cpu 0
try p --cpu 0-
try p --min 200
try p --color sometimes
try p --nonsense
