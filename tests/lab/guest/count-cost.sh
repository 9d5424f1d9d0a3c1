# What a reading of counters costs, in instructions, beside PAPI's.
# boots: exact exact-6.12
[ -x "$TOOLS/count-cost" ] || { echo "built without PAPI (libpapi-dev for arm64)"; exit 77; }
echo 2 >/proc/sys/kernel/perf_event_paranoid # above that PAPI counts nothing, not even for root
echo 1 >/proc/sys/kernel/perf_user_access
"$TOOLS/count-cost"
