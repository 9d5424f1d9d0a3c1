/*
 * Counters over events that are made up (support/made_up_events.h): a clock, cycles with
 * instructions in their group, and page faults, on CPUs 0 and 3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/counters.h"
#include "machine/event.h"
#include "machine/pmu.h"
#include "support/made_up_events.h"

enum { CLOCK, CYCLES, INSTRUCTIONS, FAULTS, EVENTS };

#define PAGES 8

struct scene {
	struct event_list events;
	struct perf_features features;
	struct cpu_set cpus;
	struct counters_options options;
	struct counters counters;
	struct error err;
};

static struct sampler *new_samplers(const struct event_list *events)
{
	struct sampler *samplers = calloc(EVENTS, sizeof(*samplers));
	assert_non_null(samplers);
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event *event = &events->events[i];
		samplers[i] =
			(struct sampler){ .event = event,
					  .attr = event->attr,
					  .leader = event->leader,
					  .group_size = event_list_group_size(events, i),
					  .clock = event->clock,
					  .sampled = event->leader == i,
					  .policy = i == CLOCK ? PERIOD_RANDOM : PERIOD_FREQUENCY,
					  .mean_period = 1000000,
					  .frequency_hz = i == CLOCK ? 0 : 1000 };
		strcpy(samplers[i].name, event->name);
	}
	return samplers;
}

/* Ready for counters_open(). */
static void begin(struct scene *scene)
{
	struct pmu_list none = { 0 };
	made_up_begin();
	*scene = (struct scene){ .features = { .format_lost = FACT_YES, .ksymbol = FACT_YES } };
	assert_int_equal(event_list_parse(&scene->events, &none, NULL,
					  "cpu-clock,{cycles,instructions},page-faults",
					  &scene->err),
			 0);
	assert_int_equal(scene->events.count, EVENTS);
	cpu_set_add(&scene->cpus, 0);
	cpu_set_add(&scene->cpus, 3);
	scene->options = (struct counters_options){ .features = &scene->features,
						    .cpus = &scene->cpus,
						    .sample_pages = PAGES,
						    .sideband_pages = PAGES };
}

static void init(struct scene *scene)
{
	assert_int_equal(counters_init(&scene->counters, new_samplers(&scene->events), EVENTS,
				       &scene->options, &scene->err),
			 0);
}

static void open_all(struct scene *scene)
{
	init(scene);
	assert_int_equal(counters_open(&scene->counters, -1, 0, &scene->err), 0);
	assert_int_equal(counters_enable(&scene->counters, &scene->err), 0);
}

static void end(struct scene *scene)
{
	counters_release(&scene->counters);
	assert_int_equal(made_up_open_count(), 0);
	event_list_release(&scene->events);
	made_up_begin();
}

static struct made_up_event *event_on(const struct scene *scene, size_t event, int cpu)
{
	const struct perf_event_attr *attr = &scene->events.events[event].attr;
	struct made_up_event *found = made_up_find(attr->type, attr->config, cpu);
	assert_non_null(found);
	return found;
}

static struct made_up_event *sideband_on(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, cpu);
}

static void set(struct made_up_event *event, uint64_t value, uint64_t enabled_ns,
		uint64_t running_ns)
{
	event->value = value;
	event->enabled_ns = enabled_ns;
	event->running_ns = running_ns;
}

