#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "count/topdown_private.h"
#include "counting_machine.h"
#include "culprit/topdown.h"
#include "unit/machine/trees.h"

#define METRICS_COUNTER                                                                            \
	0 /* TOPDOWN_RDPMC_METRICS and _SLOTS as the replayed kernel numbers them                  \
	   */
#define SLOTS_COUNTER 3

#define CPUINFO_SAPPHIRE_RAPIDS                                                                    \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"             \
	"model name\t: Intel(R) Xeon(R) Platinum 8488C\nstepping\t: 8\n\n"

#define TOPDOWN_EVENTS_OF(pmu)                                                                     \
	{ TREE_PMU pmu "/events/slots", "event=0x00,umask=0x4" },                                  \
		{ TREE_PMU pmu "/events/topdown-retiring", "event=0x00,umask=0x80" },              \
		{ TREE_PMU pmu "/events/topdown-bad-spec", "event=0x00,umask=0x81" },              \
		{ TREE_PMU pmu "/events/topdown-fe-bound", "event=0x00,umask=0x82" },              \
		{ TREE_PMU pmu "/events/topdown-be-bound", "event=0x00,umask=0x83" },              \
		{ TREE_PMU pmu "/events/topdown-heavy-ops", "event=0x00,umask=0x84" },             \
		{ TREE_PMU pmu "/events/topdown-br-mispredict", "event=0x00,umask=0x85" },         \
		{ TREE_PMU pmu "/events/topdown-fetch-lat", "event=0x00,umask=0x86" },             \
	{                                                                                          \
		TREE_PMU pmu "/events/topdown-mem-bound", "event=0x00,umask=0x87"                  \
	}

static const struct tree_file sapphire_rapids[] = {
	{ "proc/cpuinfo", CPUINFO_SAPPHIRE_RAPIDS },
	{ TREE_CPU "online", "0" },
	{ TREE_CPU "smt/active", "0" },
	{ TREE_PMU "cpu/type", "4" },
	{ TREE_PMU "cpu/format/event", "config:0-7" },
	{ TREE_PMU "cpu/format/umask", "config:8-15" },
	TOPDOWN_EVENTS_OF("cpu"),
	{ TREE_PMU "software/type", "1" },
	{ NULL, NULL },
};

static const struct tree_file zen4[] = {
	{ "proc/cpuinfo", CPUINFO_ZEN4("0") },
	{ TREE_CPU "online", "0" },
	{ TREE_CPU "smt/active", "0" },
	{ TREE_PMU "cpu/type", "4" },
	{ TREE_PMU "cpu/format/event", "config:0-7,32-35" },
	{ TREE_PMU "cpu/format/umask", "config:8-15" },
	{ TREE_PMU "cpu/format/cmask", "config:24-31" },
	{ TREE_PMU "software/type", "1" },
	{ NULL, NULL },
};

struct scene {
	struct tree tree;
	struct culprit_topdown *topdown;
	struct culprit_topdown_result result;
	struct culprit_error error;
};

static int open_scene(struct scene *scene, const struct tree_file *machine, unsigned levels,
		      const struct culprit_options *options)
{
	*scene = (struct scene){ 0 };
	tree_make(&scene->tree, machine);
	struct count_world world = { &count_kernel_replayed, scene->tree.path };
	return topdown_open(levels, options, &world, &scene->topdown, &scene->error);
}

static void close_scene(struct scene *scene)
{
	culprit_topdown_close(scene->topdown);
	tree_remove(&scene->tree);
	assert_int_equal(replayed.open, 0);
	replayed_begin();
}

static struct replayed_event *event_of(uint64_t config)
{
	struct replayed_event *event = replayed_find(4, config);
	assert_non_null(event);
	return event;
}

/* The slots counter and the metrics register are on the PMU and stand at these values. */
static void set_registers(uint64_t slots, const uint8_t fields[8])
{
	struct perf_event_mmap_page *page = event_of(0x400)->page;
	if (page->index == 0) {
		replayed_schedule(event_of(0x400), TOPDOWN_RDPMC_SLOTS, 0);
		replayed_schedule(event_of(0x8000), TOPDOWN_RDPMC_METRICS, 0);
	}
	replayed.counters[SLOTS_COUNTER] = slots;
	replayed.counters[METRICS_COUNTER] = 0;
	for (unsigned i = 0; i < 8; i++)
		replayed.counters[METRICS_COUNTER] |= (uint64_t)fields[i] << (8 * i);
}

