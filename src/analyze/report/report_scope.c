#include "analyze/report/report_scope.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/bill.h"

static int compare_spans(const void *left, const void *right)
{
	return span_compare(*(const struct span *)left, *(const struct span *)right);
}

static bool same_machine(const struct profile_source *a, const struct profile_source *b)
{
	return span_equal(a->host, b->host) && span_equal(a->kernel, b->kernel) &&
	       span_equal(a->machine, b->machine) && span_equal(a->cpu_name, b->cpu_name) &&
	       a->cpus == b->cpus;
}

static void add_time(struct scope *scope, const struct profile_source *source)
{
	uint64_t end = sum_u64(source->start_ns, source->duration_ns);
	if (end > scope->end_ns)
		scope->end_ns = end;
	if (!scope->start_ns || source->start_ns < scope->start_ns)
		scope->start_ns = source->start_ns;
}

static int read_sources(struct scope *scope, const struct profile *profile)
{
	size_t count = profile_table(profile, PROFILE_SOURCE)->count;
	scope->hosts = calloc(count + 1, sizeof(*scope->hosts));
	if (!scope->hosts)
		return -ENOMEM;
	scope->one_machine = scope->one_command = true;
	for (size_t row = 0; row < count; row++) {
		struct profile_source source = profile_source(profile, row);
		if (!scope->has_source || source.start_ns < scope->first.start_ns)
			scope->first = source;
		scope->has_source = true;
		add_time(scope, &source);
		sum_add(&scope->duration_ns, source.duration_ns);
		if (source.cpus > scope->cpus)
			scope->cpus = source.cpus;
		if (source.host.size) /* what was imported has none */
			scope->hosts[scope->host_count++] = source.host;
	}
	if (sum_passed(scope->duration_ns)) {
		scope->duration_passed = scope->sums_passed = true;
		scope->duration_ns = 0;
	}
	/* where one source's is not known, that of all is not */
	if (scope->has_source && !scope->first.start_ns)
		scope->start_ns = scope->end_ns = 0;
	for (size_t row = 0; row < count; row++) {
		struct profile_source source = profile_source(profile, row);
		scope->one_machine &= same_machine(&scope->first, &source);
		scope->one_command &= span_equal(scope->first.command, source.command);
	}
	scope->epochs = count;
	qsort(scope->hosts, scope->host_count, sizeof(*scope->hosts), compare_spans);
	size_t kept = 0;
	for (size_t i = 0; i < scope->host_count; i++)
		if (!kept || compare_spans(&scope->hosts[kept - 1], &scope->hosts[i]))
			scope->hosts[kept++] = scope->hosts[i];
	scope->host_count = kept;
	return 0;
}

static void add_number(struct scope_number *number, uint64_t amount)
{
	number->known = true;
	sum_add(&number->value, amount);
}

static void add_cause(struct scope_cause *causes, size_t *count, struct span name, uint64_t amount)
{
	size_t i = 0;
	while (i < *count && !span_equal(causes[i].name, name))
		i++;
	if (i == SCOPE_CAUSES) {
		i--;
		causes[i].name = span_of_text("other");
	}
	if (i == *count)
		causes[(*count)++] = (struct scope_cause){ name, 0 };
	sum_add(&causes[i].samples, amount);
}

static bool begins_with(struct span text, const char *prefix, struct span *rest)
{
	size_t size = strlen(prefix);
	if (!span_starts_with(text, prefix))
		return false;
	*rest = (struct span){ (const char *)text.data + size, text.size - size };
	return true;
}

#define LOST_PREFIX "lost_"

struct bill_item {
	const char *name;
	size_t at; /* of its number, in struct scope_bill or struct scope */
};

