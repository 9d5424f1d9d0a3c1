#include "analyze/report/report_scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
	uint64_t end;
	if (__builtin_add_overflow(source->start_ns, source->duration_ns, &end))
		end = UINT64_MAX;
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
		if (__builtin_add_overflow(scope->duration_ns, source.duration_ns,
					   &scope->duration_ns))
			scope->duration_ns = UINT64_MAX;
		if (source.cpus > scope->cpus)
			scope->cpus = source.cpus;
		if (source.host.size) /* what was imported has none */
			scope->hosts[scope->host_count++] = source.host;
	}
	/* of one it is not known: of none of all */
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
	if (__builtin_add_overflow(number->value, amount, &number->value))
		number->value = UINT64_MAX;
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
	struct scope_number sum = { true, causes[i].samples };
	add_number(&sum, amount);
	causes[i].samples = sum.value;
}

static bool begins_with(struct span text, const char *prefix, struct span *rest)
{
	size_t size = strlen(prefix);
	if (text.size < size || memcmp(text.data, prefix, size) != 0)
		return false;
	*rest = (struct span){ (const char *)text.data + size, text.size - size };
	return true;
}

#define LOST_PREFIX "lost_"

static void add_event_item(struct scope_bill *bill, struct span item, uint64_t amount)
{
	const struct {
		const char *name;
		struct scope_number *number;
	} plain[] = {
		{ BILL_RUNS, &bill->runs },
		{ BILL_STORED, &bill->stored },
		{ BILL_FILTERED, &bill->filtered },
		{ BILL_STEPPED, &bill->stepped },
		{ BILL_READS, &bill->reads },
		{ BILL_LOST_ESTIMATE, &bill->lost_events },
		{ BILL_LATE, &bill->late },
		{ BILL_STACKS_CUT, &bill->stacks_cut },
		{ BILL_STACKS_FOLLOWED, &bill->stacks_followed },
		{ BILL_ENABLED_NS, &bill->enabled_ns },
		{ BILL_RUNNING_NS, &bill->running_ns },
		{ BILL_THROTTLED, &bill->throttled },
		{ BILL_PERIOD_CHANGES, &bill->period_changes },
		{ BILL_COUNT, &bill->count },
		{ BILL_SHORTFALL_NS, &bill->shortfall_ns },
		{ BILL_SURPLUS_NS, &bill->surplus_ns },
		{ BILL_IDLE_INTERRUPTS, &bill->idle_interrupts },
		{ BILL_IDLE_NS, &bill->idle_ns },
		{ BILL_IDLE_LOW_NS, &bill->idle_low_ns },
		{ BILL_IDLE_HIGH_NS, &bill->idle_high_ns },
		{ BILL_INTERPRETED, &bill->interpreted.interpreted },
		{ BILL_INTERPRET_THINNED, &bill->interpreted.thinned },
		{ BILL_INTERPRET_UNFIT, &bill->interpreted.unfit },
		{ BILL_INTERPRET_LOST, &bill->interpreted.lost },
		{ BILL_INTERPRET_SILENT, &bill->interpreted.silent },
		{ BILL_INTERPRET_OUTCOMES, &bill->interpreted.outcomes },
	};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (span_equal(item, span_of_text(plain[i].name))) {
			add_number(plain[i].number, amount);
			return;
		}
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
	const struct {
		const char *name;
		struct scope_number *number;
	} plain[] = {
		{ BILL_BUSY_NS, &scope->busy_ns },
		{ BILL_ONLINE_NS, &scope->online_ns },
		{ BILL_STEAL_NS, &scope->steal_ns },
		{ BILL_OFFLINE_NS, &scope->offline_ns },
		{ BILL_COMMAND_ELAPSED_NS, &scope->command_elapsed_ns },
		{ BILL_COMMAND_USER_NS, &scope->command_user_ns },
		{ BILL_COMMAND_SYSTEM_NS, &scope->command_system_ns },
		{ BILL_SAMPLED_USER_NS, &scope->sampled_user_ns },
		{ BILL_SAMPLED_SYSTEM_NS, &scope->sampled_system_ns },
		{ BILL_SELF_CPU_NS, &scope->self_cpu_ns },
		{ BILL_INTERPRET_NS, &scope->interpret_ns },
		{ BILL_BURSTS, &scope->bursts.bursts },
		{ BILL_STEPS, &scope->bursts.steps },
		{ BILL_BURST_NS, &scope->bursts.ns },
		{ BILL_SELF_BYTES, &scope->self_bytes },
		{ BILL_RING_BYTES, &scope->ring_bytes },
		{ BILL_CUT_OFF, &scope->cut_off },
		{ BILL_MAPS_CUT, &scope->maps_cut },
		{ BILL_TRACE_CUT, &scope->trace_cut },
		{ BILL_TRACE_LEFT_OUT, &scope->trace_left_out },
		{ BILL_RAW_LEFT_OUT, &scope->raw_left_out },
		{ BILL_LOST_SIDEBAND, &scope->lost_sideband },
	};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (span_equal(item, span_of_text(plain[i].name)))
			add_number(plain[i].number, amount);
	struct span cause;
	if (begins_with(item, BILL_LEFT_OUT_FILE_PREFIX, &cause))
		add_cause(scope->left_out_files, &scope->left_out_file_count, cause, amount);
	else if (begins_with(item, BILL_LEFT_OUT_PREFIX, &cause))
		add_cause(scope->left_out, &scope->left_out_count, cause, amount);
	if (begins_with(item, BILL_BURST_END_PREFIX, &cause))
		add_cause(scope->bursts.ends, &scope->bursts.end_count, cause, amount);
}

