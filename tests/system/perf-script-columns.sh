# What perf script prints of recordings made here, whichever columns it was asked for: each sample
# counts once, or by its period, or the text is refused. And what these and other programs print
# otherwise is no recording.
# beside others
. "$SOURCE/tests/lib.sh"
need_command perf jq
need_recording self
spin='i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done'
perf record -q -g -e cpu-clock:u -F 500 -o chains.data -- sh -c "$spin" >/dev/null 2>&1 ||
	skip "perf cannot record here"
perf record -q -d -W -e cpu-clock:u -F 500 -o flat.data -- sh -c "$spin" >/dev/null 2>&1

# What is printed has all samples of DATA, or all their periods: the sums that perf prints are these.
for data in chains.data flat.data; do
	perf script -i $data -F period 2>/dev/null |
		awk 'NF { samples++; periods += $1 } END { print periods + 0, samples + 0 }' >$data.sums
	read -r periods samples <$data.sums
	[ "$samples" -gt 0 ] && [ "$periods" -gt 0 ] || fail "$data has no samples"
done

# try DATA PER_SAMPLE OPTIONS...: what is printed has the samples, or their periods with PER_SAMPLE 0
try() {
	data=$1 weight=$2
	shift 2
	perf script -i "$data" "$@" >text 2>/dev/null || [ -s text ] || return 0 # not this perf
	culprit import -q text -o out.prof >said 2>&1 || fail "$data $*: $(cat said)"
	read -r wanted samples <"$data.sums"
	[ "$weight" = 0 ] || wanted=$samples
	culprit report -q --json out.prof >>reports || fail "$data $*: no report"
	echo "$wanted $data $*" >>wanted
	tried=$((tried + 1))
}
# refused DATA OPTIONS...
refused() {
	data=$1
	shift
	perf script -i "$data" "$@" >text 2>/dev/null || [ -s text ] || return 0
	culprit import -q text -o none.prof >said 2>&1 && fail "$data $*: not refused"
	tried=$((tried + 1))
}
tried=0
for data in chains.data flat.data; do
	for columns in comm,tid,ip,sym comm,ip,sym tid,ip,sym pid,ip,sym comm,pid,tid,ip,sym ip,sym \
		ip,sym,dso ip,dso comm,pid,ip,sym,dso time,ip,sym event,ip,sym time,event,ip,sym \
		comm,tid,time,ip,sym comm,event,ip,sym comm,tid,event,ip,sym comm,tid,event,ip \
		comm,tid,event,ip,sym,symoff comm,tid,time,event comm,tid,time \
		comm,tid,misc,time,event,ip,sym comm,pid,tid,misc,event,ip,sym; do
		try $data 1 -F $columns
	done
	for columns in period,ip,sym comm,period,ip,sym comm,tid,period,ip,sym \
		comm,tid,time,period,ip,sym,dso period,event comm,period,event \
		comm,tid,time,event,period +misc +insn event,period,ip,sym,dso; do
		try $data 0 -F $columns
	done
	try $data 0
	try $data 0 --ns
	try $data 0 --header
	try $data 0 -G
	try $data 0 --show-mmap-events --show-task-events
	try $data 1 --show-mmap-events -F comm,tid,ip,sym
	try $data 1 --header -F comm,tid,ip,sym
	try $data 1 --reltime -F comm,tid,time,event,ip,sym
	for columns in comm comm,tid comm,tid,dso tid period time; do
		refused $data -F $columns
	done
	refused $data -D
done
for columns in +addr +weight +data_src,+weight +phys_addr; do
	try flat.data 0 -F $columns
done
# All totals at once: jq takes as long to begin as an import.
jq '[.events[].total] | add' reports >found
expect_equal "reports" "$(wc -l <found)" "$(wc -l <wanted)"
paste -d ' ' found wanted | while read -r total sum text; do
	expect_equal "$text" "$total" "$sum"
done
[ "$tried" -ge 60 ] || fail "perf printed $tried of the texts only"

# others KIND COMMAND...: what it prints
others() {
	"$@" >text 2>&1 || true
	[ -s text ] || return 0
	! culprit import -q text -o none.prof >said 2>&1 || fail "$* was imported: $(head -3 text)"
	kinds=$((kinds + 1))
}
kinds=0
others perf report --stdio -i chains.data
others perf report --stdio --header -i chains.data
others perf report --stdio --stats -i chains.data
others perf report --stdio -g none --no-children -n -i flat.data
others perf annotate --stdio -i flat.data
others perf diff chains.data flat.data
others perf stat true
others perf evlist -v -i chains.data
others perf list
others ls -l /usr/bin
others ls -la --time-style=full-iso /
others du -a /etc
others wc -l "$SOURCE"/src/base/*.c
others ps aux
others ps -ef
others ps -eo pid,comm,rss
others ps -eo comm,rss --no-headers
others env
others df
others readelf -a "$KERNELS/loops"
others objdump -d "$KERNELS/loops"
others nm -S "$KERNELS/loops"
others git -C "$SOURCE" log -20
others dmesg
others sysctl -a
others seq 100
for file in vmstat meminfo cpuinfo stat interrupts softirqs diskstats net/dev net/snmp net/netstat \
	zoneinfo buddyinfo slabinfo partitions mounts loadavg uptime iomem ioports devices crypto \
	timer_list kallsyms self/status self/maps self/smaps self/sched self/io self/limits \
	self/mountinfo self/numa_maps; do
	others cat /proc/$file
done
for file in /var/log/dpkg.log /etc/services /etc/protocols /etc/passwd /etc/login.defs \
	"$SOURCE/README.md" "$SOURCE/docs/methods.md" "$SOURCE/meson.build"; do
	[ ! -r "$file" ] || others cat "$file"
done
[ "$kinds" -ge 30 ] || fail "only $kinds other texts were there"
echo "$tried texts of perf script, $kinds of other kinds"
