#!/bin/bash
# Exact execution counts, simulated misses and mispredictions of the nine programs and four
# kernels of docs/methods.md, "Frequencies": each under callgrind, some ten minutes in all.
#
#	bench/accuracy/truth.sh FOLDER [NAME...]
#
# leaves FOLDER/NAME.callgrind of each, and its output in FOLDER/NAME.out. Needs valgrind,
# cc and the programs themselves; what is not installed is said and left out.
set -u
folder=${1:?a folder for the results}
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$here/workloads
names=${*:-gzip bzip2 xz zstd python3 perl sqlite3 lua cc1 stream chase matmul qsort}

mkdir -p "$folder/inputs" || exit 1
folder=$(cd "$folder" && pwd)
inputs=$folder/inputs

# Text to compress and to search: the modules that come with perl, in one order.
if [ ! -s "$inputs/text" ]; then
	find /usr/share/perl/ /usr/share/perl5 -name '*.pm' -type f 2>/dev/null | LC_ALL=C sort |
		xargs cat 2>/dev/null | head -c 6000000 >"$inputs/text"
fi
awk -f "$work/make-source.awk" >"$inputs/source.c"
for kernel in stream chase matmul qsort; do
	[ -x "$inputs/$kernel" ] || cc -O2 -g0 -o "$inputs/$kernel" "$work/$kernel.c" || exit 1
done

# One libc routine of each kind, whatever CPU valgrind shows, and no seeds drawn at start.
export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 LC_ALL=C
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-FSRM,-BMI2,-LZCNT,-MOVBE,-XSAVEC

python=$(ls /usr/bin/python3.[0-9]* 2>/dev/null | grep -x '.*python3\.[0-9]*' | tail -n 1)
for name in $names; do
	case $name in
	gzip) set -- gzip -9 -c "$inputs/text" ;;
	bzip2) set -- bzip2 -9 -c "$inputs/text" ;;
	xz) set -- xz -3 -T1 -c "$inputs/text" ;;
	zstd) set -- zstd -q -15 --single-thread -c "$inputs/text" ;;
	python3) set -- "$python" -S -E -B "$work/work.py" "$inputs/text" ;;
	perl) set -- /usr/bin/perl "$work/work.pl" "$inputs/text" ;;
	sqlite3) set -- sqlite3 -init /dev/null :memory: ".read $work/work.sql" ;;
	lua) set -- "$(ls /usr/bin/lua5.[0-9] 2>/dev/null | tail -n 1)" "$work/work.lua" ;;
	cc1) set -- "$(cc -print-prog-name=cc1)" -quiet -O1 "$inputs/source.c" -o /dev/null ;;
	stream) set -- "$inputs/stream" 20 ;;
	chase) set -- "$inputs/chase" 5000000 ;;
	matmul) set -- "$inputs/matmul" 6 ;;
	qsort) set -- "$inputs/qsort" 4 ;;
	*) echo "$name is none of the workloads" >&2; exit 2 ;;
	esac
	if ! command -v "$1" >/dev/null; then
		echo "$name: not installed" >&2
		continue
	fi
	start=$SECONDS
	valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --skip-plt=no \
		--cache-sim=yes --branch-sim=yes --I1=32768,8,64 --D1=49152,12,64 \
		--LL=33554432,16,64 --callgrind-out-file="$folder/$name.part" "$@" \
		>"$folder/$name.out" 2>"$folder/$name.err" </dev/null ||
		{ echo "$name failed: see $folder/$name.err" >&2; exit 1; }
	mv "$folder/$name.part" "$folder/$name.callgrind"
	echo "$name $((SECONDS - start)) s"
done