/* A measurement from the one state of the registers to the other. */
static void measure(struct scene *scene, uint64_t first_slots, const uint8_t first[8],
		    uint64_t last_slots, const uint8_t last[8])
{
	set_registers(first_slots, first);
	assert_int_equal(culprit_topdown_start(scene->topdown), 0);
	set_registers(last_slots, last);
	assert_int_equal(culprit_topdown_stop(scene->topdown), 0);
	assert_int_equal(culprit_topdown_result(scene->topdown, 0, &scene->result), 0);
}

static void assert_figure(const struct scene *scene, enum culprit_topdown_category category,
			  double value)
{
	const struct culprit_topdown_figure *figure = &scene->result.figures[category];
	assert_null(figure->why);
	if (!(fabs(figure->value - value) < 1e-9)) {
		print_error("%s is %.9f, not %.9f\n", culprit_topdown_name(category), figure->value,
			    value);
		fail();
	}
	assert_true(figure->low <= value && value <= figure->high);
}

static void registers_are_scaled_by_slots_and_read_without_a_call(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 2, NULL), 0);
	/* 255 is all: 102 of 255 is 40 %, of 1000 slots 400; then 51 of 255 of 11000, 2200 */
	size_t reads = replayed.reads;
	measure(&scene, 1000, (uint8_t[]){ 102, 51, 51, 51, 51, 0, 51, 51 }, 101000,
		(uint8_t[]){ 51, 51, 51, 102, 51, 51, 0, 51 });
	assert_int_equal(replayed.reads, reads);
	assert_true(scene.result.user_space);
	assert_string_equal(scene.result.method, "golden-cove");
	assert_true(scene.result.slots == 100000);
	assert_int_equal(scene.result.flags, 0);
	assert_figure(&scene, CULPRIT_RETIRING, (0.2 * 101000 - 0.4 * 1000) / 100000);
	assert_figure(&scene, CULPRIT_BACKEND_BOUND, (0.4 * 101000 - 0.2 * 1000) / 100000);
	assert_figure(&scene, CULPRIT_BRANCH_MISPREDICTS, 0.2 * 101000 / 100000);
	assert_figure(&scene, CULPRIT_CORE_BOUND, 0.2 * 101000 / 100000);
	double resolution = 0.5 / 255 * (1000 + 101000) / 100000;
	const struct culprit_topdown_figure *retiring = &scene.result.figures[CULPRIT_RETIRING];
	assert_true(fabs(retiring->high - retiring->low - 2 * resolution) < 1e-12);
	close_scene(&scene);
}

static void a_reset_comes_before_precision_is_lost(void **state)
{
	(void)state;
	struct scene scene;
	static const uint8_t even[8] = { 102, 51, 51, 51, 51, 51, 51, 51 };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), 0);
	measure(&scene, 0, even, 100000, even);
	/* sections of 100,000 slots are told to a point while at most 205,000 came before */
	size_t controls = replayed.controls;
	culprit_topdown_start(scene.topdown);
	assert_int_equal(replayed.controls, controls);
	set_registers(200000, even);
	culprit_topdown_stop(scene.topdown);
	set_registers(300000, even);
	culprit_topdown_start(scene.topdown);
	assert_int_equal(replayed.controls, controls + 1);
	close_scene(&scene);
}

static void being_switched_out_is_said(void **state)
{
	(void)state;
	struct scene scene;
	static const uint8_t even[8] = { 102, 51, 51, 51 };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), 0);
	set_registers(1000, even);
	culprit_topdown_start(scene.topdown);
	replayed_schedule(event_of(0x400), TOPDOWN_RDPMC_SLOTS, 0);
	set_registers(21000, even);
	culprit_topdown_stop(scene.topdown);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_int_equal(scene.result.flags, CULPRIT_INTERRUPTED);
	assert_figure(&scene, CULPRIT_RETIRING, 0.4);
	close_scene(&scene);
}

