#!/bin/sh
# The include directions of docs/architecture.md hold, and a violation of each
# kind would be found.
set -eu
root=$1
check=$root/tests/include-directions
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

"$check" "$root"

mkdir "$copy/docs"
cp -r "$root/src" "$copy/src"
cp "$root/docs/architecture.md" "$copy/docs/"

# violate FILE INCLUDE REASON
violate() {
	file=$copy/src/$1
	had=$copy/had
	rm -f "$had"
	[ ! -e "$file" ] || cp -p "$file" "$had"
	mkdir -p "$(dirname "$file")"
	printf '#include "%s"\n' "$2" >>"$file"
	if said=$("$check" "$copy"); then
		echo "not found: $1 includes $2"
		exit 1
	fi
	case $said in
	*"$3"*) ;;
	*) echo "$1 includes $2: said '$said', not '$3'"; exit 1 ;;
	esac
	if [ -e "$had" ]; then
		mv "$had" "$file"
	else
		rm -r "$(dirname "$file")"
	fi
}
violate image/elf.c machine/cpu.h 'image and machine are siblings'
violate base/error.c cli/message.h 'base lies below cli'
violate count/region.c image/elf.h 'count may not include image'
violate machine/event.c events/pfm_names.h 'machine lies below events'
violate analyze/frequency.c count/region.h 'only some may include count, not analyze'
violate profile/table.c util/list.h 'util is not in the list'
violate machine/event.c culprit/counter.h 'only some may include culprit, not machine'
violate util/list.c base/error.h 'util is not in the list'
