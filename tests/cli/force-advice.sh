# --force is advised where it gives a profile, and nowhere else
advised=0 alone=0
for file in "$SOURCE"/tests/data/perfdata/*.data "$SOURCE"/tests/data/pprof/* "$SOURCE"/tests/data/speedscope/* \
	"$SOURCE"/tests/data/callgrind/*; do
	[ -f "$file" ] || continue
	bytes=$(wc -c <"$file")
	for part in 10 60 200 500 800 950 999; do
		head -c $((bytes * part / 1000)) "$file" >cut
		if culprit import -q cut -o one.prof 2>said; then
			continue
		fi
		helps=no
		! culprit import -q --force cut -o two.prof 2>forced || helps=yes
		case $(cat said) in
		*'; --force keeps what comes before') says=yes advised=1 ;;
		*) says=no alone=1 ;;
		esac
		[ $helps = $says ] || echo "${file##*/} cut to $part/1000: helps $helps, advised $says: $(cat said)"
	done
done
echo "$advised $alone"
# it reaches every file that is read
file=$SOURCE/tests/data/perfdata/quipper-singleprocess-3.4.perf.data
head -c $(($(wc -c <"$file") * 95 / 100)) "$file" >cut
culprit report -q --force cut >whole
for verb in 'report cut' 'export cut' 'diff cut cut' 'flame --diff cut cut -o x' 'summary cut' \
	'annotate --diff cut none cut' 'accuracy --truth cut cut'; do
	culprit ${verb%% *} -q --force ${verb#* } >/dev/null 2>said || true
	! grep 'force keeps' said || echo "$verb"
done
# a pipe is read once: nobody knows
cat cut | culprit report - 2>&1 || true
