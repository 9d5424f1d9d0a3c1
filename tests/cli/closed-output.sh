# Standard output or error are closed: nothing else gets their numbers, and what is lost is told.
culprit --version >&- || echo "status $?"
culprit stat -n --cmd true --cmd true -r 2 >&- || echo "status $?"
culprit stat -n --csv -r 2 --cmd true --cmd true 2>&- | wc -l
# a file that is opened would be the third descriptor, and hold the message
culprit stat -n -o counted true extra 2>&- || echo "status $?"
grep -c elapsed counted
culprit stat -n -o counted /nonexistent 2>&- || echo "status $?"