static void off_the_pmu_nothing_is_known(void **state)
{
	(void)state;
	struct scene scene;
	static const uint8_t even[8] = { 102, 51, 51, 51 };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), 0);
	set_registers(1000, even);
	culprit_topdown_start(scene.topdown);
	replayed_take_off(event_of(0x400));
	culprit_topdown_stop(scene.topdown);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_int_equal(scene.result.flags, CULPRIT_ABSENT | CULPRIT_UNSCHEDULED);
	assert_true(isnan(scene.result.figures[CULPRIT_RETIRING].value));
	assert_non_null(strstr(scene.result.figures[CULPRIT_RETIRING].why, "not on the PMU"));
	close_scene(&scene);
}

static void a_register_that_went_back_gives_no_figures(void **state)
{
	(void)state;
	struct scene scene;
	static const uint8_t even[8] = { 102, 51, 51, 51 };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), 0);
	measure(&scene, 9000, even, 500, even);
	assert_true(scene.result.flags & CULPRIT_ABSENT);
	assert_non_null(scene.result.figures[CULPRIT_RETIRING].why);
	close_scene(&scene);
}

static void set_counts(uint64_t slots, const double shares[4])
{
	event_of(0x400)->count = slots;
	event_of(0x400)->enabled_ns = event_of(0x400)->running_ns = slots;
	for (unsigned i = 0; i < 4; i++)
		event_of(0x8000 + i * 0x100)->count = (uint64_t)(shares[i] * (double)slots);
}

static void without_rdpmc_the_kernel_is_asked(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), 0);
	set_counts(0, (double[]){ 0, 0, 0, 0 });
	culprit_topdown_start(scene.topdown);
	set_counts(100000, (double[]){ 0.5, 0.125, 0.25, 0.125 });
	culprit_topdown_stop(scene.topdown);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_false(scene.result.user_space);
	assert_figure(&scene, CULPRIT_RETIRING, 0.5);
	assert_figure(&scene, CULPRIT_FRONTEND_BOUND, 0.25);
	assert_true(isnan(scene.result.figures[CULPRIT_MEMORY_BOUND].value));
	assert_non_null(scene.result.figures[CULPRIT_MEMORY_BOUND].why);
	assert_true(fabs(scene.result.sum - 1) < 1e-9);
	close_scene(&scene);
}

/* Counters that are read by read(2) are never mapped as such, or the register would pass for a
 * count. */
static void the_metrics_register_is_never_taken_for_a_count(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_options options = { .flags = CULPRIT_ALWAYS_READ };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, &options), 0);
	assert_null(event_of(0x8000)->page);
	set_counts(0, (double[]){ 0, 0, 0, 0 });
	culprit_topdown_start(scene.topdown);
	set_counts(100000, (double[]){ 0.25, 0.25, 0.25, 0.25 });
	culprit_topdown_stop(scene.topdown);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_figure(&scene, CULPRIT_RETIRING, 0.25);
	assert_int_equal(replayed.counter_reads, 0);
	close_scene(&scene);
}

static void formulas_of_counts_serve_zen4(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, zen4, 1, NULL), 0);
	struct replayed_event *all[] = {
		event_of(0x76),	       event_of(0x1000001a0), event_of(0x100001ea0),
		event_of(0x1000060a0), event_of(0x7aa),	      event_of(0xc1),
	};
	assert_int_equal(culprit_topdown_start(scene.topdown), 0);
	/* of 6000 slots 1200 had no op from the front end, 1800 a stall behind, 600 went to the
	   other thread; 2400 ops were dispatched and 2100 retired */
	static const uint64_t counts[] = { 1000, 1200, 1800, 600, 2400, 2100 };
	for (size_t i = 0; i < 6; i++) {
		all[i]->count = counts[i];
		all[i]->enabled_ns = all[i]->running_ns = 1000;
	}
	assert_int_equal(culprit_topdown_stop(scene.topdown), 0);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_string_equal(scene.result.method, "zen4");
	assert_false(scene.result.user_space); /* no event is on the PMU */
	for (unsigned i = 0; i < 6; i++)
		replayed_schedule(all[i], 10 + i, 0);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
	assert_true(scene.result.user_space);
	assert_figure(&scene, CULPRIT_RETIRING, 0.35);
	assert_figure(&scene, CULPRIT_BAD_SPECULATION, 0.05);
	assert_figure(&scene, CULPRIT_FRONTEND_BOUND, 0.2);
	assert_figure(&scene, CULPRIT_BACKEND_BOUND, 0.3);
	assert_figure(&scene, CULPRIT_SMT_CONTENTION, 0.1);
	close_scene(&scene);
}

