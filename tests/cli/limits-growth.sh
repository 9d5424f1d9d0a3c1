# Files of four times as many events, images, spellings of one local file and so on cost about four
# times as much, not 16 or 64 times: what a stranger's file costs grows with its size.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/growth.sh"
need_command python3
make="$TOOLS/make-costly-file"

growth 9 1000 events diff FILE FILE
growth 9 10000 images report FILE
growth 2 15 spellings report FILE
growth 9 3000 builds diff --stash-only FILE FILE
growth 9 8000 sources annotate -s FILE
growth 9 3000 cpu-names report FILE
growth 9 8000 cpu-variables report FILE
growth 9 4000 mappings report FILE
