# Sourced by bash: what the nine programs, four kernels, six programs more and the unseen ones run. $work is this folder,
# $inputs the one that truth.sh has filled.

# One libc routine of each kind, whatever CPU valgrind shows, and no seeds drawn at start.
export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 LC_ALL=C
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-FSRM,-BMI2,-LZCNT,-MOVBE,-XSAVEC

python=$(ls /usr/bin/python3.[0-9]* 2>/dev/null | grep -x '.*python3\.[0-9]*' | tail -n 1)
# set_workload NAME: into the array `workload`
set_workload() {
	case $1 in
	gzip) workload=(gzip -9 -c "$inputs/text") ;;
	bzip2) workload=(bzip2 -9 -c "$inputs/text") ;;
	xz) workload=(xz -3 -T1 -c "$inputs/text") ;;
	zstd) workload=(zstd -q -15 --single-thread -c "$inputs/text") ;;
	python3) workload=("$python" -S -E -B "$work/work.py" "$inputs/text") ;;
	perl) workload=(/usr/bin/perl "$work/work.pl" "$inputs/text") ;;
	sqlite3) workload=(sqlite3 -init /dev/null :memory: ".read $work/work.sql") ;;
	lua) workload=("$(ls /usr/bin/lua5.[0-9] 2>/dev/null | tail -n 1)" "$work/work.lua") ;;
	cc1) workload=("$(cc -print-prog-name=cc1)" -quiet -O1 "$inputs/source.c" -o /dev/null) ;;
	stream) workload=("$inputs/stream" 20) ;;
	chase) workload=("$inputs/chase" 5000000) ;;
	matmul) workload=("$inputs/matmul" 6) ;;
	qsort) workload=("$inputs/qsort" 4) ;;
	# not of the nine: looked at for the marks of what is off
	as) workload=("$(cc -print-prog-name=as)" -o /dev/null "$inputs/source.s") ;;
	objdump) workload=(objdump --disassemble "$inputs/source.o") ;;
	sort) workload=(sort -k 2 "$inputs/text") ;;
	awk) workload=(awk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) s += n[w] * length(w); print s }' "$inputs/text") ;;
	diff) workload=(diff "$inputs/text" "$inputs/other") ;;
	grep) workload=(grep -c -E '(sub|my) +[a-z_]+ *[=({].*;$' "$inputs/text") ;;
	# unseen: what no rule was chosen on; see docs/methods.md before looking into one
	sed) workload=(sed -E -e 's/([a-z]+)_([a-z]+)/\2_\1/g' -e '/^#/d' -e 'y/abc/xyz/' "$inputs/text") ;;
	bc) workload=(bc -q "$work/work.bc") ;;
	jq) workload=(jq -c 'select(.n % 3 == 0) | {w, k: (.l | length)}' "$inputs/text.json") ;;
	xmllint) workload=(xmllint --noout --xpath 'count(//w[contains(., "s")])' "$inputs/text.xml") ;;
	troff) workload=(troff -Tascii "$inputs/text.roff") ;;
	git) workload=(git diff --no-index --word-diff "$inputs/text" "$inputs/other") ;;
	readelf) workload=(readelf --wide --all "$(cc -print-prog-name=cc1)") ;;
	*)
		echo "$1 is none of the workloads" >&2
		return 2
		;;
	esac
}
