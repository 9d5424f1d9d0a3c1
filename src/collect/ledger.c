#include "collect/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "bpf/sample_table.h"
#include "bpf/user_stack.h"
#include "collect/idle_interrupts.h"
#include "collect/own_cost.h"
#include "collect/perf_limits.h"
#include "collect/session.h"
#include "profile/bill.h"

/* Measures what one interrupt of the first clock event costs; those of others cost as much. */
static void measure_cost(struct ledger *ledger, const struct session *session)
{
	const struct counters *counters = &session->counters;
	uint64_t limit = perf_limit_sample_rate();
	for (size_t i = 0; i < counters->sampler_count && !ledger->cost_known; i++)
		if (counters->samplers[i].clock)
			ledger->cost_known =
				idle_cost_measure(&counters->samplers[i].attr, counters->cpus,
						  counters->cpu_count, limit, &ledger->cost) == 0;
}

int ledger_init(struct ledger *ledger, const struct session *session, bool whole_cpus)
{
	size_t count = session->counters.cpu_count;
	*ledger = (struct ledger){ .started = calloc(count + 1, sizeof(*ledger->started)),
				   .before = calloc(count + 1, sizeof(*ledger->before)),
				   .now = calloc(count + 1, sizeof(*ledger->now)),
				   .offline_ns = calloc(count + 1, sizeof(*ledger->offline_ns)),
				   .away_ns = calloc(count + 1, sizeof(*ledger->away_ns)) };
	if (!ledger->offline_ns || !ledger->away_ns || !ledger->started || !ledger->before ||
	    !ledger->now)
		return -ENOMEM;
	if (whole_cpus)
		measure_cost(ledger, session);
	return 0;
}

void ledger_begin(struct ledger *ledger, const struct session *session)
{
	size_t count = session->counters.cpu_count;
	ledger->own_cpu_ns =
		own_cpu_ns(session); /* getting ready is not part of the recorded time */
	cpu_time_read(session->counters.cpus, count, ledger->started);
	memcpy(ledger->before, ledger->started, count * sizeof(*ledger->before));
}

void ledger_release(struct ledger *ledger)
{
	free(ledger->started);
	free(ledger->before);
	free(ledger->now);
	free(ledger->offline_ns);
	free(ledger->away_ns);
	*ledger = (struct ledger){ 0 };
}

/* One item of the bill. A known amount of 0 is written too: an item that is missing is unknown. */
struct line {
	const char *item;
	bool known;
	uint64_t amount;
};

static int write_lines(struct profile *to, uint32_t event, uint64_t cpu, const struct line *lines,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].known)
			continue;
		int ret = profile_add_bill(to, event, cpu, lines[i].item, lines[i].amount);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Samples apart are in no sum of the others: their stacks are another view of the same time. */
static int write_lane_apart(struct profile *to, uint32_t event, uint64_t cpu,
			    const struct sampler *sampler, const struct lane_sums *sums)
{
	const struct line lines[] = {
		{ BILL_APART_RUNS, true, lane_runs(sums) },
		{ BILL_APART_STORED, true, sums->stored },
		{ BILL_APART_FILTERED, true, sums->filtered },
		{ BILL_APART_LOST_RING, true, sums->lost_ring },
		{ BILL_APART_LOST_DAMAGED, true, sums->lost_damaged },
		{ BILL_APART_THROTTLED, true, sums->throttled },
		{ BILL_STACKS_CUT, sampler->stacks, sums->stacks_cut },
	};
	return write_lines(to, event, cpu, lines, COUNT_OF(lines));
}

