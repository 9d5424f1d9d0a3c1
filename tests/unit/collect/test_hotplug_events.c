/* CPUs 4 and 7 leave and come back; their events are made up, and the list of those online. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/hotplug.h"
#include "collect/ledger.h"
#include "collect/session.h"
#include "machine/event.h"
#include "machine/pmu.h"
#include "support/made_up_events.h"
#include "support/made_up_files.h"

struct machine {
	struct event_list events;
	struct perf_features features;
	struct cpu_set cpus;
	struct session *session;
	struct counters *counters;
	struct ledger ledger;
	struct hotplug hotplug;
	uint64_t start_ns;
};

static void start(struct machine *machine)
{
	static const struct made_up_file files[] = {
		{ "/sys/devices/system/cpu/online", "4,7\n" },
		{ NULL, NULL },
	};
	struct pmu_list none = { 0 };
	struct error err;
	made_up_begin();
	made_up_files = files;
	*machine = (struct machine){ .features = { .format_lost = FACT_YES } };
	assert_int_equal(event_list_parse(&machine->events, &none, NULL, "cpu-clock", &err), 0);
	cpu_set_add(&machine->cpus, 4);
	cpu_set_add(&machine->cpus, 7);
	struct counters_options options = { .features = &machine->features,
					    .cpus = &machine->cpus,
					    .sample_pages = 4,
					    .sideband_pages = 4 };
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	assert_non_null(sampler);
	*sampler = (struct sampler){ .event = &machine->events.events[0],
				     .attr = machine->events.events[0].attr,
				     .name = "cpu-clock",
				     .group_size = 1,
				     .clock = true,
				     .sampled = true,
				     .policy = PERIOD_RANDOM,
				     .mean_period = 1000000 };
	machine->session = calloc(1, sizeof(*machine->session));
	assert_non_null(machine->session);
	machine->counters = &machine->session->counters;
	assert_int_equal(counters_init(machine->counters, sampler, 1, &options, &err), 0);
	assert_int_equal(counters_open(machine->counters, -1, 0, &err), 0);
	assert_int_equal(ledger_init(&machine->ledger, machine->session, false), 0);
	ledger_begin(&machine->ledger, machine->session);
	machine->start_ns = clock_monotonic_ns();
	hotplug_start(&machine->hotplug, machine->counters, machine->start_ns);
	assert_true(machine->hotplug.fd >= 0 && machine->hotplug.all);
	assert_int_equal(counters_enable(machine->counters, &err), 0);
}

static void end(struct machine *machine)
{
	hotplug_release(&machine->hotplug);
	ledger_release(&machine->ledger);
	counters_release(machine->counters);
	assert_int_equal(made_up_open_count(), 0);
	event_list_release(&machine->events);
	free(machine->session);
	made_up_begin();
}

static void set_online(const struct machine *machine, const char *list)
{
	ssize_t size = (ssize_t)strlen(list);
	assert_int_equal(ftruncate(machine->hotplug.fd, 0), 0);
	assert_int_equal(pwrite(machine->hotplug.fd, list, (size_t)size, 0), size);
}

static void follow(struct machine *machine)
{
	assert_int_equal(hotplug_follow(&machine->hotplug, machine->counters, &machine->ledger,
					clock_monotonic_ns()),
			 0);
}

static struct made_up_event *clock_on(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, cpu);
}

static void a_cpu_is_left_alone_while_it_is_away_and_taken_back(void **state)
{
	(void)state;
	struct machine m;
	char text[600];
	start(&m);
	follow(&m);
	assert_false(m.counters->absences[0].away || m.counters->absences[1].away);
	const uint64_t old_id = clock_on(7)->id;
	set_online(&m, "4\n");
	follow(&m);
	assert_true(m.counters->absences[1].away && m.hotplug.away);
	assert_false(m.counters->absences[0].away);
	assert_int_equal(clock_on(7)->id, old_id);
	follow(&m); /* still */
	set_online(&m, "4,7\n");
	follow(&m);
	assert_false(m.counters->absences[1].away || m.hotplug.away);
	assert_int_not_equal(clock_on(7)->id, old_id);
	assert_true(clock_on(7)->counts);
	assert_true(m.ledger.offline_ns[1] > 0);
	assert_int_equal(m.ledger.offline_ns[0], 0);
	assert_int_equal(m.hotplug.absences, 1);
	assert_int_equal(m.hotplug.absent_ns, m.ledger.offline_ns[1]);
	hotplug_describe(&m.hotplug, text, sizeof(text));
	assert_non_null(strstr(text, "CPU 7 was offline from 0.0"));
	end(&m);
}

static void one_that_was_not_there_at_the_start_is_told_of(void **state)
{
	(void)state;
	struct machine m;
	char text[600];
	start(&m);
	set_online(&m, "4,7-8\n");
	follow(&m);
	hotplug_describe(&m.hotplug, text, sizeof(text));
	assert_string_equal(
		text, "1 CPU (CPU 8) came online after the recording began and is not watched");
	/* What makes no sense is as if it had not been read. */
	set_online(&m, "many\n");
	follow(&m);
	assert_false(m.counters->absences[0].away || m.counters->absences[1].away);
	end(&m);
}

static int refusal;
static int refuse(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return refusal;
}

static void one_that_cannot_be_opened_again_is_tried_until_it_can(void **state)
{
	(void)state;
	struct machine m;
	char text[600];
	start(&m);
	set_online(&m, "4\n");
	follow(&m);
	set_online(&m, "4,7\n");
	made_up.judge = refuse;
	refusal = -EMFILE;
	follow(&m);
	assert_true(m.hotplug.away);
	hotplug_settle(&m.hotplug, m.counters, &m.ledger, clock_monotonic_ns());
	hotplug_describe(&m.hotplug, text, sizeof(text));
	assert_non_null(strstr(text, "; one could not be watched again: Too many open files"));
	refusal = -ENODEV; /* it left again, which is no fault */
	m.hotplug.refusal = 0;
	follow(&m);
	assert_int_equal(m.hotplug.refusal, 0);
	refusal = 0;
	follow(&m);
	assert_false(m.hotplug.away);
	/* It was one absence, of which a part was billed before. */
	assert_int_equal(m.hotplug.absences, 1);
	end(&m);
}

/* Between two looks at the list. */
static void one_that_was_away_unseen_is_known_by_its_counters(void **state)
{
	(void)state;
	struct machine m;
	start(&m);
	const uint64_t old_id = clock_on(7)->id;
	for (int reading = 1; reading <= 2; reading++) {
		clock_on(4)->enabled_ns = clock_on(4)->running_ns = 1000 * (uint64_t)reading;
		clock_on(7)->enabled_ns = clock_on(7)->running_ns = 1000;
		assert_int_equal(counters_read(m.counters, COUNTERS_ALL), 0);
		assert_int_equal(
			hotplug_check(&m.hotplug, m.counters, &m.ledger, clock_monotonic_ns()), 0);
		assert_int_equal(m.hotplug.absences, reading - 1);
	}
	assert_int_not_equal(clock_on(7)->id, old_id);
	assert_true(m.ledger.offline_ns[1] > 0);
	assert_false(m.counters->absences[1].away);
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_is_left_alone_while_it_is_away_and_taken_back),
		cmocka_unit_test(one_that_was_not_there_at_the_start_is_told_of),
		cmocka_unit_test(one_that_cannot_be_opened_again_is_tried_until_it_can),
		cmocka_unit_test(one_that_was_away_unseen_is_known_by_its_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