static int compare_causes(const void *left, const void *right)
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
	for (size_t i = 0; i < columns->count; i++)
		scope_sort_causes(&scope->bills[i]);
	qsort(scope->bursts.ends, scope->bursts.end_count, sizeof(scope->bursts.ends[0]),
	      compare_causes);
	return 0;
}

void scope_sort_causes(struct scope_bill *bill)
{
	qsort(bill->lost, bill->lost_count, sizeof(bill->lost[0]), compare_causes);
	qsort(bill->interpreted.ends, bill->interpreted.end_count,
	      sizeof(bill->interpreted.ends[0]), compare_causes);
	qsort(bill->unknown, bill->unknown_count, sizeof(bill->unknown[0]), compare_causes);
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

static struct scope_number sum(const struct scope_cause *causes, size_t count)
{
	struct scope_number number = { 0 };
	for (size_t i = 0; i < count; i++)
		add_number(&number, causes[i].samples);
	return number;
}

struct scope_number scope_lost(const struct scope_bill *bill)
{
	if (bill->lost_count || !bill->runs.known || !bill->stored.known)
		return sum(bill->lost, bill->lost_count);
	/* runs = stored + lost + filtered + stepped */
	uint64_t seen = bill->stored.value + bill->filtered.value + bill->stepped.value;
	return (struct scope_number){ true, bill->runs.value > seen ? bill->runs.value - seen : 0 };
}

struct scope_number scope_unknown(const struct scope_bill *bill)
{
	struct scope_number number = sum(bill->unknown, bill->unknown_count);
	number.known |= bill->stored.known; /* every unknown sample is in a cell */
	return number;
}

struct scope_number scope_idle_ns(const struct scope *scope, size_t columns)
{
	struct scope_number sum = { 0 };
	for (size_t i = 0; i < columns; i++) {
		struct scope_number one = scope->bills[i].idle_ns;
		sum.known = sum.known || one.known;
		sum.value += one.known ? one.value : 0;
	}
	return sum;
}

double scope_mean_busy_cpus(const struct scope *scope)
{
	if (!scope->busy_ns.known || !scope->duration_ns)
		return 0;
	double mean = (double)scope->busy_ns.value / (double)scope->duration_ns;
	bool beyond = scope->host_count <= 1 && scope->cpus && mean > (double)scope->cpus;
	return beyond ? (double)scope->cpus : mean;
}