static int write_lane(const struct session *session, struct profile *to, uint32_t event,
		      uint64_t cpu, const struct sampler *sampler, struct lane *lane)
{
	struct lane_sums *sums = &lane->sums;
	uint64_t lost = lane_lost(sums);
	bool counted = counters_in_table(&session->counters, sampler);
	bool sampled = sampler->sampled;
	const struct line lines[] = {
		{ BILL_RUNS, sampled, lane_runs(sums) },
		{ BILL_STORED, sampled, sums->stored },
		{ BILL_FILTERED, session->follow && sampled, sums->filtered },
		{ BILL_STEPPED, session->bursts.stepper && sampled, sums->stepped },
		{ BILL_LOST_RING, sampled && !counted, sums->lost_ring },
		{ BILL_LOST_TABLE, sampled && counted, sums->lost_table },
		{ BILL_LOST_SKIPPED, sampled && counted && !sampler->clock, sums->lost_skipped },
		{ BILL_LOST_DAMAGED, sampled, sums->lost_damaged },
		{ BILL_LOST_ESTIMATE, !sampler->clock, sums->lost_estimate },
		{ BILL_STACKS_CUT, sampler->stacks, sums->stacks_cut },
		{ BILL_ENABLED_NS, true, sums->enabled_ns },
		{ BILL_RUNNING_NS, true, sums->running_ns },
		{ BILL_THROTTLED, sampled && !sampler->throttles_silently, sums->throttled },
		{ BILL_PERIOD_CHANGES, sampled, sums->period_changes },
		{ BILL_COUNT, !sampler->clock, (uint64_t)llround(sums->count) },
	};
	int ret = sampler->apart ? write_lane_apart(to, event, cpu, sampler, sums)
				 : write_lines(to, event, cpu, lines, COUNT_OF(lines));
	if (ret == 0 && sampled && !sampler->apart)
		ret = bill_add_unknown(to, event, cpu, sums->unknown);
	lane->lost_settled -= lost;
	lane->runs_billed += lane_runs(sums);
	*sums = (struct lane_sums){ 0 };
	return ret;
}

static int write_cpus(struct ledger *ledger, const struct session *session,
		      const struct cpu_time *now, struct profile *to)
{
	for (size_t slot = 0; slot < session->counters.cpu_count; slot++) {
		struct cpu_time *before = &ledger->before[slot];
		uint64_t cpu = optional_of((uint64_t)session->counters.cpus[slot]);
		const struct line offline = { BILL_OFFLINE_NS, ledger->offline_ns[slot] > 0,
					      ledger->offline_ns[slot] };
		if (write_lines(to, 0, cpu, &offline, 1) < 0)
			return -ENOMEM;
		ledger->offline_ns[slot] = 0;
		if (!now[slot].known)
			continue;
		bool known = before->known;
		const struct line lines[] = {
			{ BILL_ONLINE_NS, known, now[slot].wall_ns - before->wall_ns },
			{ BILL_BUSY_NS, known, cpu_time_busy_ns(before, &now[slot]) },
			{ BILL_STEAL_NS, known, cpu_time_steal_ns(before, &now[slot]) },
		};
		int ret = write_lines(to, 0, cpu, lines, COUNT_OF(lines));
		if (ret < 0)
			return ret;
		*before = now[slot];
	}
	return 0;
}

static bool was_idle(const struct ledger *ledger, const struct session *session,
		     const struct cpu_time *now)
{
	for (size_t slot = 0; slot < session->counters.cpu_count; slot++)
		if (now[slot].known && now[slot].idle_ns != ledger->started[slot].idle_ns)
			return true;
	return false;
}

/* Where no CPU was idle enough at the start to measure the cost, perhaps one is at the end. */
static void measure_cost_late(struct ledger *ledger, const struct session *session,
			      const struct cpu_time *now)
{
	ledger->idle_known = ledger->cost_known || !was_idle(ledger, session, now);
	if (ledger->idle_known || !ledger->stopped)
		return;
	uint64_t before_ns = own_cpu_ns(session);
	measure_cost(ledger, session);
	ledger->own_cpu_ns += own_cpu_ns(session) - before_ns; /* not a part of the recorded time */
	ledger->idle_known = ledger->cost_known;
}

/* How much of the busy time without samples is the timer's own interrupts of an idle CPU. */
static int write_idle(const struct ledger *ledger, uint32_t event, uint64_t cpu,
		      const struct idle_time *time, struct profile *to)
{
	struct idle_interrupts idle = idle_interrupts_estimate(time, &ledger->cost);
	bool known = ledger->idle_known;
	const struct line lines[] = {
		{ BILL_IDLE_INTERRUPTS, known, idle.count },
		{ BILL_IDLE_NS, known, idle.ns },
		{ BILL_IDLE_LOW_NS, known, idle.low_ns },
		{ BILL_IDLE_HIGH_NS, known, idle.high_ns },
	};
	return write_lines(to, event, cpu, lines, COUNT_OF(lines));
}

