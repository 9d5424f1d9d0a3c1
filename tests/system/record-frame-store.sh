# Unwind rules are kept from one recording to the next: used again, made anew where the file is damaged, and
# neither read nor written in a folder that others can write.
# beside others
. "$SOURCE/tests/lib.sh"
need_command xz jq
need_cpu_sampling
head -c 2000000 "$CULPRIT" >input
kept=$XDG_CACHE_HOME/culprit/frames
record() { # PROFILE
	culprit record -q -g -F 999 -o "$1" -- xz -k -c input >/dev/null 2>said || { cat said; exit 1; }
}

broken() { # PROFILE: percent of its stacks that do not reach a start
	culprit report --json "$1" | jq .stacks.broken_percent
}

record first.prof
[ "$(ls "$kept" | wc -l)" -ge 2 ] || fail "no rules in $kept"
find "$kept" -type f | sort >files
xargs touch -d '3 days ago' <files
xargs stat -c '%i %n' <files >inodes

record again.prof
[ -n "$(find "$kept" -type f -mtime -1)" ] || fail "kept rules were not used"
# Rules that are made again are another file of that name; those of a file that no sample led into before
# may be added.
xargs stat -c '%i %n' <files | diff inodes - || fail "rules were made again"

while read -r file; do
	printf x | dd of="$file" bs=1 seek=100 conv=notrunc status=none
done <files
record damaged.prof
expect_between "percent of broken stacks, with damaged rules" "$(broken damaged.prof)" 0 2

rm -rf "$kept"
mkdir "$kept"
chmod 777 "$kept"
record unsafe.prof
[ -z "$(ls "$kept")" ] || fail "rules were written where everybody may write"
expect_between "percent of broken stacks, with no folder" "$(broken unsafe.prof)" 0 2
