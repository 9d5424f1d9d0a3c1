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

for header in "$source"/include/culprit/*.h; do
	name=$(basename "$header")
	grep -Fq "'culprit/$name'" "$source/include/meson.build" || complain "include/meson.build does not install $name"
	case $name in culprit.h | pfm.h) continue ;; esac
	grep -Fqx "#include \"$name\"" "$source/include/culprit/culprit.h" || complain "culprit.h does not include $name"
done
exit $failed
