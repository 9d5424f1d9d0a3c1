#include "collect/plan_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "advice/cost_memory.h"
#include "advice/sample_cost.h"
#include "base/clock.h"
#include "collect/perf_limits.h"
#include "collect/plan.h"
#include "machine/event.h"

#define LOWEST_RATE_HZ	99   /* below it a minute has too few samples to say anything */
#define HIGHEST_RATE_HZ 4999 /* above it a minute has more than enough */
#define DEFAULT_RATE_HZ 499  /* where the cost of a sample can't be measured: 0.7 % at 13 us */
#define DEFAULT_PERCENT 1.0
#define EDGE_SHARE	0.25 /* of the budget: what interpreting samples may take of it */
/* So many samples are counted in the kernel for one that comes apart, with its stack. */
#define APART_PERIODS 4
/* Guesses of what a busy CPU counts in a second; the first drains correct them. */
#define GUESS_CYCLES_HZ	  2.5e9
#define GUESS_EVENTS_HZ	  1e7
#define GUESS_SOFTWARE_HZ 1e4 /* faults, switches: rare enough that a short command has some */

static double budget_percent(const struct collect_options *options)
{
	return options->overhead_percent > 0 ? options->overhead_percent : DEFAULT_PERCENT;
}

/* The first sampler whose samples bring most, which is the one to measure. */
static size_t fullest(const struct plan *plan)
{
	for (size_t i = 0; i < plan->sampler_count; i++)
		if (plan->samplers[i].apart)
			return i;
	return plan->samplers[0].sampled_by;
}

/* Whether a sampler's period is chosen here. */
static bool needs_rate(const struct sampler *sampler)
{
	return sampler->sampled && !sampler->event->attr.sample_period;
}

/* The samplers that share the budget; those of samples apart share it with what they are beside. */
static size_t budgeted_samplers(const struct plan *plan)
{
	size_t count = 0;
	for (size_t i = 0; i < plan->sampler_count; i++)
		count += needs_rate(&plan->samplers[i]) && !plan->samplers[i].apart;
	return count;
}

/* What a sample of the sampler costs, as remembered from a recording before or measured now;
 * *age_ns: since when. */
static int find_cost(const struct plan *plan, const char *folder, const struct sampler *sampler,
		     struct sample_cost *cost, uint64_t *age_ns)
{
	enum {
		ALONE,
		WITH_MEMORY,
		WALKED
	} added = sampler->memory   ? WITH_MEMORY
		  : sampler->walked ? WALKED
				    : ALONE;
	const struct sample_extra *const extras[] = { NULL, plan->counters.memory,
						      plan->counters.walker };
	struct event event = *sampler->event;
	counters_ask_for_user(&plan->counters, sampler, &event.attr);
	uint64_t key = cost_memory_key(&event, added);
	*age_ns = 0;
	if (cost_memory_find(folder, key, clock_boot_ns(), cost, age_ns))
		return 0;
	int ret = sample_cost_measure(&event, (int64_t)perf_limit_sample_rate(), extras[added],
				      cost, NULL);
	/* What cannot be written is measured again. */
	if (ret == 0)
		cost_memory_put(folder, key, clock_boot_ns(), cost);
	return ret;
}

/* The rate of each event, in Hz, that the budget pays for, of samples apart and others together, by
 * what one sample costs on this machine. */
