# What --control does not understand is told, and goes unanswered; the rest is obeyed.
printf 'enable\nnonsense\n\n\ndisable\n%s\nping' "$(head -c 300 /dev/zero | tr '\0' x)" >orders
culprit stat -q -n -o counts --control fd:3,4 true 3<orders 4>answers
cat answers
echo "-- who shares the descriptor finds it as it was"
mkfifo pipe
exec 3<>pipe
flags() { sed -n 's/^flags:[^0-9]*//p' /proc/self/fdinfo/3; }
flags >before
echo ping >&3
culprit stat -q -n -o counts --control fd:3 true
flags | cmp before -
echo "-- a text ends with a NUL, too"
printf 'ping\0stop\0' >orders
culprit stat -q -n -o counts --control fd:3,4 true 3<orders 4>answers
cat answers
