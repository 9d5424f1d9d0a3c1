# What the daemon's overhead is made of, and the room that it takes, beside real work: after Tables 4 and 5 of
# the paper on DCPI. docs/overhead.md has the full form's figures.
#   PARTS_SECONDS    for each workload (default 3; the full form 60), flat and with stacks
#   PARTS_WORKLOADS  as OVERHEAD_WORKLOADS of bench/overhead.sh (default loop)
. "$SOURCE/tests/lib.sh"
need_root
need_recording system
need_command python3 cc
python3 "$SOURCE/bench/daemon-parts.py" --seconds "${PARTS_SECONDS:-3}" --workloads "${PARTS_WORKLOADS:-loop}" "$CULPRIT"