/* Of its two core types the first alone has the slots counter. */
static const struct tree_file hybrid[] = {
	{ "proc/cpuinfo", CPUINFO_INTEL("0") CPUINFO_INTEL("1") },
	{ TREE_CPU "online", "0-1" },
	{ TREE_CPU "smt/active", "0" },
	{ TREE_PMU "cpu_core/type", "4" },
	{ TREE_PMU "cpu_core/cpus", "0" },
	{ TREE_PMU "cpu_core/format/event", "config:0-7" },
	{ TREE_PMU "cpu_core/format/umask", "config:8-15" },
	TOPDOWN_EVENTS_OF("cpu_core"),
	{ TREE_PMU "cpu_atom/type", "10" },
	{ TREE_PMU "cpu_atom/cpus", "1" },
	{ TREE_PMU "cpu_atom/format/event", "config:0-7" },
	{ TREE_PMU "cpu_atom/format/umask", "config:8-15" },
	{ TREE_PMU "software/type", "1" },
	{ NULL, NULL },
};

static void each_core_type_has_a_result(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, hybrid, 1, NULL), 0);
	assert_int_equal(culprit_topdown_results(scene.topdown), 2);
	assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), -EINVAL);
	culprit_topdown_start(scene.topdown);
	culprit_topdown_stop(scene.topdown);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(culprit_topdown_result(scene.topdown, i, &scene.result), 0);
		assert_non_null(strstr(scene.result.core_type, "cpu_"));
		/* it ran on neither */
		assert_true(scene.result.flags & CULPRIT_ABSENT);
	}
	assert_int_equal(culprit_topdown_result(scene.topdown, 2, &scene.result), -EINVAL);
	close_scene(&scene);
}

static void set_times_of(uint32_t type, uint64_t enabled_ns, uint64_t running_ns)
{
	for (size_t i = 0; i < replayed.count; i++) {
		if (replayed.events[i].attr.type != type)
			continue;
		replayed.events[i].enabled_ns = enabled_ns;
		replayed.events[i].running_ns = running_ns;
	}
}

/* Measures 100,000 slots of the first type's cores, after so many of 100 ms that they and the
 * others were on the PMU; judges the first type. */
static void measure_hybrid(struct scene *scene, unsigned ran_ms, unsigned others_ran_ms)
{
	const uint64_t ms = UINT64_C(1000000);
	set_counts(0, (double[]){ 0, 0, 0, 0 });
	set_times_of(4, 0, 0);
	set_times_of(10, 0, 0);
	assert_int_equal(culprit_topdown_start(scene->topdown), 0);
	set_counts(100000, (double[]){ 0.5, 0.125, 0.25, 0.125 });
	set_times_of(4, 100 * ms, ran_ms * ms);
	set_times_of(10, 100 * ms, others_ran_ms * ms);
	assert_int_equal(culprit_topdown_stop(scene->topdown), 0);
	size_t index = 0;
	assert_int_equal(culprit_topdown_result(scene->topdown, 0, &scene->result), 0);
	if (strcmp(scene->result.core_type, "cpu_core") != 0)
		index = 1;
	assert_int_equal(culprit_topdown_result(scene->topdown, index, &scene->result), 0);
	assert_figure(scene, CULPRIT_RETIRING, 0.5);
}

static void slots_of_cores_of_another_type_are_not_missed(void **state)
{
	(void)state;
	struct scene scene;
	const struct culprit_options options = { .flags = CULPRIT_ALWAYS_READ };
	replayed_begin();
	assert_int_equal(open_scene(&scene, hybrid, 1, &options), 0);
	measure_hybrid(&scene, 60, 40);
	assert_int_equal(scene.result.flags, CULPRIT_MIGRATED);
	assert_true(scene.result.slots == 100000);
	/* a fifth of the time it was neither here nor there: 60 of 80 ms were counted */
	measure_hybrid(&scene, 60, 20);
	assert_int_equal(scene.result.flags,
			 CULPRIT_MIGRATED | CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL);
	assert_true(fabs(scene.result.slots - 100000. * 80 / 60) < 1e-6);
	measure_hybrid(&scene, 60, 0);
	assert_int_equal(scene.result.flags, CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL);
	measure_hybrid(&scene, 100, 0);
	assert_int_equal(scene.result.flags, 0);
	close_scene(&scene);
}

