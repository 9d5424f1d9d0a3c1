# Counting from inside a program: ns per reading and per region, beside the bare instructions and
# system calls, and beside PAPI where it was there when culprit was built. perf-cpp and LIKWID are no
# packages of Debian: figures of theirs are not from this machine (docs/methods.md, "Regions").
"$(dirname "$CULPRIT")/../../bench/bench-count"