static void every_event_is_opened_on_every_cpu_and_shares_its_rings(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	open_all(&s);
	assert_int_equal(made_up_open_count(), 2 * (EVENTS + 1));
	assert_int_equal(s.counters.count, 2 * EVENTS);
	for (size_t slot = 0; slot < 2; slot++) {
		int cpu = s.counters.cpus[slot];
		const struct made_up_event *clock = event_on(&s, CLOCK, cpu);
		const struct made_up_event *cycles = event_on(&s, CYCLES, cpu);
		const struct made_up_event *members = event_on(&s, INSTRUCTIONS, cpu);
		assert_int_equal(cpu, slot ? 3 : 0);
		/* The first one brings the ring, and what does not sample writes nowhere. */
		assert_int_equal(clock->output_fd, -1);
		assert_int_equal(cycles->output_fd, clock->fd);
		assert_int_equal(event_on(&s, FAULTS, cpu)->output_fd, clock->fd);
		assert_int_equal(members->output_fd, -1);
		assert_int_equal(members->leader_fd, cycles->fd);
		assert_int_equal(members->attr.sample_period, 0);
		assert_int_equal(sideband_on(cpu)->output_fd, -1);
		assert_int_equal(counters_ring(&s.counters, slot, false)->data_bytes,
				 PAGES * (size_t)sysconf(_SC_PAGESIZE));
		/* Leaders alone are started; their groups go with them. */
		assert_true(clock->counts && cycles->counts && clock->attr.disabled);
		assert_false(members->attr.disabled);
		assert_true(clock->attr.exclude_idle);
		assert_true(cycles->attr.read_format & PERF_FORMAT_GROUP);
		assert_true(cycles->attr.sample_type & PERF_SAMPLE_READ);
		assert_false(clock->attr.sample_type & PERF_SAMPLE_READ);
		assert_ptr_equal(counters_by_id(&s.counters, cycles->id)->fd, cycles->fd);
	}
	assert_null(counters_by_id(&s.counters, 1));
	counters_disable(&s.counters);
	assert_false(event_on(&s, CLOCK, 3)->counts || event_on(&s, CYCLES, 0)->counts);
	end(&s);
}

static void a_half_full_ring_and_news_of_processes_wake_apart(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	open_all(&s);
	struct pollfd fds[2] = { { s.counters.watch.fd, POLLIN, 0 },
				 { s.counters.sideband_watch.fd, POLLIN, 0 } };
	size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(event_on(&s, CLOCK, 0)->attr.wakeup_watermark, bytes / 2);
	assert_int_equal(sideband_on(0)->attr.wakeup_watermark, 1);
	assert_int_equal(poll(fds, 2, 0), 0);
	made_up_wake(sideband_on(3));
	assert_int_equal(poll(fds, 2, 0), 1);
	assert_int_equal(fds[1].revents, POLLIN);
	made_up_wake(event_on(&s, CLOCK, 0));
	assert_int_equal(poll(fds, 2, 0), 2);
	end(&s);
}

static void counts_are_scaled_to_the_time_that_they_were_enabled(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	open_all(&s);
	set(event_on(&s, FAULTS, 3), 100, 1000, 250);
	set(event_on(&s, CYCLES, 3), 5000, 2000, 2000);
	set(event_on(&s, INSTRUCTIONS, 3), 7000, 2000, 2000);
	event_on(&s, FAULTS, 3)->lost = 3;
	event_on(&s, INSTRUCTIONS, 3)->lost = 2;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	const struct lane *faults = counters_lane(&s.counters, FAULTS, 1);
	const struct lane *cycles = counters_lane(&s.counters, CYCLES, 1);
	const struct lane *members = counters_lane(&s.counters, INSTRUCTIONS, 1);
	assert_true(faults->advanced == 400 && faults->sums.count == 400);
	assert_int_equal(faults->sums.enabled_ns, 1000);
	assert_int_equal(faults->sums.running_ns, 250);
	assert_int_equal(faults->sums.lost_ring, 3);
	assert_true(faults->rate_per_second == 100 * 1e9 / 250);
	assert_true(cycles->sums.count == 5000 && members->sums.count == 7000);
	assert_int_equal(members->sums.lost_ring, 2);
	assert_true(counters_lane(&s.counters, CYCLES, 0)->sums.count == 0);

	/* What was read counts once. */
	set(event_on(&s, FAULTS, 3), 150, 1100, 350);
	event_on(&s, FAULTS, 3)->lost = 4;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(faults->sums.count == 450);
	assert_int_equal(faults->sums.lost_ring, 4);
	assert_true(members->sums.count == 7000);
	/* Of clocks weights are known without it. */
	set(event_on(&s, CLOCK, 0), 10, 10, 10);
	assert_int_equal(counters_read(&s.counters, COUNTERS_COUNTED), 0);
	assert_true(counters_lane(&s.counters, CLOCK, 0)->sums.count == 0);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, CLOCK, 0)->sums.count == 10);
	end(&s);
}

