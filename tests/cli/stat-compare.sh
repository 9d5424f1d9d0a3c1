# Two commands in rounds: what they print goes nowhere, and there is nothing for them to read.
. "$SOURCE/tests/lib.sh"
culprit stat -q -u -e page-faults --csv -o probe true
! grep -q '^<' probe || skip "cannot count here: $(culprit stat -u -e page-faults true 2>&1 | head -n 1)"
rm probe
echo input >input
culprit stat -q -u -e page-faults -r 8 --warmup 1 --seed 5 --cmd true --cmd 'cat; echo "second" output' <input >said
head -n 1 said | hide 'by [0-9]+.*' 'by N'
# what limits each hangs on the machine
sed -n '3,7p' said | grep -v '^   '
[ "$(sed -n '3,7p' said | grep -c '^   [a-z]')" = 2 ] || fail "what limits each command is not said"
grep -E '^(elapsed|user|sys|page-faults)' said | cut -c 1-10
! grep -q "second output" said || fail "the output of a command is in the result"
echo "\$ shown, the result goes elsewhere"
culprit stat -q -n -r 2 --seed 5 --show-output --cmd 'echo one' --cmd 'echo two' 2>beside | sort
grep -q 'against A' beside || fail "the result is not on standard error"
echo "\$ csv"
culprit stat -q -u -e page-faults --csv -r 6 --seed 5 --cmd true --cmd 'cat /dev/null; ls /' | awk -F , '/page/ { print $1, $3, $4, NF, $NF }'
echo "\$ a tab, as perf stat takes it"
culprit stat -q -n -x '\t' -r 2 --cmd true --cmd true | awk -F "$(printf '\t')" '/elapsed/ { print $1, $3, NF }'
echo "\$ too few"
culprit stat -q -n -r 3 --seed 5 --cmd true --cmd true | head -n 1
echo "\$ as many rounds as bear a wild one"
culprit stat -q -n --cmd true --cmd true | grep -o '^[0-9]* rounds'
echo "\$ metrics are measures, too"
culprit stat -q -u -r 6 --seed 5 -M '2*page-faults' --cmd true --cmd 'cat /dev/null; ls /' >said
head -n 1 said | hide 'by [0-9]+.*' 'by N'
grep -o '^[2]*[*]*page-faults' said
culprit stat -q -u -r 2 --seed 5 -M faults-per-second --cmd true --cmd true | head -n 1
culprit stat -q -u -r 6 --csv -e page-faults -M '2*page-faults' -o - true | awk -F , '{ print $3, NF, ($4 != "") }'
culprit stat -q -u -r 2 --json -M faults-per-second -o - true | grep '"measure"'
echo "\$ times of a command beside what is counted are not known"
culprit stat -q -n -r 2 -p $$ -o - true | grep -c -e user -e sys || true