static const struct bill_item event_items[] = {
	{ BILL_RUNS, offsetof(struct scope_bill, runs) },
	{ BILL_STORED, offsetof(struct scope_bill, stored) },
	{ BILL_FILTERED, offsetof(struct scope_bill, filtered) },
	{ BILL_STEPPED, offsetof(struct scope_bill, stepped) },
	{ BILL_READS, offsetof(struct scope_bill, reads) },
	{ BILL_LOST_ESTIMATE, offsetof(struct scope_bill, lost_events) },
	{ BILL_STACKS_CUT, offsetof(struct scope_bill, stacks_cut) },
	{ BILL_STACKS_FOLLOWED, offsetof(struct scope_bill, stacks_followed) },
	{ BILL_ENABLED_NS, offsetof(struct scope_bill, enabled_ns) },
	{ BILL_RUNNING_NS, offsetof(struct scope_bill, running_ns) },
	{ BILL_THROTTLED, offsetof(struct scope_bill, throttled) },
	{ BILL_PERIOD_CHANGES, offsetof(struct scope_bill, period_changes) },
	{ BILL_COUNT, offsetof(struct scope_bill, count) },
	{ BILL_COUNT_VARIANCE, offsetof(struct scope_bill, count_variance) },
	{ BILL_SHORTFALL_NS, offsetof(struct scope_bill, shortfall_ns) },
	{ BILL_SURPLUS_NS, offsetof(struct scope_bill, surplus_ns) },
	{ BILL_IDLE_INTERRUPTS, offsetof(struct scope_bill, idle_interrupts) },
	{ BILL_IDLE_NS, offsetof(struct scope_bill, idle_ns) },
	{ BILL_IDLE_LOW_NS, offsetof(struct scope_bill, idle_low_ns) },
	{ BILL_IDLE_HIGH_NS, offsetof(struct scope_bill, idle_high_ns) },
	{ BILL_INTERPRETED, offsetof(struct scope_bill, interpreted.interpreted) },
	{ BILL_INTERPRET_THINNED, offsetof(struct scope_bill, interpreted.thinned) },
	{ BILL_INTERPRET_UNFIT, offsetof(struct scope_bill, interpreted.unfit) },
	{ BILL_INTERPRET_LOST, offsetof(struct scope_bill, interpreted.lost) },
	{ BILL_INTERPRET_SILENT, offsetof(struct scope_bill, interpreted.silent) },
	{ BILL_INTERPRET_OUTCOMES, offsetof(struct scope_bill, interpreted.outcomes) },
	{ BILL_APART_RUNS, offsetof(struct scope_bill, apart.runs) },
	{ BILL_APART_STORED, offsetof(struct scope_bill, apart.stored) },
	{ BILL_APART_FILTERED, offsetof(struct scope_bill, apart.filtered) },
	{ BILL_APART_LOST_RING, offsetof(struct scope_bill, apart.lost_ring) },
	{ BILL_APART_LOST_DAMAGED, offsetof(struct scope_bill, apart.lost_damaged) },
	{ BILL_APART_THROTTLED, offsetof(struct scope_bill, apart.throttled) },
};

static const struct bill_item machine_items[] = {
	{ BILL_BUSY_NS, offsetof(struct scope, busy_ns) },
	{ BILL_ONLINE_NS, offsetof(struct scope, online_ns) },
	{ BILL_STEAL_NS, offsetof(struct scope, steal_ns) },
	{ BILL_OFFLINE_NS, offsetof(struct scope, offline_ns) },
	{ BILL_COMMAND_ELAPSED_NS, offsetof(struct scope, command_elapsed_ns) },
	{ BILL_COMMAND_USER_NS, offsetof(struct scope, command_user_ns) },
	{ BILL_COMMAND_SYSTEM_NS, offsetof(struct scope, command_system_ns) },
	{ BILL_SAMPLED_USER_NS, offsetof(struct scope, sampled_user_ns) },
	{ BILL_SAMPLED_SYSTEM_NS, offsetof(struct scope, sampled_system_ns) },
	{ BILL_SELF_CPU_NS, offsetof(struct scope, self_cpu_ns) },
	{ BILL_INTERPRET_NS, offsetof(struct scope, interpret_ns) },
	{ BILL_INTERRUPT_NS, offsetof(struct scope, interrupt_ns) },
	{ BILL_TIMED_HITS, offsetof(struct scope, timed.hits) },
	{ BILL_TIMED_HIT_NS, offsetof(struct scope, timed.hit_ns) },
	{ BILL_TIMED_MISSES, offsetof(struct scope, timed.misses) },
	{ BILL_TIMED_MISS_NS, offsetof(struct scope, timed.miss_ns) },
	{ BILL_TIMED_STACKS, offsetof(struct scope, timed.stacks) },
	{ BILL_TIMED_STACK_NS, offsetof(struct scope, timed.stack_ns) },
	{ BILL_SLOWED_NS, offsetof(struct scope, slowed_ns) },
	{ BILL_BURSTS, offsetof(struct scope, bursts.bursts) },
	{ BILL_STEPS, offsetof(struct scope, bursts.steps) },
	{ BILL_BURST_NS, offsetof(struct scope, bursts.ns) },
	{ BILL_SELF_BYTES, offsetof(struct scope, self_bytes) },
	{ BILL_RING_BYTES, offsetof(struct scope, ring_bytes) },
	{ BILL_TABLE_ENTRIES, offsetof(struct scope, table_entries) },
	{ BILL_CUT_OFF, offsetof(struct scope, cut_off) },
	{ BILL_UNSAMPLED_NS, offsetof(struct scope, unsampled_ns) },
	{ BILL_MAPS_CUT, offsetof(struct scope, maps_cut) },
	{ BILL_TRACE_CUT, offsetof(struct scope, trace_cut) },
	{ BILL_TRACE_LEFT_OUT, offsetof(struct scope, trace_left_out) },
	{ BILL_RAW_LEFT_OUT, offsetof(struct scope, raw_left_out) },
	{ BILL_LOST_SIDEBAND, offsetof(struct scope, lost_sideband) },
};

