# without a procedure one screen of each: the dearest code, the rest in one line
"$TOOLS/make-code-profile" large culprit.prof
culprit annotate --no-source
culprit annotate --limit 1 --min 50 | head -n 12
culprit annotate --no-source --diff culprit.prof large -q | sed -n '6,20p'
"$TOOLS/make-code-profile" loops loops.prof
culprit annotate -i loops.prof | grep -v "^note"
# a command for more names the profile that it takes
culprit annotate -i culprit.prof --limit 1 -q | grep 'more rows'
culprit annotate --limit 1 -q <culprit.prof -i - | grep 'more rows'
cp culprit.prof other.prof
culprit annotate --limit 1 -q -i other.prof | grep 'more rows'
culprit annotate --limit 1 -q -i culprit.prof -i other.prof | grep 'more rows'
# blocks go with neither lines nor what has them
for wrong in --source --json '--diff culprit.prof'; do
	culprit annotate --blocks $wrong 2>&1 || echo "status $?"
done
# nothing tells of time here
printf 'main;read 2.5\nmain 4\n' | culprit import -q -o folded.prof -
culprit annotate --blocks -i folded.prof 2>&1 || echo "status $?"
