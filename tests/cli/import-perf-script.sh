# perf script's text: events apart, periods, images, marks; what is left out is told
cat >in.txt <<'END'
# captured on    : Sat Sep  4 10:27:47 2021
# hostname : box
# event : name = cycles:u, type = 0, { sample_period, sample_freq } = 4000, freq = 1
noise
java 7/8 [000] 1.5:      1000 cycles:u: 
	ffffffff8103d0ca write_msr+0xa ([kernel.kallsyms])
	    7f722d119786 Lcom/foo;::bar (/tmp/perf-7.map)
	          4005d0 inner (inlined)
	          4005d0 main+0x10 (/bin/java (deleted))
	          400010 [unknown] (/lib/libc.so.6)

sh 9 [001] 1.6:        30 cycles:u: 
	          4005d0 main+0x10 (/bin/sh)

sh 9 [001] 1.6: sched:sched_switch: prev_comm=sh ==> next_pid=3
	          4005d0 main+0x14 (/bin/sh)

END
culprit import in.txt -o out.prof
culprit export --all --event cycles:u out.prof
culprit export --tid --addrs --event cycles:u out.prof
culprit export --event sched:sched_switch out.prof
culprit report --event cycles:u out.prof
printf 'sh 9 1.6: 30 cycles:\n\t4005d0 main (/bin/sh)\n\nsh 9 1.6: 30 cycles:\n\t4005d0 ma' >cut.txt
culprit import cut.txt -o cut.prof || echo "status $?"
culprit import --force cut.txt -o cut.prof
culprit export -q cut.prof