/* Linux before 6.0: losses come as records alone. */
static void without_a_count_of_losses_readings_are_shorter(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	s.features.format_lost = FACT_NO;
	open_all(&s);
	set(event_on(&s, CYCLES, 0), 50, 10, 10);
	set(event_on(&s, INSTRUCTIONS, 0), 70, 10, 10);
	set(event_on(&s, FAULTS, 0), 9, 10, 10);
	event_on(&s, FAULTS, 0)->lost = 3;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, CYCLES, 0)->sums.count == 50);
	assert_true(counters_lane(&s.counters, INSTRUCTIONS, 0)->sums.count == 70);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 9);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 0)->sums.lost_ring, 0);
	end(&s);
}

/* One task on two CPUs: enabled on both, and running on one at a time. */
static void inherited_counts_are_scaled_by_all_cpus_together(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	s.options.inherit = true;
	init(&s);
	assert_int_equal(counters_open(&s.counters, 4711, 0, &s.err), 0);
	assert_int_equal(event_on(&s, FAULTS, 0)->task, 4711);
	assert_true(event_on(&s, FAULTS, 0)->attr.inherit && event_on(&s, FAULTS, 0)->attr.freq);
	set(event_on(&s, FAULTS, 0), 10, 1000, 300);
	set(event_on(&s, FAULTS, 3), 20, 1000, 200);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(s.counters.samplers[FAULTS].multiplexed == 2);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 20);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 40);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 0)->sums.enabled_ns, 600);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 1)->sums.running_ns, 200);
	/* A hair more than it ran is the time that reading takes. */
	set(event_on(&s, FAULTS, 0), 20, 2000, 1295);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(s.counters.samplers[FAULTS].multiplexed == 1);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 30);
	end(&s);
}

static int no_kernel(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static void without_the_right_to_the_kernel_user_code_is_sampled(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	made_up.judge = no_kernel;
	open_all(&s);
	assert_true(s.counters.kernel_dropped);
	for (size_t i = 0; i < EVENTS; i++)
		assert_true(event_on(&s, i, 3)->attr.exclude_kernel &&
			    s.counters.samplers[i].attr.exclude_kernel);
	assert_true(sideband_on(0)->attr.exclude_kernel && !sideband_on(0)->attr.ksymbol);
	end(&s);

	/* Where only the kernel's code was asked for nothing is left. */
	begin(&s);
	s.events.events[CLOCK].attr.exclude_user = 1;
	made_up.judge = no_kernel;
	init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EACCES);
	assert_non_null(strstr(s.err.text, "cannot sample 'cpu-clock' on CPU 0: "));
	end(&s);
}

static int least_precise(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->precise_ip > 1 ? -EOPNOTSUPP : 0;
}

static void the_highest_precision_that_opens_is_taken(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	made_up.judge = least_precise;
	s.events.events[FAULTS].max_precise = true;
	s.events.events[FAULTS].attr.precise_ip = 3;
	open_all(&s);
	assert_int_equal(event_on(&s, FAULTS, 0)->attr.precise_ip, 1);
	assert_int_equal(event_on(&s, FAULTS, 3)->attr.precise_ip, 1);
	end(&s);
	/* What was asked for exactly is not replaced. */
	begin(&s);
	made_up.judge = least_precise;
	s.events.events[FAULTS].attr.precise_ip = 2;
	init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EOPNOTSUPP);
	assert_non_null(strstr(s.err.text, "cannot sample 'page-faults' on CPU 0: "));
	end(&s);
}

static void rings_shrink_to_the_memory_that_may_be_locked(void **state)
{
	(void)state;
	struct scene s;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	begin(&s);
	s.options.sample_pages = 64;
	made_up.pages_most = 16;
	open_all(&s);
	for (size_t slot = 0; slot < 2; slot++) {
		assert_int_equal(counters_ring(&s.counters, slot, false)->data_bytes, 16 * page);
		assert_int_equal(counters_ring(&s.counters, slot, true)->data_bytes, 8 * page);
	}
	end(&s);
	begin(&s);
	made_up.pages_most = 2;
	init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EPERM);
	assert_string_equal(s.err.text, "cannot map a perf ring of 4 pages on CPU 0: Operation not "
					"permitted");
	end(&s);
}

static int refusal;
static int refuse_sideband(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	return attr->config == PERF_COUNT_SW_DUMMY && cpu == 3 ? refusal : 0;
}

