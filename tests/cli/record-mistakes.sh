# Mistakes in the options and outputs that cannot be: one line each, nothing left behind.
say() {
	echo "\$ culprit $*"
	status=0
	culprit "$@" 2>&1 || status=$?
	echo "-> $status"
}
say record
say record -u -k true
say record -F 100 -c 1000 true
say record -c 0 true
say record -F many true
say record --overhead 90 true
say record --overhead 1 -F 100 true
say record --edges --no-edges true
say record --edges -k true
say record --bursts=0 true
say record --bursts=often true
say record --bursts -a
say record --bursts --cgroup / true
say record --bursts -k true
say record --children true
say record --children -t 1
say record -a -p 1
say record --cgroup / -t 1
say record -p twelve
say record --duration soon true
say record --duration 0s true
say record --merge-interval 10us true
say record --gather-limits 19ms true
say record -e cylces true
say record -e '{cpu-clock,page-faults' true
say record -e '{cpu-clock,page-faults:S,minor-faults:S}' true
say record -q -o missing/folder.prof true
mkdir folder
say record -q -o folder true
mkfifo fifo
say record -q -o fifo true
ls
echo "a name that would steer the terminal"
culprit record -q -o "$(printf 'missing/\033[31mred')" true 2>&1 | cat -v
culprit record -q -o "$(printf 'missing/\302\2335m\342\200\256')" true 2>&1 | cat -v
say record --turns 1ms true
say record --turns never true
