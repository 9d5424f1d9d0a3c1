# what difffolded.pl writes: before and after; names for them; fractions; UTF-16
printf 'main;a 31 35\nmain;b 0.5 0\n' >two.folded
culprit import -q two.folded
culprit export --event before --event after
culprit import -q --event stalls,cycles --unit events two.folded
culprit export --event cycles
culprit import -q --one-count two.folded
culprit export
iconv -f UTF-8 -t UTF-16 two.folded >marked.txt
iconv -f UTF-8 -t UTF-16BE two.folded >unmarked.txt
culprit import -q marked.txt -o marked.prof
culprit import -q unmarked.txt -o unmarked.prof
culprit import -q two.folded -o plain.prof
cmp marked.prof plain.prof
cmp unmarked.prof plain.prof