static double budget_rate(struct plan *plan, const struct collect_options *options)
{
	double percent = budget_percent(options);
	double share = plan->edges ? 1 - EDGE_SHARE : 1;
	size_t first = fullest(plan);
	bool apart = plan->samplers[first].apart;
	struct sample_cost cost;
	size_t events = budgeted_samplers(plan);
	char sentence[256], each[48] = "", before[48] = "";
	uint64_t age_ns;
	if (find_cost(plan, options->cost_folder, &plan->samplers[first], &cost, &age_ns) < 0) {
		snprintf(sentence, sizeof(sentence),
			 "the cost of a sample could not be measured: %d samples a second and CPU",
			 DEFAULT_RATE_HZ);
		collect_note(options, COLLECT_NOTE, sentence);
		return DEFAULT_RATE_HZ;
	}
	uint64_t rate = sample_cost_rate(&cost, share * percent / 100 / (double)events);
	plan->overhead.sample_ns = cost.ns;
	const char *bound = rate < LOWEST_RATE_HZ ? ", over the budget: fewer would say too little"
			    : rate > HIGHEST_RATE_HZ ? ", below the budget: more would say no more"
						     : "";
	rate = rate < LOWEST_RATE_HZ	? LOWEST_RATE_HZ
	       : rate > HIGHEST_RATE_HZ ? HIGHEST_RATE_HZ
					: rate;
	if (events > 1)
		snprintf(each, sizeof(each), " of each of %zu events", events);
	if (age_ns)
		snprintf(before, sizeof(before), ", measured %u min ago",
			 (unsigned)(age_ns / 60000000000));
	snprintf(sentence, sizeof(sentence),
		 "a sample costs %.1f us here%s: %g %% of a CPU buys %" PRIu64 " a second%s%s%s%s",
		 cost.ns / 1000, before, percent, rate, each,
		 plan->edges ? ", interpreting them included" : "",
		 !apart		     ? ""
		 : options->apart_hz ? ", those with stacks or registers not included"
		 : options->stacks   ? ", a fifth of them with stacks"
				     : ", a fifth of them to be interpreted",
		 bound);
	collect_note(options, COLLECT_NOTE, sentence);
	/* An inherited period is that of many tasks, and stays. */
	if (!plan->inherit && !options->fixed_period)
		plan->overhead.budget_ratio = percent / 100;
	plan->overhead.most_scale = (double)rate / LOWEST_RATE_HZ;
	return apart && !options->apart_hz ? (double)rate * APART_PERIODS / (APART_PERIODS + 1)
					   : (double)rate;
}

static double guess_rate(const struct sampler *sampler)
{
	if (sampler->clock)
		return 1e9;
	const char *unit = sampler->event->unit ? sampler->event->unit : "";
	bool fast = strcmp(unit, "cycles") == 0 || strcmp(unit, "instructions") == 0;
	if (sampler->attr.type == PERF_TYPE_SOFTWARE || sampler->attr.type == PERF_TYPE_TRACEPOINT)
		return GUESS_SOFTWARE_HZ;
	return fast ? GUESS_CYCLES_HZ : GUESS_EVENTS_HZ;
}

static void choose_period(struct sampler *sampler, const struct collect_options *options,
			  bool inherit, double rate_hz)
{
	const struct perf_event_attr *asked = &sampler->event->attr;
	uint64_t period = asked->freq ? 0 : asked->sample_period;
	if (!period && !asked->freq)
		period = options->period;
	if (period) {
		sampler->policy = PERIOD_FIXED;
		sampler->mean_period = period;
		return;
	}
	double hz = asked->freq ? (double)asked->sample_freq : rate_hz;
	bool random = !options->fixed_period && !inherit;
	sampler->mean_period = period_mean_for(guess_rate(sampler), hz, random);
	if (!random && (sampler->clock || options->fixed_period)) {
		sampler->policy = PERIOD_FIXED;
		sampler->mean_period = period_prime(sampler->mean_period);
	} else if (sampler->clock) {
		sampler->policy = PERIOD_RANDOM;
	} else {
		sampler->policy = PERIOD_FREQUENCY;
		sampler->frequency_hz = hz;
	}
}

/* Of samples apart: at the rate that was asked for, else so many times as rarely as the others. */
static void choose_apart_period(struct sampler *sampler, const struct sampler *beside,
				const struct collect_options *options)
{
	uint64_t hz = options->apart_hz;
	sampler->policy = beside->policy;
	sampler->frequency_hz = hz ? (double)hz : beside->frequency_hz / APART_PERIODS;
	sampler->mean_period =
		hz ? period_mean_for(guess_rate(beside), (double)hz, beside->policy != PERIOD_FIXED)
		   : beside->mean_period * APART_PERIODS;
	/* No multiple: else all of them would come together with one of the others. */
	if (sampler->policy == PERIOD_FIXED)
		sampler->mean_period = period_prime(sampler->mean_period);
}

void plan_choose_rates(struct plan *plan, const struct collect_options *options)
{
	bool budgeted = !options->period && !options->frequency_hz && budgeted_samplers(plan);
	double rate_hz = options->frequency_hz ? (double)options->frequency_hz
			 : budgeted	       ? budget_rate(plan, options)
					       : 0;
	plan->edge_ratio = budget_percent(options) / 100 * (budgeted ? EDGE_SHARE : 1);
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct sampler *sampler = &plan->samplers[i];
		if (sampler->apart)
			choose_apart_period(sampler, &plan->samplers[sampler->beside], options);
		else if (sampler->sampled)
			choose_period(sampler, options, plan->inherit, rate_hz);
	}
}
