# pmcstat -G: one event a counter, CPUs added up
cat >in.txt <<'END'
@ CYCLES [100 samples]

60.00%  [60]       leaf @ /boot/kernel/kernel
 50.00%  [30]        left
  100.0%  [30]         start @ /bin/x

@ STALLS [7 samples]

100.0%  [7]        leaf @ /boot/kernel/kernel

@ CYCLES [10 samples]

80.00%  [8]        leaf @ /boot/kernel/kernel
[...]
END
culprit import in.txt -o out.prof
culprit export --kernel --event CYCLES out.prof
culprit export --event STALLS out.prof
