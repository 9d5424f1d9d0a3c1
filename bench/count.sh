# Counting from inside a program: ns per reading and per region, beside the bare instructions and
# system calls, and beside PAPI and LIKWID where they were there when culprit was built (libpapi-dev,
# likwid). perf-cpp is no package of Debian: it is compared with where $PERF_CPP is a folder of its
# sources (with include/ and src/) and c++ builds them.
program=$(dirname "$CULPRIT")/../../bench/bench-count
if [ -n "${PERF_CPP:-}" ]; then
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	c++ -std=gnu++17 -O3 -DNDEBUG -shared -fPIC -w -I"$PERF_CPP/include" -o "$folder/perf-cpp.so" \
		"$SOURCE/bench/count_perf_cpp.cpp" $(find "$PERF_CPP/src" -name '*.cpp')
	"$program" "$folder/perf-cpp.so"
else
	"$program"
fi
