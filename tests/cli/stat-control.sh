# What --control does not understand is told, and goes unanswered; the rest is obeyed.
printf 'enable\nnonsense\n\n\ndisable\n%s\nping' "$(head -c 300 /dev/zero | tr '\0' x)" >orders
culprit stat -q -n -o counts --control fd:3,4 true 3<orders 4>answers
cat answers
echo "-- a text ends with a NUL, too"
printf 'ping\0stop\0' >orders
culprit stat -q -n -o counts --control fd:3,4 true 3<orders 4>answers
cat answers
