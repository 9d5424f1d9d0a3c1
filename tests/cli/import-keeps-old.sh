printf 'a;b 1\n' >one.folded
printf 'a;b 2\nc 3\n' >two.folded
culprit import -q one.folded
cp culprit.prof first
culprit import -q two.folded
cmp first culprit.prof.old
culprit import -q --one-count one.folded -o again.prof
cmp first again.prof
culprit import -q two.folded
culprit import -q one.folded
cmp first culprit.prof
