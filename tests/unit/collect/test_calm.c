/*
 * CPUs that idle, by /proc/stat as it is, in ticks; and a clock on a simulated CPU that works now
 * and then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "base/random.h"
#include "collect/calm.h"
#include "collect/counters.h"

#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define TICK   (10 * MS)
#define LOOK   (100 * MS)
#define MEAN   (5 * MS)

/* Looks after so many ms of which the CPU was busy for so many. */
static bool look(struct calm_cpu *cpu, struct cpu_time *now, uint64_t passed_ms, uint64_t busy_ms)
{
	now->wall_ns += passed_ms * MS;
	now->idle_ns += (passed_ms - busy_ms) * MS;
	calm_look(cpu, now);
	return cpu->calm;
}

static void a_cpu_is_calm_after_a_second_of_idling(void **state)
{
	(void)state;
	struct calm_cpu cpu = { 0 };
	struct cpu_time now = { .known = true, .wall_ns = 7 * SECOND };
	assert_false(look(&cpu, &now, 0, 0));
	for (int i = 0; i < 9; i++)
		assert_false(look(&cpu, &now, 100, 0));
	assert_true(look(&cpu, &now, 100, 10));
	/* a little work does not wake it, much does at once, and some within a second */
	assert_true(look(&cpu, &now, 100, 20));
	assert_false(look(&cpu, &now, 100, 30));
	for (int i = 0; i < 8; i++)
		assert_false(look(&cpu, &now, 100, 10));
	for (int i = 0; i < 20; i++)
		look(&cpu, &now, 100, 0);
	assert_true(cpu.calm);
	for (int i = 0; i < 20; i++)
		look(&cpu, &now, 100, 10);
	assert_false(cpu.calm);
	/* between a fortieth and a twentieth it stays what it was */
	for (int i = 0; i < 40; i++)
		assert_false(look(&cpu, &now, 100, 4));
	for (int i = 0; i < 20; i++)
		look(&cpu, &now, 100, 0);
	for (int i = 0; i < 40; i++)
		assert_true(look(&cpu, &now, 100, 4));
	/* too soon to say anything */
	assert_true(look(&cpu, &now, 10, 10));
	/* it has left, and is back */
	now.known = false;
	assert_false(look(&cpu, &now, 100, 0));
	now.known = true;
	for (int i = 0; i < 10; i++)
		assert_false(look(&cpu, &now, 100, 0));
	assert_true(look(&cpu, &now, 100, 0));
}

/* A CPU that is busy for a while, idle for a while; and a clock on it as the collector has it. */
struct simulation {
	struct random_state random;
	double work_ms, rest_ms; /* on average */
	bool busy;
	uint64_t switch_ns, now_ns, busy_ns, counted_ns; /* busy: counted up to the last switch */
	uint64_t tick_ns, ticks;
	double weighed_ns;
	bool old_half; /* the control: who wakes up pays for half of the long period */
	struct lane lane;
	struct calm_cpu cpu;
};

static uint64_t lasting(struct simulation *s, double mean_ms)
{
	double u = ((double)random_below(&s->random, 1u << 30) + 0.5) / (double)(1u << 30);
	return (uint64_t)(-log(u) * mean_ms * (double)MS) + 1;
}

static void advance(struct simulation *s, uint64_t to_ns)
{
	while (s->switch_ns <= to_ns) {
		if (s->busy)
			s->busy_ns += s->switch_ns - s->counted_ns;
		s->counted_ns = s->switch_ns;
		s->busy = !s->busy;
		s->switch_ns += lasting(s, s->busy ? s->work_ms : s->rest_ms);
	}
	if (s->busy)
		s->busy_ns += to_ns - s->counted_ns;
	s->counted_ns = s->now_ns = to_ns;
}

