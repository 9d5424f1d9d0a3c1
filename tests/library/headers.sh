#!/bin/sh
# headers.sh SOURCE - every public header by itself is C11 and C++17 without extensions, for each compiler that is
# here; culprit.h has all of them but pfm.h, and include/meson.build installs every one.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() {
	echo "$*"
	failed=1
}

# compiles COMPILER STANDARD SUFFIX FLAG...: what is on stdin
compiles() {
	compiler=$1 standard=$2 suffix=$3
	shift 3
	cat >"$work/file.$suffix"
	"$compiler" "-std=$standard" -pedantic-errors -Wall -Wextra -Werror "$@" -I"$source/include" \
		-fsyntax-only "$work/file.$suffix" 2>"$work/said"
}
tried=0
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for header in "$source"/include/culprit/*.h; do
		tried=$((tried + 1))
		name=culprit/$(basename "$header")
		# twice: the second time has to add nothing
		printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" |
			compiles $compiler c11 c -Wstrict-prototypes || complain "$compiler: $name is not C11: $(cat "$work/said")"
	done
	echo 'int f() { return 0; }' | compiles $compiler c11 c -Wstrict-prototypes &&
		complain "$compiler: what is no prototype is not found"
done
for compiler in g++ clang++; do
	command -v $compiler >/dev/null || continue
	for header in "$source"/include/culprit/*.h; do
		tried=$((tried + 1))
		name=culprit/$(basename "$header")
		printf '#include <%s>\n#include <%s>\nint main() { return 0; }\n' "$name" "$name" |
			compiles $compiler c++17 cpp || complain "$compiler: $name is not C++17: $(cat "$work/said")"
	done
	echo 'struct s { int a; } x = { .a = 1 };' | compiles $compiler c++17 cpp && complain "$compiler: what is not C++17 is not found"
done
[ $tried -gt 0 ] || { echo "no compiler here"; exit 77; }

# Macros are used with all kinds of values; what nobody reads is computed for CULPRIT_KEEP() alone.
cat >"$work/macros" <<'C'
#include <culprit/culprit.h>
double use(struct culprit_region *region, double real, int whole, const char *text, struct culprit_error error);
double use(struct culprit_region *region, double real, int whole, const char *text, struct culprit_error error)
{
	CULPRIT_SCOPE(region);
	CULPRIT_KEEP(real);
	CULPRIT_KEEP(whole);
	CULPRIT_KEEP(text);
	CULPRIT_KEEP(error);
	CULPRIT_KEEP(real + whole);
	return real;
}
C
# instructions COMPILER MACRO: how many a loop has whose sum only the macro reads
instructions() {
	printf '%s\n' '#include <culprit/culprit.h>' 'void add(const long *, long);' 'void add(const long *all, long count) {' \
		'long sum = 0; for (long i = 0; i < count; i++) sum += all[i];' "$2(sum);" '}' >"$work/loop.c"
	"$1" -O2 -Wno-unused -I"$source/include" '-D_(x)=' -S -o "$work/loop.s" "$work/loop.c" && grep -c "^	[a-z]" "$work/loop.s"
}
for compiler in gcc clang g++ clang++; do
	command -v $compiler >/dev/null || continue
	case $compiler in
	*++) compiles $compiler c++17 cpp <"$work/macros" ;;
	*) compiles $compiler c11 c <"$work/macros" ;;
	esac || complain "$compiler: macros: $(cat "$work/said")"
	case $compiler in *++) continue ;; esac
	kept=$(instructions $compiler CULPRIT_KEEP) dropped=$(instructions $compiler _)
	[ "$kept" -gt $((dropped + 3)) ] || complain "$compiler: a loop is removed in spite of CULPRIT_KEEP(): $kept instructions, without it $dropped"
done

for header in "$source"/include/culprit/*.h; do
	name=$(basename "$header")
	grep -Fq "'culprit/$name'" "$source/include/meson.build" || complain "include/meson.build does not install $name"
	case $name in culprit.h | pfm.h) continue ;; esac
	grep -Fqx "#include \"$name\"" "$source/include/culprit/culprit.h" || complain "culprit.h does not include $name"
done
exit $failed
