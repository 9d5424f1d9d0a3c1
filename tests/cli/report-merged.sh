"$TOOLS/make-profile" clock a
"$TOOLS/make-profile" counters b
# several read as one, whatever their order
culprit report a b --json | sed 1d >ab
culprit report b a --json | sed 1d >ba
cmp ab ba
culprit report -i a b
culprit report a a a | sed -n "/^profile/p; /^event/p"
# an imported profile has no host and is none of the hosts
printf 'main;work 10\n' | culprit import -q -o imported.prof -
culprit report a imported.prof | sed -n "/^host/p"
