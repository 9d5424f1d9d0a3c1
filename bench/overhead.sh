# What a recording of the whole machine costs the programs that it records: alternating runs of the same
# work with nobody recording, with culprit at the rate that its budget buys, with its daemon, and with perf at
# that rate: Table 3 of the paper on DCPI, with each thing that the daemon does beyond plain samples.
#   OVERHEAD_SECONDS    for each workload (default 12; the full form 900), or until every interval is +-0.5 %
#   OVERHEAD_WORKLOADS  which of gcc, memory, stream, loop, server, interpreter, parallel and, where it is, chromium
#                       (default loop; the full form all)
#   OVERHEAD_RECORDERS  which, with ";" between (default "nobody again" and "daemon, + stacks"; "": all that are here, the full form)
#   OVERHEAD_PERCENT    the budget (default 1)
# Short, it shows that it works and what it would print; what it has not shown it says. docs/overhead.md
# has the full form's figures.
. "$SOURCE/tests/lib.sh"
need_root
need_recording system
need_command python3 cc
python3 "$SOURCE/bench/overhead.py" --seconds "${OVERHEAD_SECONDS:-12}" --percent "${OVERHEAD_PERCENT:-1}" \
	--workloads "${OVERHEAD_WORKLOADS:-loop}" --recorders "${OVERHEAD_RECORDERS-nobody again;daemon, + stacks}" "$CULPRIT"
