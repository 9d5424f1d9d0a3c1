#!/bin/bash
# Exact execution counts, simulated misses and mispredictions of the nine programs, four
# kernels, six more programs and the unseen seven of docs/methods.md, "Frequencies": each under
# callgrind, some fifteen minutes in all.
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
names=${*:-gzip bzip2 xz zstd python3 perl sqlite3 lua cc1 stream chase matmul qsort as objdump sort awk diff grep sed bc jq xmllint troff git readelf}

mkdir -p "$folder/inputs" || exit 1
folder=$(cd "$folder" && pwd)
inputs=$folder/inputs

# Text to compress and to search: the modules that come with perl, in one order.
if [ ! -s "$inputs/text" ]; then
	find /usr/share/perl/ /usr/share/perl5 -name '*.pm' -type f 2>/dev/null | LC_ALL=C sort |
		xargs cat 2>/dev/null | head -c 6000000 >"$inputs/text"
fi
awk -f "$work/make-source.awk" >"$inputs/source.c"
cc -O1 -w -S -o "$inputs/source.s" "$inputs/source.c" || exit 1
cc -c -o "$inputs/source.o" "$inputs/source.s" || exit 1
sed '2~7d; 5~11s/a/b/' "$inputs/text" >"$inputs/other"

# The start of that text in formats of their own.
head -c 1500000 "$inputs/text" | tr -c '\n -~' ' ' >"$inputs/plain"
{
	echo '<t>'
	sed 's/&/\&amp;/g; s/</\&lt;/g; s/.*/<l><w>&<\/w>&<\/l>/' "$inputs/plain"
	echo '</t>'
} >"$inputs/text.xml"
tr '\\"' "/'" <"$inputs/plain" | awk '{ printf "{\"n\":%d,\"w\":\"%s\",\"l\":\"%s\"}\n", NR, $1, $0 }' >"$inputs/text.json"
sed "s/^[.']/ &/; s/\\\\/\\\\e/g" "$inputs/plain" >"$inputs/text.roff"

for kernel in stream chase matmul qsort; do
	[ -x "$inputs/$kernel" ] || cc -O2 -g0 -o "$inputs/$kernel" "$work/$kernel.c" || exit 1
done

. "$work/commands.sh"

for name in $names; do
	set_workload "$name" || exit 2
	set -- "${workload[@]}"
	if ! command -v "$1" >/dev/null; then
		echo "$name: not installed" >&2
		continue
	fi
	start=$SECONDS
	valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --skip-plt=no \
		--cache-sim=yes --branch-sim=yes --I1=32768,8,64 --D1=49152,12,64 \
		--LL=33554432,16,64 --callgrind-out-file="$folder/$name.part" "$@" \
		>"$folder/$name.out" 2>"$folder/$name.err" </dev/null
	[ $? -le 1 ] && [ -s "$folder/$name.part" ] || # diff's 1 says that it found something
		{ echo "$name failed: see $folder/$name.err" >&2; exit 1; }
	mv "$folder/$name.part" "$folder/$name.callgrind"
	echo "$name $((SECONDS - start)) s"
done
