# Mistakes in the options and settings of the daemon, and questions to one that is not there: one line
# each, nothing left behind.
say() {
	echo "\$ culprit $*"
	status=0
	culprit "$@" 2>&1 || status=$?
	echo "-> $status"
}
unset XDG_RUNTIME_DIR XDG_STATE_HOME XDG_CONFIG_HOME STATE_DIRECTORY RUNTIME_DIRECTORY CACHE_DIRECTORY
settings() {
	printf '%b' "$1" >settings
	say daemon --config settings --check-config
}
say daemon --config missing
say daemon --config .
say daemon now
say daemon --config /dev/null --epoch 10ms
say daemon --config /dev/null --merge-interval 1ms
say daemon --config /dev/null --memory 1M
say daemon --config /dev/null --memory much
say daemon --config /dev/null --no-stacks -g
say daemon --config /dev/null --no-socket --socket here
say daemon --config /dev/null --overhead 1 -F 100
say daemon --config /dev/null -o missing/db -e cpu-clock --no-socket -q
say daemon --config /dev/null -o db -e cpu-clock --socket missing/socket -q
for choice in "" image: cgroup:web image:bin/cc containerd-shim-runc-v2; do
	say daemon --config /dev/null --check-config -o db --per-process-of "$choice"
done
say daemon --config /dev/null --per-process --per-process-of cc
say daemon --config /dev/null --per-thread --per-process-of cc
echo "settings that are right"
settings 'event = cpu-clock\nper-process-of = cc1*\nper-process-of = image:/usr/sbin/nginx\nper-process-of = cgroup:/system.slice\noutput = db\nno-socket\n'
settings '# a comment\n\n  epoch = 10m\nmerge-interval=5s\nevent = cpu-clock\nno-stacks\nmemory = none\noutput = here/db\nno-socket = yes\nredact = no\n'
settings 'event = cpu-clock\nevent = task-clock\nsocket = /run/x\nmetrics = m.prom\noutput = db'
echo "the command line replaces them"
say daemon --config settings --check-config --epoch 1m -e page-faults
printf 'event = cpu-clock\noutput = db\noverhead = 2\nno-stacks\nsocket = /run/x\nper-process\n' >settings
say daemon --config settings --check-config
say daemon --config settings --check-config -F 100 -g --no-socket --per-process-of cc
say daemon --config settings --check-config --count 1000000
say daemon --config settings --check-config --overhead 3
say daemon --config settings --check-config -F 100 --overhead 3
echo "settings that are wrong"
settings 'epoch = 10m\nepok = 10m\n'
settings 'event\n'
settings 'output = db\nper-process-of = image:nginx\n'
settings 'output = db\nper-process-of = cc\nper-process = yes\n'
settings 'memory =\n'
settings 'redact = maybe\n'
settings '\n\nepoch = soon\n'
settings 'overhead = 1\nfrequency = 100\n'
settings 'output = db\0\nepoch = 1h\n'
settings 'event = cylces\noutput = db\n'
dd if=/dev/zero bs=1024 count=65 2>/dev/null | tr '\0' '#' >settings
say daemon --config settings --check-config
say ctl
say ctl dance
say ctl status now
say ctl --json flush
say ctl -o x status
say ctl --socket missing status
: >file
say ctl --socket file status
ls
