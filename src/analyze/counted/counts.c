#include "analyze/counted/counts.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/count_of.h"
#include "machine/event.h"

#define CACHE(cache, result)                                                                       \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |                          \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct known_event {
	enum event_kind kind;
	uint64_t config;
	enum counts_meaning meaning;
} known_events[] = {
	{ EVENT_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, COUNTS_CLOCK },
	{ EVENT_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, COUNTS_CLOCK },
	{ EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, COUNTS_PAGE_FAULTS },
	{ EVENT_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, COUNTS_CONTEXT_SWITCHES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, COUNTS_CYCLES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, COUNTS_INSTRUCTIONS },
	{ EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, COUNTS_BRANCHES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, COUNTS_BRANCH_MISSES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, COUNTS_CACHE_REFERENCES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, COUNTS_CACHE_MISSES },
	{ EVENT_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, COUNTS_STALLED_FRONTEND },
	{ EVENT_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, COUNTS_STALLED_BACKEND },
	{ EVENT_CACHE, CACHE(L1D, ACCESS), COUNTS_L1D_LOADS },
	{ EVENT_CACHE, CACHE(L1D, MISS), COUNTS_L1D_LOAD_MISSES },
	{ EVENT_CACHE, CACHE(L1I, ACCESS), COUNTS_L1I_LOADS },
	{ EVENT_CACHE, CACHE(L1I, MISS), COUNTS_L1I_LOAD_MISSES },
	{ EVENT_CACHE, CACHE(LL, ACCESS), COUNTS_LLC_LOADS },
	{ EVENT_CACHE, CACHE(LL, MISS), COUNTS_LLC_LOAD_MISSES },
	{ EVENT_CACHE, CACHE(DTLB, ACCESS), COUNTS_DTLB_LOADS },
	{ EVENT_CACHE, CACHE(DTLB, MISS), COUNTS_DTLB_LOAD_MISSES },
	{ EVENT_CACHE, CACHE(ITLB, ACCESS), COUNTS_ITLB_LOADS },
	{ EVENT_CACHE, CACHE(ITLB, MISS), COUNTS_ITLB_LOAD_MISSES },
};

/* perf_event_open(2): the upper half names the PMU on machines with several core types. */
#define CONFIG_MASK UINT32_MAX

static enum counts_meaning meaning_of(const struct event *event)
{
	for (size_t i = 0; i < COUNT_OF(known_events); i++)
		if (known_events[i].kind == event->kind &&
		    known_events[i].config == (event->attr.config & CONFIG_MASK))
			return known_events[i].meaning;
	return COUNTS_OTHER;
}

static unsigned scope_of(const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	if (event->clock)
		return 0; /* time passes for both sides: the kernel does not tell them apart */
	return (attr->exclude_user ? COUNTS_WITHOUT_USER : 0) |
	       (attr->exclude_kernel ? COUNTS_WITHOUT_KERNEL : 0) |
	       (attr->exclude_host || attr->exclude_idle ? COUNTS_WITHOUT_OTHERS : 0);
}

struct counts_event counts_event_of(const struct event *event)
{
	return (struct counts_event){
		.name = event->name,
		.unit = event->unit,
		.core_type = event->core_type,
		.meaning = meaning_of(event),
		.scope = scope_of(event),
		.scale = event->scale,
	};
}

/* Letters behind the last colon, as machine/event.h has them; libpfm4's names have colons, too. */
static size_t size_without_modifiers(const char *name)
{
	const char *colon = strrchr(name, ':');
	bool modifiers = colon && colon[1] && !colon[1 + strspn(colon + 1, "ukhGHIpPSDWeb")];
	return modifiers ? (size_t)(colon - name) : strlen(name);
}

void counts_event_append_name(const struct counts_event *event, struct buffer *out)
{
	size_t size = size_without_modifiers(event->name);
	if (!event->core_type || strchr(event->name, '/'))
		buffer_append_text(out, event->name);
	else
		buffer_printf(out, "%s/%.*s/%s", event->core_type, (int)size, event->name,
			      event->name[size] ? event->name + size + 1 : "");
}

struct counts_value counts_value_absent(enum counts_state state)
{
	return (struct counts_value){ .state = state, .value = NAN, .low = NAN, .high = NAN };
}