/* Of the first type's cores registers are read, which tell no times: where the thread was is known
 * from the other type's own events alone. */
static void beside_registers_the_longest_event_tells_what_was_missed(void **state)
{
	(void)state;
	struct scene scene;
	const uint64_t ms = UINT64_C(1000000);
	static const uint8_t even[8] = { 102, 51, 51, 51 };
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, hybrid, 1, NULL), 0);
	set_registers(1000, even);
	set_times_of(10, 0, 0);
	assert_int_equal(culprit_topdown_start(scene.topdown), 0);
	set_times_of(10, 100 * ms, 60 * ms);
	assert_int_equal(culprit_topdown_stop(scene.topdown), 0);
	size_t atom = strcmp(scene.topdown->cores[0].core_type, "cpu_atom") == 0 ? 0 : 1;
	assert_true(scene.topdown->cores[!atom].by_registers);
	assert_int_equal(culprit_topdown_result(scene.topdown, atom, &scene.result), 0);
	assert_int_equal(scene.result.flags & (CULPRIT_MIGRATED | CULPRIT_MULTIPLEXED),
			 CULPRIT_MIGRATED);
	/* half of the time there that one of them had no counter */
	scene.topdown->cores[atom].end[1].running_ns -= 30 * ms;
	assert_int_equal(culprit_topdown_result(scene.topdown, atom, &scene.result), 0);
	assert_int_equal(scene.result.flags & (CULPRIT_MIGRATED | CULPRIT_MULTIPLEXED),
			 CULPRIT_MIGRATED | CULPRIT_MULTIPLEXED);
	close_scene(&scene);
}

static void a_core_type_without_a_method_leaves_the_others_their_results(void **state)
{
	(void)state;
	struct scene scene;
	static const struct tree_file machine[] = {
		{ "proc/cpuinfo", CPUINFO_INTEL("0") CPUINFO_INTEL("1") CPUINFO_INTEL("2") },
		{ TREE_CPU "online", "0-2" },
		{ TREE_CPU "smt/active", "0" },
		{ TREE_PMU "cpu_core/type", "4" },
		{ TREE_PMU "cpu_core/cpus", "0" },
		{ TREE_PMU "cpu_core/format/event", "config:0-7" },
		{ TREE_PMU "cpu_core/format/umask", "config:8-15" },
		TOPDOWN_EVENTS_OF("cpu_core"),
		/* this model has no such cores */
		{ TREE_PMU "cpu_lowpower/type", "12" },
		{ TREE_PMU "cpu_lowpower/cpus", "2" },
		{ TREE_PMU "cpu_lowpower/format/event", "config:0-7" },
		{ TREE_PMU "cpu_atom/type", "10" },
		{ TREE_PMU "cpu_atom/cpus", "1" },
		{ TREE_PMU "cpu_atom/format/event", "config:0-7" },
		{ TREE_PMU "cpu_atom/format/umask", "config:8-15" },
		{ TREE_PMU "software/type", "1" },
		{ NULL, NULL },
	};
	replayed_begin();
	assert_int_equal(open_scene(&scene, machine, 1, NULL), 0);
	assert_int_equal(culprit_topdown_results(scene.topdown), 2);
	culprit_topdown_start(scene.topdown);
	culprit_topdown_stop(scene.topdown);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(culprit_topdown_result(scene.topdown, i, &scene.result), 0);
		assert_string_not_equal(scene.result.core_type, "cpu_lowpower");
	}
	close_scene(&scene);
}

static void says_where_there_is_no_method(void **state)
{
	(void)state;
	struct scene scene;
	static const struct tree_file unknown[] = {
		{ "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
				  "model\t\t: 15\nmodel name\t: Core 2\nstepping\t: 8\n\n" },
		{ TREE_CPU "online", "0" },
		{ TREE_PMU "cpu/type", "4" },
		{ TREE_PMU "software/type", "1" },
		{ NULL, NULL },
	};
	replayed_begin();
	assert_int_equal(open_scene(&scene, unknown, 1, NULL), -ENOENT);
	assert_non_null(strstr(scene.error.text, "06-0f"));
	close_scene(&scene);
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_no_pmu, 1, NULL), -ENOENT);
	assert_non_null(strstr(scene.error.text, "no hardware counters"));
	close_scene(&scene);
	replayed_begin();
	assert_int_equal(open_scene(&scene, sapphire_rapids, 3, NULL), -EINVAL);
	close_scene(&scene);
}

