#!/bin/sh
# installed.sh SOURCE BUILD - the examples, built from an installed copy that pkg-config finds, by each compiler that is
# here, against the shared and the static library, run and say what they should.
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
	echo "$*"
	exit 77
}
complain() {
	echo "$*"
	exit 1
}
command -v pkg-config >/dev/null || skip "no pkg-config here"
nm -u "$build/include/libculprit.a" | grep -q -e __asan_ -e __tsan_ -e __gcov_ &&
	skip "what is installed of a build with sanitizers or coverage needs the same ones in every program"

root=$work/root
meson install -C "$build" --no-rebuild --quiet --destdir "$root" >"$work/said" 2>&1 ||
	complain "meson install: $(tail -n 3 "$work/said")"
pc=$(find "$root" -name culprit.pc)
[ -n "$pc" ] || complain "no culprit.pc is installed"
folder=$(dirname "$(dirname "$pc")")
for name in libculprit.a libculprit.so libculprit.so.0 libculprit-pfm.a libculprit-pfm.so libculprit-pfm.so.0; do
	[ -e "$folder/$name" ] || complain "$name is not installed"
done
find "$root" -name culprit_counters_start.3 | grep -q . || complain "culprit_counters_start(3) leads to no page"

export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
shared=$(pkg-config --cflags --libs culprit)
static="-static $(pkg-config --static --cflags --libs culprit)"
case $shared in *"$folder"*) ;; *) complain "pkg-config says $shared, not $folder" ;; esac
[ "$(pkg-config --modversion culprit)" = "$(sed -n "s/^  version: '\(.*\)',/\1/p" "$source/meson.build")" ] ||
	complain "culprit.pc has another version"

# build KIND COMPILER FLAG... : $work/program from the named file
build() {
	kind=$1
	shift
	# shellcheck disable=SC2086 # several arguments
	case $kind in
	shared) "$@" $shared -pthread ;;
	static) "$@" $static -pthread ;;
	esac
}

# run NAME KIND COMPILER: $work/program
run() {
	case $1 in
	random_access) set -- "$@" --size 4096 ;;
	threads) set -- "$@" 2 200 ;;
	topdown_region) set -- "$@" 1 ;;
	sampled_segment) set -- "$@" --rounds 2 ;;
	esac
	example=$1 kind=$2 compiler=$3
	shift 3
	(cd "$work" && LD_LIBRARY_PATH="$folder" "$work/program" "$@") >"$work/out" 2>"$work/err" || {
		status=$?
		grep -q -e 'perf_event_paranoid' -e 'not permitted' -e 'ermission denied' "$work/err" &&
			skip "this user may not count: $(cat "$work/err")"
		complain "$example ($kind, $compiler) ended with $status: $(cat "$work/err")"
	}
	[ -s "$work/out" ] || complain "$example ($kind, $compiler) printed nothing"
	grep -q "$(said_by "$example")" "$work/out" || complain "$example ($kind, $compiler) printed: $(cat "$work/out")"
}
# What a line of each example's output has on every machine.
said_by() {
	case $1 in
	random_access) echo 'page-faults' ;;
	threads) echo 'work' ;;
	scope) echo '200 keys were missing' ;;
	topdown_region) echo '^chased .* ns a number' ;;
	sampled_segment) echo 'samples' ;;
	*) complain "tests/library/installed.sh: no words of $1 to look for" >&2 ;;
	esac
}

built=0
for file in "$source"/examples/*.c "$source"/examples/*.cpp; do
	name=$(basename "$file")
	name=${name%.*}
	case $file in
	*.c) compilers='gcc clang' standard=-std=gnu11 ;;
	*) compilers='g++ clang++' standard=-std=c++17 ;;
	esac
	for compiler in $compilers; do
		command -v "$compiler" >/dev/null || continue
		for kind in shared static; do
			build $kind "$compiler" $standard -O2 -Wall -Wextra -Werror -o "$work/program" "$file" 2>"$work/err" ||
				complain "$name ($kind, $compiler) is not built: $(cat "$work/err")"
			needed=$(readelf -d "$work/program" | grep -c 'NEEDED.*libculprit\.so\.0' || true)
			[ "$kind $needed" = "shared 1" ] || [ "$kind $needed" = "static 0" ] ||
				complain "$name ($kind, $compiler) needs libculprit.so.0 $needed times"
			case $kind-$compiler in
			shared-g*) # the first call, which is in the first measurement, binds nothing
				lazy=$(readelf -rW "$work/program" | grep -E 'JUMP_SLO.*culprit_(counters_st|region_(begin|end))' || true)
				[ -z "$lazy" ] || complain "$name ($compiler) binds what it measures with by the first call: $lazy"
				;;
			esac
			run "$name" $kind "$compiler"
			built=$((built + 1))
		done
	done
done
[ $built -gt 0 ] || skip "no compiler here"

# A program with functions named as the library's own, which does not print: it links, keeps its
# functions, and has nothing of what prints.
cat >"$work/own.c" <<'C'
#include <culprit/counter.h>
#include <stdio.h>
int error_set(void);
int event_list_parse(void);
int error_set(void) { return 3; }
int event_list_parse(void) { return 4; }
int main(void)
{
	struct culprit_counters *counters;
	struct culprit_error error = { 0 };
	int status = culprit_counters_open("no-such-event", NULL, &counters, &error);
	printf("%d %s\n", error_set() + event_list_parse(), error.text);
	return status < 0 ? 0 : 1;
}
C
build static gcc -Wall -Werror -o "$work/program" "$work/own.c" || complain "a program with an error_set() is not linked"
said=$("$work/program") || complain "own.c ended with $?"
case $said in "7 "*no-such-event*) ;; *) complain "own.c printed: $said" ;; esac
nm "$work/program" | grep -q culprit_counters_print && complain "what does not print has culprit_counters_print()"

# libpfm4's names: those who ask for them link libculprit-pfm, and no others need libpfm.
cat >"$work/pfm.c" <<'C'
#include <culprit/counter.h>
#include <culprit/pfm.h>
#include <stdio.h>
int main(void)
{
	struct culprit_counters *counters = NULL;
	struct culprit_error error = { 0 };
	struct culprit_options options = { .names = culprit_pfm_names() };
	int status = culprit_counters_open("PERF_COUNT_SW_PAGE_FAULTS", &options, &counters, &error);
	printf("%d %s\n", status, error.text);
	culprit_counters_close(counters);
	return status < 0 && status != -13 && status != -1;
}
C
shared="$(pkg-config --cflags --libs culprit-pfm)"
static="-static $(pkg-config --static --cflags --libs culprit-pfm)"
for kind in shared static; do
	build $kind gcc -Wall -Werror -o "$work/program" "$work/pfm.c" || complain "a program with libculprit-pfm ($kind) is not linked"
	said=$(LD_LIBRARY_PATH="$folder" "$work/program") || complain "with libpfm4's names ($kind): $said"
done
# and without them nobody knows that name
sed 's/ .names = culprit_pfm_names() / 0 /' "$work/pfm.c" >"$work/without.c"
build shared gcc -o "$work/program" "$work/without.c"
LD_LIBRARY_PATH="$folder" "$work/program" >"$work/out" && complain "libpfm4's name is known without it: $(cat "$work/out")"
echo "$built examples built and run"
