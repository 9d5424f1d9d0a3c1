/*
 * count_peers - other libraries that count, for bench count: each where it is there.
 */
#pragma once

#include <stddef.h>

struct peers {
	/* NULL: cannot be, here; then the reason is printed by peers_print_absent() */
	void (*papi_clock_twice)(void); /* PAPI_get_real_cyc() */
	void (*papi_read)(void);	/* of the four software events */
	void (*likwid_clock)(void);	/* timer_start(), timer_stop() */
	void (*perf_cpp_measure)(void); /* EventCounter::start(), stop() */
	const char *why_no_papi, *why_no_likwid, *why_no_perf_cpp;
};

/* `perf_cpp` is the shared object of count_perf_cpp.cpp; NULL: there is none. */
void peers_open(const char *perf_cpp, struct peers *peers);
void peers_print_absent(const struct peers *peers);