static int forbidden(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)pid, (void)cpu;
	return -EACCES;
}

static void refusals_are_errors(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.judge = forbidden;
	assert_int_equal(open_scene(&scene, sapphire_rapids, 1, NULL), -EACCES);
	assert_non_null(strstr(scene.error.text, "Permission denied"));
	close_scene(&scene);
}

static int refuse_the_kernels_side(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static void the_kernel_is_left_out_for_want_of_a_right_and_that_is_said(void **state)
{
	(void)state;
	struct scene scene;
	for (unsigned asked = 0; asked < 2; asked++) {
		struct culprit_options options = { .flags = asked ? CULPRIT_USER_ONLY : 0 };
		replayed_begin();
		replayed.judge = refuse_the_kernels_side;
		assert_int_equal(open_scene(&scene, zen4, 1, &options), 0);
		culprit_topdown_start(scene.topdown);
		culprit_topdown_stop(scene.topdown);
		assert_int_equal(culprit_topdown_result(scene.topdown, 0, &scene.result), 0);
		assert_int_equal(scene.result.flags & CULPRIT_SUBSTITUTE,
				 asked ? 0 : CULPRIT_SUBSTITUTE);
		close_scene(&scene);
	}
	struct culprit_options strict = { .flags = CULPRIT_STRICT };
	replayed_begin();
	replayed.judge = refuse_the_kernels_side;
	assert_int_equal(open_scene(&scene, zen4, 1, &strict), -EACCES);
	assert_non_null(strstr(scene.error.text, "the kernel's side"));
	close_scene(&scene);
}

static int refuse_retired_ops(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return (attr->config & 0xff) == 0xc1 ? -ENOENT : 0;
}

static void who_will_not_take_turns_gets_all_events_at_once_or_an_error(void **state)
{
	(void)state;
	struct scene scene;
	for (unsigned never = 0; never < 2; never++) {
		struct culprit_options options = { .flags = never ? CULPRIT_NEVER_MULTIPLEX : 0 };
		replayed_begin();
		replayed.pmu_counters = 3; /* of the six that the method wants */
		assert_int_equal(open_scene(&scene, zen4, 1, &options), never ? -EBUSY : 0);
		close_scene(&scene);
	}
}

static void who_is_strict_gets_all_events_or_an_error(void **state)
{
	(void)state;
	struct scene scene;
	for (unsigned strict = 0; strict < 2; strict++) {
		struct culprit_options options = { .flags = strict ? CULPRIT_STRICT : 0 };
		replayed_begin();
		replayed.judge = refuse_retired_ops;
		assert_int_equal(open_scene(&scene, zen4, 1, &options), strict ? -ENOENT : 0);
		if (strict)
			assert_non_null(strstr(scene.error.text, "for method 'zen4'"));
		close_scene(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_scaled_by_slots_and_read_without_a_call),
		cmocka_unit_test(a_reset_comes_before_precision_is_lost),
		cmocka_unit_test(being_switched_out_is_said),
		cmocka_unit_test(off_the_pmu_nothing_is_known),
		cmocka_unit_test(a_register_that_went_back_gives_no_figures),
		cmocka_unit_test(without_rdpmc_the_kernel_is_asked),
		cmocka_unit_test(the_metrics_register_is_never_taken_for_a_count),
		cmocka_unit_test(formulas_of_counts_serve_zen4),
		cmocka_unit_test(each_core_type_has_a_result),
		cmocka_unit_test(slots_of_cores_of_another_type_are_not_missed),
		cmocka_unit_test(beside_registers_the_longest_event_tells_what_was_missed),
		cmocka_unit_test(a_core_type_without_a_method_leaves_the_others_their_results),
		cmocka_unit_test(says_where_there_is_no_method),
		cmocka_unit_test(refusals_are_errors),
		cmocka_unit_test(the_kernel_is_left_out_for_want_of_a_right_and_that_is_said),
		cmocka_unit_test(who_will_not_take_turns_gets_all_events_at_once_or_an_error),
		cmocka_unit_test(who_is_strict_gets_all_events_or_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