struct counts_value counts_value_of(double scale, uint64_t count, uint64_t enabled_ns,
				    uint64_t running_ns)
{
	struct counts_value value = counts_value_absent(COUNTS_NOT_COUNTED);
	value.count = count;
	value.enabled_ns = enabled_ns;
	value.running_ns = running_ns;
	if (running_ns == 0)
		return value;
	value.state = COUNTS_KNOWN;
	value.value = (double)count * scale;
	if (running_ns >= enabled_ns) {
		value.low = value.high = value.value;
		return value;
	}
	value.value *= (double)enabled_ns / (double)running_ns;
	return value;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

double counts_running_percent(const struct counts_value *value)
{
	if (value->enabled_ns == 0 || value->running_ns >= value->enabled_ns)
		return 100;
	return 100 * (double)value->running_ns / (double)value->enabled_ns;
}

/* The value of the event of that meaning that counts the same as `beside`; NAN: there is none. */
static double beside(const struct counts *counts, const struct counts_row *row,
		     const struct counts_event *event, enum counts_meaning meaning)
{
	for (size_t i = 0; i < counts->event_count; i++) {
		const struct counts_event *other = &counts->events[i];
		if (other->meaning == meaning && other->scope == event->scope &&
		    same_text(other->core_type, event->core_type))
			return row->values[i].value;
	}
	return NAN;
}

/* CPU time in ns: clocks count all of it, whatever is left out. */
static double clock_ns(const struct counts *counts, const struct counts_row *row)
{
	for (size_t i = 0; i < counts->event_count; i++)
		if (counts->events[i].meaning == COUNTS_CLOCK)
			return row->values[i].value;
	return NAN;
}

static struct counts_remark remark(enum counts_remark_kind kind, double above, double below,
				   double factor, const char *words)
{
	if (!(below > 0) || !isfinite(above))
		return (struct counts_remark){ .kind = COUNTS_NO_REMARK, .value = NAN };
	return (struct counts_remark){ kind, factor * above / below, words };
}

/* Events that are a share of another. */
static const struct share {
	enum counts_meaning part, whole;
	const char *words;
} shares[] = {
	{ COUNTS_BRANCH_MISSES, COUNTS_BRANCHES, "of all branches" },
	{ COUNTS_CACHE_MISSES, COUNTS_CACHE_REFERENCES, "of all cache refs" },
	{ COUNTS_STALLED_FRONTEND, COUNTS_CYCLES, "frontend cycles idle" },
	{ COUNTS_STALLED_BACKEND, COUNTS_CYCLES, "backend cycles idle" },
	{ COUNTS_L1D_LOAD_MISSES, COUNTS_L1D_LOADS, "of all L1-dcache accesses" },
	{ COUNTS_L1I_LOAD_MISSES, COUNTS_L1I_LOADS, "of all L1-icache accesses" },
	{ COUNTS_LLC_LOAD_MISSES, COUNTS_LLC_LOADS, "of all LL-cache accesses" },
	{ COUNTS_DTLB_LOAD_MISSES, COUNTS_DTLB_LOADS, "of all dTLB cache accesses" },
	{ COUNTS_ITLB_LOAD_MISSES, COUNTS_ITLB_LOADS, "of all iTLB cache accesses" },
};

static struct counts_remark share_of(const struct counts *counts, const struct counts_row *row,
				     const struct counts_event *event, double value)
{
	for (size_t i = 0; i < COUNT_OF(shares); i++)
		if (shares[i].part == event->meaning)
			return remark(COUNTS_SHARE, value,
				      beside(counts, row, event, shares[i].whole), 100,
				      shares[i].words);
	return (struct counts_remark){ .kind = COUNTS_NO_REMARK, .value = NAN };
}

struct counts_remark counts_remark_of(const struct counts *counts, const struct counts_row *row,
				      size_t index)
{
	const struct counts_event *event = &counts->events[index];
	double value = row->values[index].value;
	struct counts_remark found = share_of(counts, row, event, value);
	if (found.kind != COUNTS_NO_REMARK)
		return found;
	switch (event->meaning) {
	case COUNTS_CLOCK:
		return remark(COUNTS_CPUS, value, counts->elapsed_s, 1e-9, "CPUs utilized");
	case COUNTS_CYCLES: /* a part of the cycles in all of the time is no frequency */
		if (event->scope == 0 && !event->core_type)
			return remark(COUNTS_GHZ, value, clock_ns(counts, row), 1, "GHz");
		break;
	case COUNTS_INSTRUCTIONS:
		found = remark(COUNTS_PER_CYCLE, value, beside(counts, row, event, COUNTS_CYCLES),
			       1, "insn per cycle");
		break;
	default:
		break;
	}
	return found.kind != COUNTS_NO_REMARK
		       ? found
		       : remark(COUNTS_RATE, value, clock_ns(counts, row), 1e9, "/sec");
}

double counts_total(const struct counts *counts, const struct counts_row *row,
		    enum counts_meaning meaning)
{
	double sum = NAN;
	for (size_t i = 0; i < counts->event_count; i++) {
		const struct counts_event *event = &counts->events[i];
		double value = row->values[i].value;
		if (event->meaning != meaning || event->scope != 0 || !isfinite(value))
			continue;
		if (!event->core_type)
			return value;
		sum = isfinite(sum) ? sum + value : value;
	}
	return sum;
}