double scope_count_half_width(const struct scope_bill *bill)
{
	return bill->count_variance.known ? 1.96 * 1000 * sqrt((double)bill->count_variance.value)
					  : (double)NAN;
}

/* Adds samples of a kind and what they took, where both are known. */
static void add_kind(double *ns, double *samples, struct scope_number kind_ns,
		     struct scope_number kind_samples)
{
	if (!kind_ns.known || !kind_samples.known)
		return;
	*ns += (double)kind_ns.value;
	*samples += (double)kind_samples.value;
}

double scope_timed_sample_ns(const struct scope_timed *timed)
{
	double ns = 0, samples = 0;
	add_kind(&ns, &samples, timed->hit_ns, timed->hits);
	add_kind(&ns, &samples, timed->miss_ns, timed->misses);
	return samples > 0 ? ns / samples : (double)NAN;
}

double scope_timed_stack_ns(const struct scope_timed *timed)
{
	double ns = 0, samples = 0;
	add_kind(&ns, &samples, timed->stack_ns, timed->stacks);
	return samples > 0 ? ns / samples : (double)NAN;
}

double scope_timed_all_ns(const struct scope_timed *timed)
{
	double ns = 0, samples = 0;
	add_kind(&ns, &samples, timed->hit_ns, timed->hits);
	add_kind(&ns, &samples, timed->miss_ns, timed->misses);
	add_kind(&ns, &samples, timed->stack_ns, timed->stacks);
	return samples > 0 ? BILL_TIMED_ONE_IN * ns : (double)NAN;
}

static struct scope_number *number_at(void *of, size_t at)
{
	return (struct scope_number *)((char *)of + at);
}

/* Adds to the number of that name; false without one. */
static bool add_item(void *to, const struct bill_item *items, size_t count, struct span item,
		     uint64_t amount)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(item, span_of_text(items[i].name))) {
			add_number(number_at(to, items[i].at), amount);
			return true;
		}
	return false;
}

/* What passed 64 bits is not known. */
static bool forget_passed(void *of, const struct bill_item *items, size_t count)
{
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		struct scope_number *number = number_at(of, items[i].at);
		if (!sum_passed(number->value))
			continue;
		*number = (struct scope_number){ 0 };
		any = true;
	}
	return any;
}

static void add_event_item(struct scope_bill *bill, struct span item, uint64_t amount)
{
	if (add_item(bill, event_items, COUNT_OF(event_items), item, amount))
		return;
	struct span cause;
	if (begins_with(item, LOST_PREFIX, &cause))
		add_cause(bill->lost, &bill->lost_count, cause, amount);
	else if (begins_with(item, BILL_UNKNOWN_PREFIX, &cause))
		add_cause(bill->unknown, &bill->unknown_count, cause, amount);
	else if (begins_with(item, BILL_INTERPRET_END_PREFIX, &cause))
		add_cause(bill->interpreted.ends, &bill->interpreted.end_count, cause, amount);
}

static void add_machine_item(struct scope *scope, struct span item, uint64_t amount)
{
	if (add_item(scope, machine_items, COUNT_OF(machine_items), item, amount))
		return;
	struct span cause;
	if (begins_with(item, BILL_LEFT_OUT_FILE_PREFIX, &cause))
		add_cause(scope->left_out_files, &scope->left_out_file_count, cause, amount);
	else if (begins_with(item, BILL_LEFT_OUT_PREFIX, &cause))
		add_cause(scope->left_out, &scope->left_out_count, cause, amount);
	if (begins_with(item, BILL_BURST_END_PREFIX, &cause))
		add_cause(scope->bursts.ends, &scope->bursts.end_count, cause, amount);
}

int scope_compare_causes(const void *left, const void *right)
{
	const struct scope_cause *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return span_compare(a->name, b->name);
}

