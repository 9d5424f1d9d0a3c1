#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/counters.h"
#include "collect/hotplug.h"
#include "collect/ledger.h"

#define SECOND UINT64_C(1000000000)

/* Two watched CPUs, 4 and 7, since second 10. */
struct machine {
	int cpus[2];
	struct cpu_absence absences[2];
	struct cpu_time before[2], started[2];
	uint64_t offline_ns[2], away_ns[2];
	struct counters counters;
	struct ledger ledger;
	struct hotplug hotplug;
};

static void init(struct machine *machine)
{
	*machine = (struct machine){ .cpus = { 4, 7 }, .hotplug = HOTPLUG_NONE };
	machine->hotplug.start_ns = 10 * SECOND;
	machine->counters.cpus = machine->cpus;
	machine->counters.cpu_count = 2;
	machine->counters.absences = machine->absences;
	machine->ledger.before = machine->before;
	machine->ledger.started = machine->started;
	machine->ledger.offline_ns = machine->offline_ns;
	machine->ledger.away_ns = machine->away_ns;
}

static void settle(struct machine *machine, uint64_t now_ns)
{
	hotplug_settle(&machine->hotplug, &machine->counters, &machine->ledger, now_ns);
}

static void expect_told(const struct machine *machine, const char *wanted)
{
	char text[600];
	hotplug_describe(&machine->hotplug, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void who_never_left_is_not_told_of(void **state)
{
	(void)state;
	struct machine machine;
	init(&machine);
	settle(&machine, 15 * SECOND);
	expect_told(&machine, "");
	assert_int_equal(machine.offline_ns[0] + machine.offline_ns[1], 0);
}

static void one_absence_is_billed_in_parts_and_told_once(void **state)
{
	(void)state;
	struct machine machine;
	init(&machine);
	machine.before[1].wall_ns = machine.started[1].wall_ns = 10 * SECOND;
	machine.absences[1] = (struct cpu_absence){ .away = true, .since_ns = 12 * SECOND };
	settle(&machine, 15 * SECOND);
	assert_int_equal(machine.offline_ns[1], 3 * SECOND);
	machine.offline_ns[1] = 0; /* billed */
	settle(&machine, 15 * SECOND);
	assert_int_equal(machine.offline_ns[1], 0);
	settle(&machine, 16 * SECOND);
	assert_int_equal(machine.offline_ns[1], SECOND);
	assert_int_equal(machine.offline_ns[0], 0);
	/* neither busy nor online meanwhile */
	assert_int_equal(machine.before[1].wall_ns, 14 * SECOND);
	assert_int_equal(machine.started[1].wall_ns, 14 * SECOND);
	expect_told(&machine, "CPU 7 was offline from 2.00 s to 6.00 s: nothing is known of it for "
			      "4.00 s");
}

static void several_are_told_in_one_sentence(void **state)
{
	(void)state;
	struct machine machine;
	init(&machine);
	machine.absences[0] = (struct cpu_absence){ .away = true, .since_ns = 11 * SECOND };
	settle(&machine, 12 * SECOND);
	machine.absences[1] = (struct cpu_absence){ .away = true, .since_ns = 12 * SECOND };
	settle(&machine, 13 * SECOND);
	expect_told(&machine,
		    "2 CPUs were offline 2 times, the first time CPU 4 from 1.00 s to 3.00 s: "
		    "nothing is known of them for 3.00 CPU-seconds");
	cpu_set_add(&machine.hotplug.late, 9);
	machine.hotplug.absences = 0;
	expect_told(&machine,
		    "1 CPU (CPU 9) came online after the recording began and is not watched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_never_left_is_not_told_of),
		cmocka_unit_test(one_absence_is_billed_in_parts_and_told_once),
		cmocka_unit_test(several_are_told_in_one_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
