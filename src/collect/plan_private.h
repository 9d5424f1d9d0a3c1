/*
 * plan_private - what the parts of plan share: plan.c decides what is sampled, plan_rate.c how
 * often, by given periods or rates, or by what the budget pays for.
 */
#pragma once

struct collect_options;
struct plan;

/* Chooses policy and period of each sampler, the part of the budget that interpreting samples has,
 * and what the budget is while the recording runs. Measures what a sample costs where nothing else
 * says how often. The samplers must be complete but for their periods. */
void plan_choose_rates(struct plan *plan, const struct collect_options *options);
