#!/bin/sh
# symbols.sh SOURCE BUILD NM - libculprit and libculprit-pfm export the functions of NAME.symbols and nothing
# else, shared and static; the public headers declare those and no others; and the libraries
# need nothing but the C library (and libpfm4).
set -eu
source=$1 build=$2 nm=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# The functions that headers declare.
declared() {
	for header; do
		tr '\n' ' ' <"$header" | sed -E 's|/\*([^*]\|\*+[^*/])*\*+/||g' | tr ';{' '\n\n' |
			sed -nE 's/.*CULPRIT_API.*[^a-z_](culprit_[a-z_]+)\(.*/\1/p'
	done | LC_ALL=C sort
}

# compare WHAT LIST FILE HINT: FILE has the names of LIST
compare() {
	missing=$(LC_ALL=C comm -23 "$2" "$3" | tr '\n' ' ')
	new=$(LC_ALL=C comm -13 "$2" "$3" | tr '\n' ' ')
	[ -z "$missing" ] || echo "$1: missing: $missing- programs that use it no longer link; $4"
	[ -z "$new" ] || echo "$1: new: $new- $4"
	[ -z "$missing$new" ]
}

# check NAME LIST [HEADER...]
check() {
	name=$1 list=$2
	shift 2
	hint="when that is meant, change tests/library/$name.symbols, the header in include/culprit and its page in docs/man together; a missing one is also a new soversion (include/meson.build)"
	LC_ALL=C sort -c "$list" && [ -s "$list" ] || return 1
	"$nm" -D --defined-only "$build/include/$name.so" | sed -E 's/.* //; s/@.*//' | grep -v '^CULPRIT_[0-9]*$' |
		LC_ALL=C sort >"$work/shared"
	"$nm" -g --defined-only "$build/include/$name.a" | sed -nE 's/^[0-9a-f]+ . //p' | LC_ALL=C sort >"$work/static"
	declared "$@" >"$work/declared"
	same=0
	compare "$name.so" "$list" "$work/shared" "$hint" || same=1
	compare "$name.a" "$list" "$work/static" "$hint" || same=1
	compare "headers of $name" "$list" "$work/declared" "$hint" || same=1
	return $same
}

# needs NAME REGEX: the shared library needs no other libraries, the static one none of libc's private functions
needs() {
	needed=$(readelf -d "$build/include/$1.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	[ -n "$needed" ] || { echo "$1.so: readelf shows nothing that it needs"; return 1; }
	others=$(echo "$needed" | grep -vE "^($2|lib(c|m|asan|ubsan|tsan|gcc_s)\.so|ld-linux)" || true)
	[ -z "$others" ] || { echo "$1.so needs $others"; return 1; }
	# base/counted_malloc.c belongs into culprit's own programs alone
	private=$("$nm" -u "$build/include/$1.a" | grep -E ' __libc_' || true)
	[ -z "$private" ] || { echo "$1.a uses $private"; return 1; }
}

headers=$(ls "$source"/include/culprit/*.h | grep -v /pfm.h)
# shellcheck disable=SC2086 # several files
check libculprit "$source/tests/library/libculprit.symbols" $headers || failed=1
check libculprit-pfm "$source/tests/library/libculprit-pfm.symbols" "$source/include/culprit/pfm.h" || failed=1
needs libculprit 'none' || failed=1
needs libculprit-pfm 'libpfm\.so' || failed=1
# What prints is an object of its own.
"$nm" -A --defined-only "$build/include/libculprit.a" >"$work/objects"
for name in culprit_counters_print culprit_counters_open; do
	sed -nE "s/^[^:]*:([^:]*):.* T $name\$/\1/p" "$work/objects"
done | sort -u >"$work/two"
[ "$(wc -l <"$work/two")" = 2 ] || { echo "libculprit.a: printing is no object of its own: $(cat "$work/two")"; failed=1; }

# A function that is gone and one that is new would be found.
# shellcheck disable=SC2086
if [ $failed = 0 ]; then
	sed 1d "$source/tests/library/libculprit.symbols" >"$work/one-less"
	said=$(check libculprit "$work/one-less" $headers) && { echo "a new function is not found"; failed=1; }
	[ "$(echo "$said" | grep -c ': new: culprit_')" = 3 ] || { echo "of a new function it says: $said"; failed=1; }
	(cat "$source/tests/library/libculprit.symbols"; echo culprit_zzz) >"$work/one-more"
	said=$(check libculprit "$work/one-more" $headers) && { echo "a missing function is not found"; failed=1; }
	[ "$(echo "$said" | grep -c ': missing: culprit_zzz')" = 3 ] || { echo "of a missing function it says: $said"; failed=1; }
fi
exit $failed
