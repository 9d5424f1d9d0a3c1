# Counting a piece of a program: exact, in user space and by read(2).
# boots: exact exact-6.12
echo 1 >/proc/sys/kernel/perf_user_access
"$TOOLS/count-segments" loops
"$TOOLS/count-segments" live
"$TOOLS/count-segments" stall
