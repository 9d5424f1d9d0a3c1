#include "count_peers.h"

#include <dlfcn.h>
#include <stdio.h>
#ifdef WITH_PAPI
#include <papi.h>
#endif
#ifdef WITH_LIKWID
#include <likwid.h>
#endif

#include "base/count_of.h"

#ifdef WITH_PAPI
static int set = PAPI_NULL;
static volatile long long sink;

static void papi_read(void)
{
	long long values[4];
	PAPI_read(set, values);
}

static void papi_clock_twice(void)
{
	sink = PAPI_get_real_cyc();
	sink = PAPI_get_real_cyc();
}

static const char *open_papi(struct peers *peers)
{
	static const char *const events[] = { "perf::PAGE-FAULTS", "perf::TASK-CLOCK",
					      "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS" };
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return "PAPI_library_init() fails";
	peers->papi_clock_twice = papi_clock_twice;
	const PAPI_component_info_t *component =
		PAPI_get_component_info(PAPI_get_component_index("perf_event"));
	if (component && component->disabled)
		return component->disabled_reason;
	int status = PAPI_create_eventset(&set);
	for (size_t i = 0; i < COUNT_OF(events) && status == PAPI_OK; i++)
		status = PAPI_add_named_event(set, events[i]);
	if (status == PAPI_OK)
		status = PAPI_start(set);
	if (status != PAPI_OK)
		return PAPI_strerror(status);
	peers->papi_read = papi_read;
	return NULL;
}
#else
static const char *open_papi(struct peers *peers)
{
	(void)peers;
	return "it was not there when this was built (libpapi-dev)";
}
#endif

#ifdef WITH_LIKWID
static TimerData timer;

static void likwid_clock(void)
{
	timer_start(&timer);
	timer_stop(&timer);
}

/* Its counters are those of CPUs, not of threads: a daemon writes /dev/cpu/N/msr, as Debian's
 * package is built. */
static const char *open_likwid(struct peers *peers)
{
	timer_init();
	timer_reset(&timer);
	peers->likwid_clock = likwid_clock;
	return "it counts CPUs, not threads, and by a daemon that writes /dev/cpu/*/msr";
}
#else
static const char *open_likwid(struct peers *peers)
{
	(void)peers;
	return "it was not there when this was built (likwid)";
}
#endif

static const char *open_perf_cpp(const char *path, struct peers *peers)
{
	if (!path)
		return "$PERF_CPP names no folder with its sources";
	void *object = dlopen(path, RTLD_NOW);
	if (!object)
		return dlerror();
	int (*open)(void);
	*(void **)&open = dlsym(object, "perf_cpp_open");
	*(void **)&peers->perf_cpp_measure = dlsym(object, "perf_cpp_measure");
	if (open && peers->perf_cpp_measure && open() == 0)
		return NULL;
	peers->perf_cpp_measure = NULL;
	return "it cannot count these events here";
}

void peers_open(const char *perf_cpp, struct peers *peers)
{
	*peers = (struct peers){ 0 };
	peers->why_no_papi = open_papi(peers);
	peers->why_no_likwid = open_likwid(peers);
	peers->why_no_perf_cpp = open_perf_cpp(perf_cpp, peers);
}

static void print_absent(const char *name, const char *why)
{
	if (why)
		printf("%s is not compared with in counting: %s\n", name, why);
}

void peers_print_absent(const struct peers *peers)
{
	print_absent("PAPI", peers->why_no_papi);
	print_absent("LIKWID", peers->why_no_likwid);
	print_absent("perf-cpp", peers->why_no_perf_cpp);
}
