# Started without its standard descriptors, culprit gives their numbers to none of its files: what is meant for
# standard error would be in the middle of them.
printf 'nonsense\nstop\n' >lines
status=0
culprit stat -q -n -o said --control fd:0 -p $$ <lines 2>&- || status=$?
echo "-> $status"
head -n 1 said | grep -c nonsense || true
# what cannot be written or read is told, as when it was open
status=0
culprit --version >&- || status=$?
echo "-> $status"
status=0
culprit import -o profile - <&- || status=$?
echo "-> $status"
# nor are counts that reached nobody a success
for where in '2>&-' '2>/dev/full'; do
	status=0
	eval "culprit stat -q -n true $where" || status=$?
	echo "$where -> $status"
done
# the command finds closed what was closed
culprit stat -q -n -o said sh -c 'ls /proc/$$/fd >&2' <&- 2>numbers
grep -cx 0 numbers || true
