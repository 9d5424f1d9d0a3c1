/* What the shared library leaves behind when it is loaded, used and unloaded (libculprit(3),
 * DLOPEN). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include <culprit/counter.h>
#include <culprit/region.h>

#include "base/sanitizers.h"
#include "process_support.h"
#include "support/skip.h"

/* The functions used here, as the library that is loaded has them. */
#define FUNCTIONS(X)                                                                               \
	X(culprit_counters_open)                                                                   \
	X(culprit_counters_close)                                                                  \
	X(culprit_counters_start)                                                                  \
	X(culprit_counters_stop)                                                                   \
	X(culprit_counters_values)                                                                 \
	X(culprit_regions_open)                                                                    \
	X(culprit_regions_close)                                                                   \
	X(culprit_regions_join)                                                                    \
	X(culprit_regions_leave)                                                                   \
	X(culprit_region_named)                                                                    \
	X(culprit_region_begin)                                                                    \
	X(culprit_region_end)

struct library {
	void *handle;
#define POINTER(name) __typeof__(name) *name;
	FUNCTIONS(POINTER)
#undef POINTER
};

static void load(struct library *library)
{
	library->handle = dlopen(LIBCULPRIT, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		fail_msg("%s", dlerror());
#define LOOK_UP(name)                                                                              \
	*(void **)&library->name = dlsym(library->handle, #name);                                  \
	assert_non_null(library->name);
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

static void unload(struct library *library)
{
	assert_int_equal(dlclose(library->handle), 0);
	/* else the rest of these tests says nothing */
	assert_null(dlopen(LIBCULPRIT, RTLD_NOW | RTLD_NOLOAD));
}

static void count_something(const struct library *library)
{
	struct culprit_counters *counters = NULL;
	struct culprit_error error;
	if (library->culprit_counters_open("page-faults,cycles", NULL, &counters, &error))
		fail_msg("%s", error.text);
	assert_int_equal(library->culprit_counters_start(counters), 0);
	touch_pages(50);
	assert_int_equal(library->culprit_counters_stop(counters), 0);
	struct culprit_value values[2];
	assert_int_equal(library->culprit_counters_values(counters, values, 2), 0);
	assert_true(values[0].value >= 50);
	library->culprit_counters_close(counters);
}

static struct culprit_regions *new_regions(const struct library *library)
{
	struct culprit_regions *regions = NULL;
	struct culprit_error error;
	if (library->culprit_regions_open("page-faults", NULL, &regions, &error))
		fail_msg("%s", error.text);
	return regions;
}

static void mark_something(const struct library *library, struct culprit_regions *regions)
{
	struct culprit_error error;
	if (library->culprit_regions_join(regions, &error))
		fail_msg("%s", error.text);
	struct culprit_region *region = library->culprit_region_named(regions, "something");
	assert_non_null(region);
	library->culprit_region_begin(region);
	library->culprit_region_end(region);
}

static void use(const struct library *library)
{
	count_something(library);
	struct culprit_regions *regions = new_regions(library);
	mark_something(library, regions);
	library->culprit_regions_leave(regions);
	library->culprit_regions_close(regions);
}

static void load_use_and_unload(void)
{
	struct library library;
	load(&library);
	use(&library);
	unload(&library);
}

static void nothing_is_left_of_a_library_that_was_unloaded(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		load_use_and_unload(); /* what libc keeps of the first uses */
	int descriptors = open_descriptors(false), mappings = mappings_of("");
	size_t allocated = mallinfo2().uordblks;
	for (int i = 0; i < 50; i++)
		load_use_and_unload();
	assert_int_equal(open_descriptors(false), descriptors);
	assert_int_equal(mappings_of("libculprit"), 0);
	assert_int_equal(mappings_of("perf_event"), 0);
	assert_in_range(mappings_of(""), 0, mappings + 2); /* the heap may be split once more */
	if (!SANITIZERS)
		assert_int_equal(mallinfo2().uordblks, allocated);
}

/* And what is left is found: an object that is not closed. */
static void what_is_not_closed_would_be_found(void **state)
{
	(void)state;
	struct library library;
	load(&library);
	int descriptors = open_descriptors(false);
	struct culprit_counters *counters = NULL;
	assert_int_equal(library.culprit_counters_open("page-faults", NULL, &counters, NULL), 0);
	assert_true(open_descriptors(false) > descriptors);
	assert_true(mappings_of("libculprit") > 0);
	library.culprit_counters_close(counters);
	unload(&library);
}

struct visitor {
	const struct library *library;
	struct culprit_regions *regions;
	bool leaves;
	pthread_barrier_t used, unloaded;
};

static void *visit(void *context)
{
	struct visitor *visitor = context;
	mark_something(visitor->library, visitor->regions);
	count_something(visitor->library);
	if (visitor->leaves)
		visitor->library->culprit_regions_leave(visitor->regions);
	pthread_barrier_wait(&visitor->used);
	pthread_barrier_wait(&visitor->unloaded);
	return NULL; /* destructors of the thread's own data run now */
}

static void a_thread_ends_after_unloading(bool leaves)
{
	for (int i = 0; i < 10; i++) {
		struct library library;
		load(&library);
		struct visitor visitor = { &library, new_regions(&library), .leaves = leaves };
		pthread_barrier_init(&visitor.used, NULL, 2);
		pthread_barrier_init(&visitor.unloaded, NULL, 2);
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, visit, &visitor), 0);
		pthread_barrier_wait(&visitor.used);
		library.culprit_regions_close(visitor.regions);
		unload(&library);
		pthread_barrier_wait(&visitor.unloaded);
		assert_int_equal(pthread_join(thread, NULL), 0);
		pthread_barrier_destroy(&visitor.used);
		pthread_barrier_destroy(&visitor.unloaded);
	}
	assert_int_equal(mappings_of("perf_event"), 0);
}

static void threads_that_left_end_after_unloading(void **state)
{
	(void)state;
	a_thread_ends_after_unloading(true);
}

static void threads_that_did_not_leave_end_after_regions_were_closed_and_unloaded(void **state)
{
	(void)state;
	int descriptors = open_descriptors(false);
	a_thread_ends_after_unloading(false);
	assert_int_equal(open_descriptors(false), descriptors);
}

int main(int argc, char **argv)
{
	(void)argc;
	/* what is freed is free at once, so that mallinfo2() shows what is not */
	if (!getenv("GLIBC_TUNABLES")) {
		setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0", 1);
		execv("/proc/self/exe", argv);
	}
	struct library library;
	struct culprit_counters *counters = NULL;
	struct culprit_error error;
	load(&library);
	int status = library.culprit_counters_open("page-faults", NULL, &counters, &error);
	if (status == -EACCES || status == -EPERM || status == -ENOSYS) {
		printf("%s\n", error.text);
		return 77;
	}
	library.culprit_counters_close(counters);
	unload(&library);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_a_library_that_was_unloaded),
		cmocka_unit_test(what_is_not_closed_would_be_found),
		cmocka_unit_test(threads_that_left_end_after_unloading),
		cmocka_unit_test(
			threads_that_did_not_leave_end_after_regions_were_closed_and_unloaded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
