# The kernel's own events, in each layout; figures change from run to run.
. "$SOURCE/tests/lib.sh"
culprit stat -q -u -e page-faults --csv -o probe true
! grep -q '^<' probe || skip "cannot count here: $(culprit stat -u -e page-faults true 2>&1 | head -n 1)"
rm probe
figures() {
	hide '[0-9]+[.][0-9]+' N '[0-9]{2,}' N ' +N' ' N' '  +[0-9]' ' N' '[KM]/sec' R
}
echo "\$ text"
culprit stat -q -u -e task-clock,page-faults -M 'page-faults/task-clock' -M faults-per-second -o - sh -c : |
	sed '2s/.*/(what limits it)/' | figures
echo "\$ csv"
culprit stat -q -u -e task-clock,page-faults --csv -o - true | hide '^[0-9.]+' N ',[0-9]+,100.00,[0-9.]+,' ',N,100.00,N,' 'K/sec|M/sec' R
echo "\$ json"
culprit stat -q -u -e page-faults --json -o - true | hide '":[0-9.e+-]+' '":N' '"text":"[^"]*"' '"text":T' '"kind":"[^"]*"' '"kind":K' '_share(_low)?":(N|null)' '_share\1":S'
echo "\$ nothing is counted"
culprit stat -n -o - true | sed '2s/.*/(what limits it)/' | figures
echo "\$ appended"
culprit stat -q -u -e page-faults -x ' ' -o file true
culprit stat -q -u -e page-faults -x ' ' -o file --append true
culprit stat -q -u -e page-faults -x ' ' -o file --append true
cut -d ' ' -f 3 file
culprit stat -q -u -e page-faults -x ' ' -o file true
wc -l <file
echo "\$ beside what the command writes"
culprit stat -q -u -e page-faults -x ' ' echo said 2>beside
cut -d ' ' -f 3 beside