static void what_the_kernel_refuses_is_told_with_its_place(void **state)
{
	(void)state;
	static const struct {
		int code;
		const char *text;
	} cases[] = {
		{ -EMFILE, "cannot watch processes on CPU 3: Too many open files" },
		{ -ECANCELED, "asked to end before task 77 could be watched" },
		{ -ETIMEDOUT, "cannot watch task 77: the kernel waits for the end of an execve() "
			      "of its, which does not come" },
	};
	struct scene s;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&s);
		s.options.inherit = true;
		refusal = cases[i].code;
		made_up.judge = refuse_sideband;
		init(&s);
		assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), refusal);
		assert_string_equal(s.err.text, cases[i].text);
		end(&s);
	}
	/* A task that has ended is no mistake: no sentence. */
	begin(&s);
	refusal = -ESRCH;
	made_up.judge = refuse_sideband;
	init(&s);
	s.err.text[0] = 0;
	assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), -ESRCH);
	assert_string_equal(s.err.text, "");
	end(&s);
}

static unsigned interruptions;
static int interrupted(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return interruptions && interruptions-- ? -EINTR : 0;
}

static void a_task_that_makes_us_wait_is_waited_for_as_long_as_there_is_patience(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	interruptions = 5;
	made_up.judge = interrupted;
	init(&s);
	assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), 0);
	assert_int_equal(interruptions, 0);
	assert_true(s.counters.patience.left_ns < TASK_PATIENCE_NS);
	interruptions = UINT32_MAX;
	s.counters.patience.left_ns = 1;
	assert_int_equal(counters_open(&s.counters, 78, 0, &s.err), -ETIMEDOUT);
	assert_int_equal(s.counters.patience.left_ns, 0);
	/* Of whole CPUs nobody makes us wait. */
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EINTR);
	end(&s);
}

static void an_event_that_cannot_be_started_or_named_is_told(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
	event_on(&s, FAULTS, 3)->refused_controls = 1;
	assert_int_equal(counters_enable(&s.counters, &s.err), -EIO);
	assert_string_equal(s.err.text, "cannot start 'page-faults' on CPU 3: Input/output error");
	end(&s);
}

static void a_cpu_that_leaves_has_the_same_rings_and_lanes_when_it_returns(void **state)
{
	(void)state;
	struct scene s;
	begin(&s);
	open_all(&s);
	uint64_t old_id = event_on(&s, FAULTS, 3)->id;
	void *memory = counters_ring(&s.counters, 1, false)->memory;
	/* It counted for 1 ms, and then was gone. */
	uint64_t began_ns = counters_by_id(&s.counters, old_id)->began_ns;
	for (size_t i = 0; i < EVENTS; i++)
		set(event_on(&s, i, 3), 10, 1000000, 1000000);
	uint64_t now_ns = began_ns + 50000000;
	counters_lose_cpu(&s.counters, 1, now_ns);
	assert_true(s.counters.absences[1].away && !s.counters.absences[0].away);
	assert_in_range(s.counters.absences[1].since_ns, began_ns - 10000000, began_ns + 1000000);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 10);
	counters_lose_cpu(&s.counters, 1, now_ns + 1); /* still */
	assert_in_range(s.counters.absences[1].since_ns, began_ns - 10000000, began_ns + 1000000);
	set(event_on(&s, FAULTS, 3), 99, 1000000, 1000000);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 10);

	uint64_t since_ns = s.counters.absences[1].since_ns, from_ns, to_ns;
	sideband_on(3)->lost = 6;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), 0);
	assert_int_equal(from_ns, since_ns);
	assert_true(to_ns >= from_ns && !s.counters.absences[1].away);
	assert_int_equal(s.counters.count, 2 * EVENTS);
	assert_int_equal(s.counters.sideband_lost, 6);
	assert_ptr_equal(counters_ring(&s.counters, 1, false)->memory, memory);
	const struct made_up_event *faults = event_on(&s, FAULTS, 3);
	assert_int_not_equal(faults->id, old_id);
	assert_true(faults->counts);
	/* Records of both belong there. */
	assert_ptr_equal(counters_by_id(&s.counters, old_id),
			 counters_by_id(&s.counters, faults->id));
	set(event_on(&s, FAULTS, 3), 5, 10, 10);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 15);
	end(&s);
}

