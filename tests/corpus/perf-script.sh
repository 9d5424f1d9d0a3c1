. "$SOURCE/tests/lib.sh"
# The text of perf script against what stackcollapse-perf.pl made of it, stack by stack. Its names
# are cut (tidy-frames.awk), it keeps one event a text; else what differs is in
# perf-script-differences.txt, each with what is wrong on its side.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfscript" ] || skip "no folder with outside recordings"
expected="$corpus/expected/stackcollapse-perf"
differences="$SOURCE/tests/corpus/perf-script-differences.txt"
tab=$(printf '\t')

# change SIDE NAME FILE: FILE as the list of differences has it.
change() {
	while IFS="$tab" read -r pattern side script reason; do
		case $pattern in "#"* | "") continue ;; esac
		[ "$side" = "$1" ] || continue
		case $2 in $pattern) ;; *) continue ;; esac
		[ -n "$reason" ] || fail "a difference of $2 has no reason"
		if [ "$script" = without-last-sample ]; then
			tac "$3" | sed '1,/^[^#[:blank:]]/d' | tac >changed
		else
			sed -E "$script" "$3" >changed
		fi
		cmp -s changed "$3" && fail "$2: a difference that is none: $script"
		mv changed "$3"
	done <"$differences"
}

plain() {
	case $1 in
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

# Changed lines may have become equal ones.
merged() {
	awk '{ count = $NF; sub(/ [0-9]+$/, ""); sum[$0] += count }
		END { for (line in sum) printf "%s %d\n", line, sum[line] }' "$1" | LC_ALL=C sort
}

options_of() {
	case $1 in
	*-kernel.txt) echo --kernel ;;
	*-jit.txt) echo --jit ;;
	*-all.txt) echo --all ;;
	*-pid.txt) echo --pid ;;
	*-tid.txt) echo --tid ;;
	*-addrs.txt) echo --addrs ;;
	esac
	case $1 in
	*.cycles.folded) echo --event cycles ;;
	*perf-cycles-instructions-01*) echo --event instructions ;; # the first in the text
	*firefox-test*) echo --event cycles:uppp ;;
	esac
	# lines without periods count samples there; the header knows the periods
	case $1 in *perf-cycles-instructions-01*) echo --samples ;; esac
}

compared=0
for file in "$corpus"/perfscript/*; do
	name=$(basename "$file" .gz)
	name=${name%.txt}
	for reference in "$expected/$name".*folded* "$expected/$name"-collapsed*; do
		[ -f "$reference" ] || continue
		which=$(basename "$reference")
		plain "$file" >text
		change text "$which" text
		culprit import -q text -o one.prof 2>message || fail "$name: $(cat message)"
		[ -s message ] && fail "$name: $(cat message)"
		culprit export -q $(options_of "$reference") one.prof >exported
		awk -f "$SOURCE/tests/corpus/tidy-frames.awk" exported >ours
		plain "$reference" >theirs
		change ours "$which" ours
		change theirs "$which" theirs
		merged ours >ours.sorted
		merged theirs >theirs.sorted
		cmp -s ours.sorted theirs.sorted ||
			fail "$which: $(diff theirs.sorted ours.sorted | head -4)"
		compared=$((compared + 1))
	done
done
echo "$compared references"
[ $compared -gt 40 ] || fail "only $compared references were there"
