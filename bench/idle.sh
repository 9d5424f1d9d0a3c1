# What a daemon does to an idle machine: interrupts, switches and CPU time a second, with it and without, beside
# perf. docs/overhead.md has the full form's figures.
#   IDLE_SECONDS  for each of them (default 4; the full form 60)
#   IDLE_ROUNDS   how often (default 1; the full form 3)
. "$SOURCE/tests/lib.sh"
need_root
need_recording system
need_command python3
python3 "$SOURCE/bench/idle.py" --seconds "${IDLE_SECONDS:-4}" --rounds "${IDLE_ROUNDS:-1}" "$CULPRIT"