static int read_bill(struct scope *scope, const struct profile *profile,
		     const struct event_columns *columns)
{
	scope->bills = calloc(columns->count + 1, sizeof(*scope->bills));
	if (!scope->bills)
		return -ENOMEM;
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		struct span item = profile_bytes(profile, keys[BILL_ITEM]);
		uint64_t amount = table_values(bill, row)[0];
		if (keys[BILL_EVENT] == 0) {
			add_machine_item(scope, item, amount);
			continue;
		}
		uint32_t column = columns->of_event[keys[BILL_EVENT]];
		if (column != EVENT_COLUMN_NONE)
			add_event_item(&scope->bills[column], item, amount);
	}
	scope->sums_passed |= forget_passed(scope, machine_items, COUNT_OF(machine_items));
	for (size_t i = 0; i < columns->count; i++) {
		scope->sums_passed |=
			forget_passed(&scope->bills[i], event_items, COUNT_OF(event_items));
		scope_sort_causes(&scope->bills[i]);
	}
	qsort(scope->bursts.ends, scope->bursts.end_count, sizeof(scope->bursts.ends[0]),
	      scope_compare_causes);
	return 0;
}

void scope_sort_causes(struct scope_bill *bill)
{
	qsort(bill->lost, bill->lost_count, sizeof(bill->lost[0]), scope_compare_causes);
	qsort(bill->interpreted.ends, bill->interpreted.end_count,
	      sizeof(bill->interpreted.ends[0]), scope_compare_causes);
	qsort(bill->unknown, bill->unknown_count, sizeof(bill->unknown[0]), scope_compare_causes);
}

void scope_add_unknown(struct scope_bill *bill, struct span cause, uint64_t samples)
{
	add_cause(bill->unknown, &bill->unknown_count, cause, samples);
}

int scope_init(struct scope *scope, const struct profile *profile,
	       const struct event_columns *columns, struct error *err)
{
	*scope = (struct scope){ 0 };
	int ret = read_sources(scope, profile);
	if (ret == 0)
		ret = read_bill(scope, profile, columns);
	if (ret == 0)
		return 0;
	scope_release(scope);
	return error_set(err, ret, "out of memory reading the bill");
}

void scope_release(struct scope *scope)
{
	free(scope->hosts);
	free(scope->bills);
	*scope = (struct scope){ 0 };
}

static struct scope_number known_sum(struct scope_number sum)
{
	return sum_passed(sum.value) ? (struct scope_number){ 0 } : sum;
}

static struct scope_number sum(const struct scope_cause *causes, size_t count)
{
	struct scope_number number = { 0 };
	for (size_t i = 0; i < count; i++)
		add_number(&number, causes[i].samples);
	return known_sum(number);
}

struct scope_number scope_lost(const struct scope_bill *bill)
{
	if (bill->lost_count || !bill->runs.known || !bill->stored.known)
		return sum(bill->lost, bill->lost_count);
	/* runs = stored + lost + filtered + stepped */
	uint64_t seen =
		sum_u64(bill->stored.value, sum_u64(bill->filtered.value, bill->stepped.value));
	return (struct scope_number){ true, bill->runs.value > seen ? bill->runs.value - seen : 0 };
}

struct scope_number scope_unknown(const struct scope_bill *bill)
{
	if (!bill->unknown_count) /* every unknown sample is in a cell */
		return (struct scope_number){ bill->stored.known, 0 };
	return sum(bill->unknown, bill->unknown_count);
}

struct scope_number scope_idle_ns(const struct scope *scope, size_t columns)
{
	struct scope_number sum = { 0 };
	for (size_t i = 0; i < columns; i++) {
		struct scope_number one = scope->bills[i].idle_ns;
		if (one.known)
			add_number(&sum, one.value);
	}
	return known_sum(sum);
}

/* Busy time comes in the kernel's ticks, at most 10 ms each, at either end of each recording. */
#define TICKS_NS (2 * 10e6)

/* Busy time, cut to `most_ns` where no more is left than ticks explain; negative where it is. */
static double busy_within(const struct scope *scope, double most_ns)
{
	double busy = (double)scope->busy_ns.value;
	double cpus = scope->cpus ? (double)scope->cpus : 1;
	double recordings = scope->epochs ? (double)scope->epochs : 1;
	if (busy > most_ns * 1.05 + TICKS_NS * cpus * recordings)
		return -1;
	return fmin(busy, most_ns);
}

double scope_mean_busy_cpus(const struct scope *scope)
{
	if (!scope->busy_ns.known || !scope->duration_ns)
		return -1;
	if (!scope->cpus)
		return (double)scope->busy_ns.value / (double)scope->duration_ns;
	double busy = busy_within(scope, (double)scope->cpus * (double)scope->duration_ns);
	return busy < 0 ? -1 : busy / (double)scope->duration_ns;
}

double scope_busy_ratio(const struct scope *scope)
{
	if (!scope->busy_ns.known || !scope->online_ns.known || !scope->online_ns.value)
		return -1;
	double busy = busy_within(scope, (double)scope->online_ns.value);
	return busy < 0 ? -1 : busy / (double)scope->online_ns.value;
}
