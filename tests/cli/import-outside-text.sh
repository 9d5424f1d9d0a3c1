# text that other tools wrote (tests/data/README.md)
data=$SOURCE/tests/data
for file in "$data"/perf-script/*.txt "$data"/pmcstat/*.txt "$data"/folded/*.txt; do
	echo "$(basename "$file"):"
	(cd "$(dirname "$file")" && culprit import -q -o "$OLDPWD/out.prof" "$(basename "$file")")
	culprit export -q --all out.prof
done
