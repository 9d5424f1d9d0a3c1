#include "analyze/counted/limiting_factor.h"

#include <math.h>

/* Below that, loading and linking a program is most of it (1 to 5 ms). */
#define SHORTEST_S 0.01
/* Of the time of one CPU: what is off the CPU longer than on it waits; what is on it all but a
 * tenth of the time does not. */
#define WAITS_BELOW 0.5
#define BUSY_FROM   0.9
/* Of one CPU: to have that little of it, because others have the rest, a program needs 20 rivals.
 */
#define HARDLY_RUNS 0.05
/* Of all CPUs. */
#define ALL_FROM 0.9
/* One kind of switches explains why it is off the CPU when there are so many times more of it. */
#define SWITCHES_RATIO 2
/* User and kernel time are told apart by ticks of the kernel's timer: CONFIG_HZ is at least 100. */
#define TICKS_PER_S 100
#define HALF	    0.5
/* What a misprediction throws away at the least, in cycles: the pipelines of x86-64 processors are
 * refilled in 15 to 20 cycles (Fog, "The microarchitecture of Intel, AMD and VIA CPUs", "Branch
 * prediction"), those of Arm's N1 and V1 in 11 and more (their software optimization guides). */
#define MISPREDICTION_CYCLES 11
#define MISPREDICTION_SHARE  0.25
#define Z_95		     1.959964
/* Of slots: the largest use is named when it is that much larger than the next. */
#define SLOTS_AHEAD 0.05

const char *const limit_names[] = {
	[LIMIT_NOT_KNOWN] = "unknown",
	[LIMIT_TOO_SHORT] = "too-short",
	[LIMIT_WAITING] = "waiting",
	[LIMIT_CROWDED] = "crowded",
	[LIMIT_OFF_CPU] = "off-cpu",
	[LIMIT_PAGE_FAULTS] = "page-faults",
	[LIMIT_KERNEL] = "kernel",
	[LIMIT_MISPREDICTION] = "misprediction",
	[LIMIT_SLOTS] = "slots",
	[LIMIT_CPU] = "cpu",
	[LIMIT_SOME_CPUS] = "some-cpus",
	[LIMIT_ALL_CPUS] = "all-cpus",
	[LIMIT_NOTHING_CLEARLY] = "nothing-clearly",
};

/* Lower end of the 95 % score interval of a share (Wilson 1927) that was seen in n ticks. */
static double share_low(double share, double n)
{
	double z2 = Z_95 * Z_95;
	double middle = share + z2 / (2 * n);
	double half = Z_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
	return (middle - half) / (1 + z2 / n);
}

static double quotient(double above, double below)
{
	return below > 0 ? above / below : NAN;
}

static enum limit why_off_cpu(const struct run_figures *figures, double used)
{
	double voluntary = figures->voluntary_switches;
	double involuntary = figures->involuntary_switches;
	if (used < HARDLY_RUNS)
		return LIMIT_WAITING;
	if (!isfinite(voluntary) || !isfinite(involuntary))
		return LIMIT_OFF_CPU;
	if (voluntary > SWITCHES_RATIO * involuntary)
		return LIMIT_WAITING;
	return involuntary > SWITCHES_RATIO * voluntary ? LIMIT_CROWDED : LIMIT_OFF_CPU;
}

/* Whether most of the CPU time is the kernel's, beyond the error of its ticks. */
static bool is_kernel_bound(const struct run_figures *figures, const struct limiting_factor *factor)
{
	double ticks = TICKS_PER_S * (figures->user_s + figures->system_s);
	return ticks > 0 && share_low(factor->system_share, ticks) > HALF;
}

/* Finds the largest use of slots, if it is one clearly. */
static bool find_slots_use(const struct run_figures *figures, struct limiting_factor *factor)
{
	double most = -INFINITY, next = -INFINITY;
	for (int i = 0; i < SLOTS_USES; i++) {
		double share = figures->slots[i];
		if (!isfinite(share))
			return false;
		if (share > most) {
			next = most;
			most = share;
			factor->slots_use = (enum slots_use)i;
		} else if (share > next) {
			next = share;
		}
	}
	factor->slots_share = most;
	return most - next >= SLOTS_AHEAD;
}

static enum limit on_cpu(const struct run_figures *figures, struct limiting_factor *factor)
{
	if (is_kernel_bound(figures, factor))
		return factor->page_fault_share >= HALF ? LIMIT_PAGE_FAULTS : LIMIT_KERNEL;
	if (factor->cpus_used < BUSY_FROM)
		return LIMIT_NOTHING_CLEARLY;
	if (find_slots_use(figures, factor))
		return LIMIT_SLOTS;
	if (factor->misprediction_share >= MISPREDICTION_SHARE)
		return LIMIT_MISPREDICTION;
	if (factor->cpus > 1 && factor->cpus_used >= ALL_FROM * factor->cpus)
		return LIMIT_ALL_CPUS;
	return factor->cpus_used >= 1 + WAITS_BELOW ? LIMIT_SOME_CPUS : LIMIT_CPU;
}

struct limiting_factor limiting_factor_of(const struct run_figures *figures)
{
	struct limiting_factor factor = {
		.limit = LIMIT_NOT_KNOWN,
		.slots_share = NAN,
		.cpus = figures->cpus,
		.cpus_used = quotient(figures->busy_s, figures->elapsed_s),
		.instructions_per_cycle = quotient(figures->instructions, figures->cycles),
		.system_share = quotient(figures->system_s, figures->user_s + figures->system_s),
		.page_faults_per_s = quotient(figures->page_faults, figures->busy_s),
		.page_fault_share =
			quotient(figures->page_faults * figures->page_fault_s, figures->system_s),
		.misprediction_share =
			quotient(MISPREDICTION_CYCLES * figures->branch_misses, figures->cycles),
		.switches_per_s = quotient(figures->voluntary_switches, figures->elapsed_s),
	};
	if (!isfinite(factor.cpus_used))
		return factor;
	if (figures->elapsed_s < SHORTEST_S)
		factor.limit = LIMIT_TOO_SHORT;
	else if (factor.cpus_used < WAITS_BELOW)
		factor.limit = why_off_cpu(figures, factor.cpus_used);
	else
		factor.limit = on_cpu(figures, &factor);
	if (factor.limit == LIMIT_CROWDED)
		factor.switches_per_s = quotient(figures->involuntary_switches, figures->elapsed_s);
	return factor;
}
