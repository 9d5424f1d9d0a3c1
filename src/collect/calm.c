#include "collect/calm.h"

#define SECOND_NS     1000000000u
#define LEAST_LOOK_NS 50000000u /* a shorter look is of ticks alone, and waits for the next */
#define CALM_PART     40
#define STIRRED_PART  20
#define AWAKE_PART    4

void calm_look(struct calm_cpu *cpu, const struct cpu_time *now)
{
	if (!now->known || !cpu->last.known || !cpu->second.known ||
	    now->wall_ns <= cpu->last.wall_ns) {
		*cpu = (struct calm_cpu){ .last = *now, .second = *now };
		return;
	}
	uint64_t passed_ns = now->wall_ns - cpu->last.wall_ns;
	if (passed_ns < LEAST_LOOK_NS)
		return;
	if (cpu_time_busy_ns(&cpu->last, now) > passed_ns / AWAKE_PART)
		cpu->calm = false;
	cpu->last = *now;
	passed_ns = now->wall_ns - cpu->second.wall_ns;
	if (passed_ns < SECOND_NS)
		return;
	uint64_t busy_ns = cpu_time_busy_ns(&cpu->second, now);
	cpu->second = *now;
	if (busy_ns > passed_ns / STIRRED_PART)
		cpu->calm = false;
	else if (busy_ns <= passed_ns / CALM_PART)
		cpu->calm = true;
}
