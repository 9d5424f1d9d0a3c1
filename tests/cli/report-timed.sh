# What programs in the kernel took, as far as it is known: means of the timed samples, and 64 times
# their sum. A profile that says nothing of it gets no line, and null.
"$TOOLS/make-profile" timed timed.prof
"$TOOLS/make-profile" timed-stacks stacks.prof
"$TOOLS/make-profile" clock culprit.prof
for profile in timed stacks culprit; do
	echo "== $profile"
	culprit report --limit 1 $profile.prof | sed -n '/^collector/,/^names/p'
	culprit report --json $profile.prof | sed -n '/"kernel_programs"/,/}/p'
done
echo "== several are added up"
culprit report --limit 1 timed.prof stacks.prof culprit.prof | sed -n '/interrupt side/p'
