# How much disk a host takes in a week, by epochs as large as an hour's at 1 kHz, beside a steady load and a
# compiler. docs/overhead.md has the full form's figures.
#   DISK_SECONDS, DISK_RATE  how long an epoch lasts, and the samples a second and CPU (default 3 and 4000; the full form
#                            90 and 40000: what an hour has at 1 kHz)
#   DISK_LOADS               default steady; the full form steady,compile
#   DISK_STACKS              anything: with stacks of one sample in ten, too
. "$SOURCE/tests/lib.sh"
need_root
need_recording system
need_command python3 cc
python3 "$SOURCE/bench/disk.py" --seconds "${DISK_SECONDS:-3}" --rate "${DISK_RATE:-4000}" --loads "${DISK_LOADS:-steady}" \
	${DISK_STACKS:+--stacks} "$CULPRIT"
