# What a command took stands before what the machine did; the samples' time is a share of it.
for kind in command attached clock; do
	echo "== $kind"
	"$TOOLS/make-profile" $kind $kind.prof
	culprit report $kind.prof | grep -E '^(command|processes|machine|event|bill)'
	culprit report --json $kind.prof | jq -c '.scope | [.command_elapsed_ns, .command_user_ns, .command_system_ns, .sampled_user_ns, .sampled_system_ns]'
done
# of one side of it, a share of that side's time
for side in user kernel; do
	"$TOOLS/make-profile" $side-side $side.prof
	culprit report $side.prof | grep -E '^(machine|event)'
done
# of two recordings, the sum
"$TOOLS/make-profile" command other.prof
culprit db merge both.prof command.prof other.prof
culprit report both.prof | grep ^command