static int gone(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	return attr->config == PERF_COUNT_SW_PAGE_FAULTS && cpu == 3 ? -ENODEV : 0;
}

static void a_cpu_that_leaves_again_is_tried_once_more(void **state)
{
	(void)state;
	struct scene s;
	uint64_t from_ns, to_ns;
	begin(&s);
	open_all(&s);
	counters_lose_cpu(&s.counters, 1, clock_monotonic_ns());
	made_up.judge = gone;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), -ENODEV);
	assert_true(s.counters.absences[1].away);
	made_up.judge = NULL;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), 0);
	assert_int_equal(s.counters.count, 2 * EVENTS);
	assert_true(event_on(&s, FAULTS, 3)->counts);
	end(&s);
}

static void periods_are_drawn_anew_around_what_the_rate_asks_for(void **state)
{
	(void)state;
	struct scene s;
	struct random_state random = random_seed(1);
	begin(&s);
	open_all(&s);
	/* 8e9 faults a second, of which 1000 are wanted. */
	set(event_on(&s, FAULTS, 0), 8000000, 1000000, 1000000);
	set(event_on(&s, FAULTS, 3), 1000000, 1000000, 1000000);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
		counters_redraw(&s.counters, &random);
		event_on(&s, FAULTS, 0)->value += 8000000;
		event_on(&s, FAULTS, 0)->enabled_ns += 1000000;
		event_on(&s, FAULTS, 0)->running_ns += 1000000;
	}
	uint64_t mean = s.counters.samplers[FAULTS].mean_period;
	assert_in_range(mean, period_mean_for(8e9, 1000, 1) * 99 / 100,
			period_mean_for(8e9, 1000, 1) * 101 / 100);
	struct lane *lane = counters_lane(&s.counters, FAULTS, 0);
	assert_int_equal(lane->sums.period_changes, 60);
	uint64_t period = event_on(&s, FAULTS, 0)->attr.sample_period;
	assert_int_equal(period, period_log_current(&lane->periods));
	assert_in_range(period, mean / 2, mean * 3 / 2);
	/* A window of weights has one period: not before it is settled. */
	assert_int_equal(weight_sample(&lane->weight, 1), 0);
	counters_redraw(&s.counters, &random);
	assert_int_equal(lane->sums.period_changes, 60);
	/* A clock's lasts 16 times as long as it is. */
	struct lane *clock = counters_lane(&s.counters, CLOCK, 0);
	uint64_t changes = clock->sums.period_changes;
	struct period_change *last = &clock->periods.changes[clock->periods.count - 1];
	last->time_ns = clock_monotonic_ns() + 1;
	last->time_ns -= 15 * last->period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(clock->sums.period_changes, changes);
	last->time_ns -= 2 * last->period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(clock->sums.period_changes, changes + 1);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_opened_on_every_cpu_and_shares_its_rings),
		cmocka_unit_test(a_half_full_ring_and_news_of_processes_wake_apart),
		cmocka_unit_test(counts_are_scaled_to_the_time_that_they_were_enabled),
		cmocka_unit_test(without_a_count_of_losses_readings_are_shorter),
		cmocka_unit_test(inherited_counts_are_scaled_by_all_cpus_together),
		cmocka_unit_test(without_the_right_to_the_kernel_user_code_is_sampled),
		cmocka_unit_test(the_highest_precision_that_opens_is_taken),
		cmocka_unit_test(rings_shrink_to_the_memory_that_may_be_locked),
		cmocka_unit_test(what_the_kernel_refuses_is_told_with_its_place),
		cmocka_unit_test(
			a_task_that_makes_us_wait_is_waited_for_as_long_as_there_is_patience),
		cmocka_unit_test(an_event_that_cannot_be_started_or_named_is_told),
		cmocka_unit_test(a_cpu_that_leaves_has_the_same_rings_and_lanes_when_it_returns),
		cmocka_unit_test(a_cpu_that_leaves_again_is_tried_once_more),
		cmocka_unit_test(periods_are_drawn_anew_around_what_the_rate_asks_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
