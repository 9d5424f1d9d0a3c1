#!/bin/sh
# What counts inside other people's programs brings them no library: all of base and machine, linked
# together, need none but the C library and its mathematics.
set -eu
program=$1
[ "$("$program" page-faults:u)" = page-faults:u ] || { echo "printed: $("$program" page-faults:u)"; exit 1; }
needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || { echo "nothing is needed: readelf says $(readelf -d "$program")"; exit 1; }
others=$(echo "$needed" | grep -vE '^(lib(c|m|asan|ubsan|tsan|gcc_s)\.so|ld-linux)' || true)
[ -z "$others" ] || { echo "needed: $others"; exit 1; }