/* Counts the interrupts of the clock since it was last closed, those of its samples apart included.
 */
static void count_interrupts(const struct session *session, size_t sampler, size_t slot,
			     uint64_t now_ns, struct idle_time *time)
{
	const struct counters *counters = &session->counters;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		const struct sampler *other = &counters->samplers[i];
		if (i != sampler && !(other->apart && other->beside == sampler))
			continue;
		struct lane *lane = counters_lane(counters, i, slot);
		double interrupts = period_log_interrupts(&lane->periods, now_ns);
		struct calm_time calm = lane_calm(lane, now_ns);
		time->interrupts += interrupts - lane->interrupts;
		time->calm_interrupts += calm.interrupts - lane->calm_closed.interrupts;
		if (i == sampler)
			time->calm_ns = calm.ns - lane->calm_closed.ns;
		lane->interrupts = interrupts;
		lane->calm_closed = calm;
	}
}

static int write_shortfall(struct ledger *ledger, struct session *session,
			   const struct cpu_time *now, struct tally_translation *translation)
{
	uint64_t now_ns = ledger->stopped ? ledger->stopped_ns : clock_monotonic_ns();
	measure_cost_late(ledger, session, now);
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		const struct sampler *sampler = &session->counters.samplers[i];
		if (!sampler->clock || sampler->apart)
			continue;
		for (size_t slot = 0; slot < session->counters.cpu_count; slot++) {
			struct lane *lane = counters_lane(&session->counters, i, slot);
			double weighed = lane->weighed_ns;
			lane->weighed_ns = 0;
			struct idle_time time = { 0 };
			count_interrupts(session, i, slot, now_ns, &time);
			if (!ledger->started[slot].known || !now[slot].known)
				continue;
			double busy = (double)cpu_time_busy_ns(&ledger->started[slot], &now[slot]);
			time.wall_ns = now[slot].wall_ns - ledger->started[slot].wall_ns;
			time.idle_ns = cpu_time_idle_ns(&ledger->started[slot], &now[slot]);
			time.shortfall_ns = busy > weighed ? (uint64_t)(busy - weighed) : 0;
			uint64_t cpu = optional_of((uint64_t)session->counters.cpus[slot]);
			uint32_t event;
			int ret = tally_translate(translation, PROFILE_EVENT, sampler->id, &event);
			if (ret == 0)
				ret = profile_add_bill(translation->to, event, cpu,
						       busy > weighed ? BILL_SHORTFALL_NS
								      : BILL_SURPLUS_NS,
						       (uint64_t)fabs(busy - weighed));
			if (ret == 0)
				ret = write_idle(ledger, event, cpu, &time, translation->to);
			if (ret < 0)
				return ret;
		}
	}
	memcpy(ledger->started, now, session->counters.cpu_count * sizeof(*now));
	return 0;
}

static uint64_t sideband_lost(const struct session *session)
{
	const struct counters *counters = &session->counters;
	if (!counters->reads_lost)
		return session->lost_sideband;
	uint64_t sum = counters->sideband_lost;
	for (size_t i = 0; i < counters->sideband_count; i++)
		sum += counters_lost_of(counters->sideband_fds[i]);
	return sum;
}

_Static_assert(BILL_TIMED_ONE_IN == PROGRAM_TIMED_ONE_IN, "the bill says how many are timed");

/* What programs in the kernel took, as far as they timed it. */
static int write_timed(struct ledger *ledger, const struct session *session, struct profile *to)
{
	bool table = session->counted.table != NULL, walks = session->walker != NULL;
	struct sample_table_times now = { 0 };
	struct program_time walked = { 0 };
	if (table)
		now = sample_table_times(session->counted.table);
	if (walks)
		walked = user_stack_time(session->walker);
	const struct line lines[] = {
		{ BILL_TIMED_HITS, table, now.hits.samples - ledger->timed.hits.samples },
		{ BILL_TIMED_HIT_NS, table, now.hits.ns - ledger->timed.hits.ns },
		{ BILL_TIMED_MISSES, table, now.misses.samples - ledger->timed.misses.samples },
		{ BILL_TIMED_MISS_NS, table, now.misses.ns - ledger->timed.misses.ns },
		{ BILL_TIMED_STACKS, walks, walked.samples - ledger->timed_walks.samples },
		{ BILL_TIMED_STACK_NS, walks, walked.ns - ledger->timed_walks.ns },
	};
	ledger->timed = now;
	ledger->timed_walks = walked;
	return write_lines(to, 0, OPTIONAL_ABSENT, lines, COUNT_OF(lines));
}

