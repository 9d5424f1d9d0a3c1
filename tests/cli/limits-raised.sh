# Each limit can be raised by its name, all of them lifted, and said wrongly.
. "$SOURCE/tests/lib.sh"
need_counted_memory
make="$TOOLS/make-costly-file"
$make folded 100000 deep.folded.gz
$make speedscope 20000 deep.json
$make folded-names 2000 names.folded.gz
for limits in none depth=200000,frames=1G depth=none,frames=none; do
	culprit import -q --limits $limits deep.folded.gz -o deep.prof
	culprit report -q --limits $limits deep.prof >page && echo shown
	culprit import -q --limits $limits deep.json -o deep.prof
done
culprit import -q names.folded.gz -o names.prof
culprit import -q --limits name=1000 names.folded.gz -o short.prof || echo "status $?"
culprit import -q --limits 2K names.folded.gz -o short.prof 2>/dev/null || echo "status $?"
# xz -9 asks for a window of 64 MiB whatever it packs
gzip -dc names.folded.gz | xz -9 >names.folded.xz
culprit import -q names.folded.xz -o again.prof && cmp names.prof again.prof
culprit import -q -o again.prof - <names.folded.xz && cmp names.prof again.prof
cat names.prof | culprit report - | head -n 2
for limits in '' 12x memory=-1 depth= =5 deep=5 none,none 1M,; do
	culprit report --limits "$limits" names.prof >/dev/null || echo "status $?"
done 2>&1
for verb in report annotate flame export summary cfg diff check db accuracy import; do
	culprit $verb --help | grep -c -e --limits
done
ls