static void draw(struct simulation *s)
{
	uint64_t period = period_draw(&s->random, MEAN * (s->lane.calm ? CALM_PERIODS : 1));
	if (s->old_half)
		period_log_add(&s->lane.periods, s->now_ns, period);
	else
		lane_note_period(&s->lane, s->now_ns, period);
	s->lane.drawn_calm = s->lane.calm;
	s->tick_ns = s->now_ns + period;
}

static void simulate(struct simulation *s, uint64_t seconds)
{
	uint64_t look_ns = s->now_ns;
	uint64_t end_ns = s->now_ns + seconds * SECOND;
	draw(s);
	while (s->now_ns < end_ns) {
		if (s->tick_ns < look_ns) {
			advance(s, s->tick_ns);
			s->ticks++;
			if (s->busy)
				s->weighed_ns +=
					(double)period_log_weight(&s->lane.periods, s->now_ns);
			s->tick_ns += period_log_current(&s->lane.periods);
			continue;
		}
		advance(s, look_ns);
		struct cpu_time now = { .known = true,
					.wall_ns = s->now_ns,
					.idle_ns = (s->now_ns - s->busy_ns) / TICK * TICK };
		calm_look(&s->cpu, &now);
		s->lane.calm = s->cpu.calm;
		const struct period_log *log = &s->lane.periods;
		if (s->lane.calm != s->lane.drawn_calm ||
		    s->now_ns - log->changes[log->count - 1].time_ns >=
			    16 * (s->lane.drawn_calm ? CALM_PERIODS : 1) * period_log_current(log))
			draw(s);
		look_ns += LOOK + random_below(&s->random, MS);
	}
}

#define LONG 60000 /* seconds */

static struct simulation simulated(uint64_t seed, double work_ms, double rest_ms, bool old_half)
{
	struct simulation s = { .random = random_seed(seed),
				.work_ms = work_ms,
				.rest_ms = rest_ms,
				.old_half = old_half,
				.now_ns = SECOND,
				.switch_ns = SECOND,
				.counted_ns = SECOND };
	simulate(&s, LONG);
	return s;
}

static double off(const struct simulation *s)
{
	return s->weighed_ns / (double)s->busy_ns - 1;
}

static void estimates_hold_while_the_rate_comes_and_goes(void **state)
{
	(void)state;
	static const struct {
		double work_ms, rest_ms;
		double calm;  /* at least that much of the time */
		double limit; /* four standard deviations of chance, about */
	} cases[] = {
		{ 500, 3000, 0.4, 0.008 }, { 2000, 10000, 0.6, 0.008 }, { 100, 4000, 0.5, 0.02 },
		{ 1, 99, 0.9, 0.033 },	   { 20, 2000, 0.7, 0.03 },	{ 300, 300, 0, 0.004 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct simulation s = simulated(i + 1, cases[i].work_ms, cases[i].rest_ms, false);
		double calm = lane_calm(&s.lane, s.now_ns).ns / (LONG * 1e9);
		print_message("busy %.2f %% in pieces of %.0f ms: %+.2f %%, calm %.0f %%, %.0f "
			      "ticks a second\n",
			      (double)s.busy_ns / (LONG * 1e7), cases[i].work_ms, 100 * off(&s),
			      100 * calm, (double)s.ticks / LONG);
		assert_true(fabs(off(&s)) < cases[i].limit);
		assert_true(calm >= cases[i].calm);
		assert_true(
			fabs(period_log_interrupts(&s.lane.periods, s.now_ns) / (double)s.ticks -
			     1) < 0.02);
		assert_true(lane_calm(&s.lane, s.now_ns).interrupts <=
			    period_log_interrupts(&s.lane.periods, s.now_ns));
	}
	/* What holds for changes that have nothing to do with the work does not hold here. */
	struct simulation control = simulated(1, 500, 3000, true);
	print_message("with half of the old period: %+.2f %%\n", 100 * off(&control));
	assert_true(off(&control) > 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_is_calm_after_a_second_of_idling),
		cmocka_unit_test(estimates_hold_while_the_rate_comes_and_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