static int write_own(struct ledger *ledger, const struct session *session, bool epoch_ends,
		     struct profile *to)
{
	const struct counters *counters = &session->counters;
	uint64_t edge_ns = session->edges.cpu_ns;
	uint64_t cpu_ns = own_cpu_ns(session);
	uint64_t bytes = 0;
	uint64_t memory = session->files.keeping.copied_most_bytes;
	for (size_t i = 0; i < 2 * counters->cpu_count; i++) {
		bytes += ring_counted(&counters->rings[i].bytes);
		memory += counters->rings[i].data_bytes;
	}
	if (session->counted.table)
		memory += sample_table_bytes(session->counted.table);
	memory += frame_pool_bytes(&session->frames.pool);
	if (session->walker)
		memory += user_stack_bytes(session->walker);
	bool by_rules = session->stacks == COLLECT_STACKS_RULES;
	uint64_t lost = sideband_lost(session);
	uint64_t damaged = session->damaged; /* records that belong to no event */
	for (size_t i = 0; i < 2 * counters->cpu_count; i++)
		damaged += ring_counted(&counters->rings[i].damaged);
	/* What an interrupt takes was measured for the budget, or else on an idle CPU. */
	double sample_ns = session->overhead.sample_ns > 0 ? session->overhead.sample_ns
			   : ledger->cost_known		   ? ledger->cost.ns
							   : 0;
	uint64_t now_ns = ledger->stopped ? ledger->stopped_ns : clock_monotonic_ns();
	double interrupts = own_interrupts(session, now_ns);
	double more =
		interrupts - ledger->interrupts; /* fewer when a CPU turns out to have been away */
	uint64_t interrupt_ns = more > 0 ? (uint64_t)llround(more * sample_ns) : 0;
	uint64_t slowed_ns = (uint64_t)llround(session->overhead.slowed_ns);
	const struct line lines[] = {
		{ BILL_SELF_CPU_NS, true, cpu_ns - ledger->own_cpu_ns },
		{ BILL_INTERRUPT_NS, sample_ns > 0, interrupt_ns },
		{ BILL_SLOWED_NS, session->overhead.budget_ratio > 0,
		  slowed_ns - ledger->slowed_ns },
		{ BILL_INTERPRET_NS, session->edges.sums != NULL, edge_ns - ledger->edge_ns },
		{ BILL_SELF_BYTES, true, memory - ledger->self_bytes },
		{ BILL_LOST_DAMAGED, true, damaged - ledger->damaged },
		{ BILL_RING_BYTES, true, bytes - ledger->ring_bytes },
		{ BILL_TABLE_ENTRIES, session->counted.table != NULL,
		  session->counted.entries - ledger->table_entries },
		{ BILL_FRAMES_GUESSED, by_rules, session->frames_guessed - ledger->frames_guessed },
		{ BILL_STACKS_COPIED, by_rules, session->stacks_copied - ledger->stacks_copied },
		{ BILL_RULES_REFUSED, by_rules, session->frames.refused - ledger->rules_refused },
		{ BILL_LOST_SIDEBAND, true,
		  lost > ledger->lost_sideband ? lost - ledger->lost_sideband : 0 },
	};
	ledger->own_cpu_ns = cpu_ns;
	/* Until it is known what one takes, they are kept for the bill that knows it. */
	if (sample_ns > 0 || epoch_ends)
		ledger->interrupts = interrupts;
	ledger->slowed_ns = slowed_ns;
	ledger->edge_ns = edge_ns;
	ledger->ring_bytes = bytes;
	ledger->table_entries = session->counted.entries;
	ledger->frames_guessed = session->frames_guessed;
	ledger->stacks_copied = session->stacks_copied;
	ledger->rules_refused = session->frames.refused;
	ledger->lost_sideband = lost;
	ledger->damaged = damaged;
	ledger->self_bytes = memory;
	int ret = write_lines(to, 0, OPTIONAL_ABSENT, lines, COUNT_OF(lines));
	return ret < 0 ? ret : write_timed(ledger, session, to);
}

void ledger_leave_out(struct ledger *ledger, size_t slot, uint64_t gap_ns)
{
	ledger->before[slot].wall_ns += gap_ns;
	ledger->started[slot].wall_ns += gap_ns;
	ledger->offline_ns[slot] += gap_ns;
	ledger->away_ns[slot] += gap_ns;
}

void ledger_return(struct ledger *ledger, size_t slot, const struct cpu_time *now)
{
	struct cpu_time *before = &ledger->before[slot];
	struct cpu_time *started = &ledger->started[slot];
	uint64_t away_ns = ledger->away_ns[slot];
	uint64_t offline_ns;
	ledger->away_ns[slot] = 0;
	bool known = before->known && now->known &&
		     cpu_time_idle_offline(
			     cpu_time_idle_ns(before, now),
			     now->wall_ns > before->wall_ns ? now->wall_ns - before->wall_ns : 0,
			     away_ns, &offline_ns);
	if (known) {
		before->idle_ns += offline_ns;
		started->idle_ns += offline_ns;
	} else {
		before->known = started->known = false;
	}
}

void ledger_stop(struct ledger *ledger, const struct session *session)
{
	cpu_time_read(session->counters.cpus, session->counters.cpu_count, ledger->now);
	ledger->stopped_ns = clock_monotonic_ns();
	ledger->stopped = true;
}

/* How sure the counts of events are that took turns, at the end of an epoch: a single bill has too
 * few turns to tell. */
static int write_turns(struct session *session, struct tally_translation *translation)
{
	struct counters *counters = &session->counters;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		const struct sampler *sampler = &counters->samplers[i];
		uint32_t event;
		if (!sampler->turn_sets || sampler->apart)
			continue;
		int ret = tally_translate(translation, PROFILE_EVENT, sampler->id, &event);
		for (size_t slot = 0; slot < counters->cpu_count && ret == 0; slot++) {
			double variance;
			if (!turn_time_take_variance(&counters_lane(counters, i, slot)->turn,
						     &variance))
				continue;
			double millions = ceil(variance / 1e6);
			ret = profile_add_bill(
				translation->to, event, optional_of((uint64_t)counters->cpus[slot]),
				BILL_COUNT_VARIANCE,
				millions < 0x1p63 ? (uint64_t)millions : UINT64_MAX / 2);
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

int ledger_write(struct ledger *ledger, struct session *session, bool close_clocks, bool whole_cpus,
		 struct tally_translation *translation)
{
	const struct counters *counters = &session->counters;
	const struct cpu_time *now = ledger->now;
	if (!ledger->stopped)
		cpu_time_read(counters->cpus, counters->cpu_count, ledger->now);
	int ret = 0;
	for (size_t i = 0; i < counters->sampler_count && ret == 0; i++) {
		uint32_t event;
		ret = tally_translate(translation, PROFILE_EVENT, counters->samplers[i].id, &event);
		for (size_t slot = 0; slot < counters->cpu_count && ret == 0; slot++)
			ret = write_lane(session, translation->to, event,
					 optional_of((uint64_t)counters->cpus[slot]),
					 &counters->samplers[i], counters_lane(counters, i, slot));
		if (ret == 0 && counters->samplers[i].edges)
			ret = edges_write_bill(&session->edges, i, event, translation->to);
	}
	if (ret == 0 && close_clocks)
		ret = write_turns(session, translation);
	if (ret == 0)
		ret = write_cpus(ledger, session, now, translation->to);
	if (ret == 0 && close_clocks && whole_cpus)
		ret = write_shortfall(ledger, session, now, translation);
	return ret < 0 ? ret : write_own(ledger, session, close_clocks, translation->to);
}
