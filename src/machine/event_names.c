#include "machine/event_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <linux/perf_event.h>

const struct event_name hardware_names[] = {
	{ "cycles", "cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, EVENT_THREAD_CYCLES, false, "cycles",
	  "THREAD cycles: core clock ticks while this hardware thread is not halted; their rate "
	  "follows frequency and turbo" },
	{ "instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, EVENT_NO_CYCLES, false, "instructions",
	  "instructions retired" },
	{ "ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, EVENT_REF_CYCLES, false, "cycles",
	  "REF cycles: ticks at a fixed rate while not halted, whatever the frequency; "
	  "cycles / ref-cycles is the clock against nominal" },
	{ "branches", "branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, EVENT_NO_CYCLES,
	  false, "branches", "branch instructions retired" },
	{ "branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, EVENT_NO_CYCLES, false, "misses",
	  "retired branches that were predicted wrong" },
	{ "cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, EVENT_NO_CYCLES, false,
	  "accesses", "cache accesses: last level on Intel, L2 on AMD, L1 data on Arm" },
	{ "cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, EVENT_NO_CYCLES, false, "misses",
	  "misses of the cache that cache-references counts" },
	{ "bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, EVENT_REF_CYCLES, false, "cycles",
	  "REF cycles of the bus or crystal clock while not halted" },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	  EVENT_THREAD_CYCLES, false, "cycles",
	  "THREAD cycles in which the front end delivered nothing" },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	  EVENT_THREAD_CYCLES, false, "cycles",
	  "THREAD cycles in which the back end could take nothing" },
};
const size_t hardware_name_count = sizeof(hardware_names) / sizeof(hardware_names[0]);

const struct event_name software_names[] = {
	{ "cpu-clock", NULL, PERF_COUNT_SW_CPU_CLOCK, EVENT_NO_CYCLES, true, "ns",
	  "time on a timer of the CPU; samples where no PMU exists, late by an interrupt" },
	{ "task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, EVENT_NO_CYCLES, true, "ns",
	  "time that the task ran" },
	{ "page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, EVENT_NO_CYCLES, false, "faults",
	  "page faults, minor and major" },
	{ "minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, EVENT_NO_CYCLES, false, "faults",
	  "page faults that needed no disk" },
	{ "major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EVENT_NO_CYCLES, false, "faults",
	  "page faults that waited for a disk" },
	{ "context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, EVENT_NO_CYCLES, false,
	  "switches", "times the CPU went to another task (needs kernel rights)" },
	{ "cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, EVENT_NO_CYCLES, false,
	  "migrations", "times the task moved to another CPU (needs kernel rights)" },
	{ "cgroup-switches", NULL, PERF_COUNT_SW_CGROUP_SWITCHES, EVENT_NO_CYCLES, false,
	  "switches", "context switches into another cgroup" },
	{ "alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, EVENT_NO_CYCLES, false,
	  "faults", "unaligned accesses that the kernel mended (never on x86)" },
	{ "emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, EVENT_NO_CYCLES, false,
	  "faults", "instructions that the kernel emulated" },
	{ "bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, EVENT_NO_CYCLES, false, "events",
	  "records that BPF programs write" },
	{ "dummy", NULL, PERF_COUNT_SW_DUMMY, EVENT_NO_CYCLES, false, "events",
	  "counts nothing; carries records about processes and mappings" },
};
const size_t software_name_count = sizeof(software_names) / sizeof(software_names[0]);

static const struct event_name *find_name(const struct event_name *names, size_t count,
					  const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i].name, name) == 0 ||
		    (names[i].alias && strcasecmp(names[i].alias, name) == 0))
			return &names[i];
	return NULL;
}

const struct event_name *hardware_name_find(const char *name)
{
	return find_name(hardware_names, hardware_name_count, name);
}

const struct event_name *software_name_find(const char *name)
{
	return find_name(software_names, software_name_count, name);
}

/* The spellings of perf's manual; the first is canonical, NULL ends a row. */
struct cache_word {
	uint64_t number;
	const char *spellings[8];
	const char *meaning;
};

enum {
	OP_READ = 1 << PERF_COUNT_HW_CACHE_OP_READ,
	OP_WRITE = 1 << PERF_COUNT_HW_CACHE_OP_WRITE,
	OP_PREFETCH = 1 << PERF_COUNT_HW_CACHE_OP_PREFETCH
};

static const struct cache_word caches[] = {
	{ PERF_COUNT_HW_CACHE_L1D,
	  { "L1-dcache", "l1-d", "l1d", "L1-data" },
	  "first-level data cache" },
	{ PERF_COUNT_HW_CACHE_L1I,
	  { "L1-icache", "l1-i", "l1i", "L1-instruction" },
	  "first-level instruction cache" },
	{ PERF_COUNT_HW_CACHE_LL, { "LLC", "L2" }, "last-level cache" },
	{ PERF_COUNT_HW_CACHE_DTLB, { "dTLB", "d-tlb", "Data-TLB" }, "data TLB" },
	{ PERF_COUNT_HW_CACHE_ITLB, { "iTLB", "i-tlb", "Instruction-TLB" }, "instruction TLB" },
	{ PERF_COUNT_HW_CACHE_BPU, { "branch", "branches", "bpu", "btb", "bpc" }, "branch unit" },
	{ PERF_COUNT_HW_CACHE_NODE, { "node" }, "memory of the NUMA node" },
};

/* Operations that exist at all, by cache number (perf's evsel__hw_cache_stat). */
static const uint8_t cache_operations[] = {
	[PERF_COUNT_HW_CACHE_L1D] = OP_READ | OP_WRITE | OP_PREFETCH,
	[PERF_COUNT_HW_CACHE_L1I] = OP_READ | OP_PREFETCH,
	[PERF_COUNT_HW_CACHE_LL] = OP_READ | OP_WRITE | OP_PREFETCH,
	[PERF_COUNT_HW_CACHE_DTLB] = OP_READ | OP_WRITE | OP_PREFETCH,
	[PERF_COUNT_HW_CACHE_ITLB] = OP_READ,
	[PERF_COUNT_HW_CACHE_BPU] = OP_READ,
	[PERF_COUNT_HW_CACHE_NODE] = OP_READ | OP_WRITE | OP_PREFETCH,
};

static const struct cache_word operations[] = {
	{ PERF_COUNT_HW_CACHE_OP_READ, { "load", "loads", "read" }, "loads" },
	{ PERF_COUNT_HW_CACHE_OP_WRITE, { "store", "stores", "write" }, "stores" },
	{ PERF_COUNT_HW_CACHE_OP_PREFETCH,
	  { "prefetch", "prefetches", "speculative-read", "speculative-load" },
	  "prefetches" },
};

static const struct cache_word results[] = {
	{ PERF_COUNT_HW_CACHE_RESULT_ACCESS, { "refs", "Reference", "ops", "access" }, "accesses" },
	{ PERF_COUNT_HW_CACHE_RESULT_MISS, { "misses", "miss" }, "misses" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The longest spelling that begins `text` and is followed by "-" or the end; moves past both. */
static const struct cache_word *take_word(const struct cache_word *words, size_t count,
					  const char **text)
{
	const struct cache_word *found = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < COUNT(words[i].spellings) && words[i].spellings[j]; j++) {
			const char *spelling = words[i].spellings[j];
			size_t length = strlen(spelling);
			if (length > longest && strncasecmp(*text, spelling, length) == 0 &&
			    ((*text)[length] == '-' || (*text)[length] == 0)) {
				found = &words[i];
				longest = length;
			}
		}
	if (found)
		*text += longest + ((*text)[longest] == '-' && (*text)[longest + 1]);
	return found;
}

static uint64_t cache_config(uint64_t cache, uint64_t operation, uint64_t result)
{
	return cache | operation << 8 | result << 16;
}

bool cache_name_parse(const char *name, uint64_t *config)
{
	const char *text = name;
	const struct cache_word *operation = NULL, *result = NULL;
	const struct cache_word *cache = take_word(caches, COUNT(caches), &text);
	if (!cache)
		return false;
	for (int i = 0; i < 2 && *text; i++) {
		const struct cache_word *word = NULL;
		if (!operation)
			word = operation = take_word(operations, COUNT(operations), &text);
		if (!word && !result)
			word = result = take_word(results, COUNT(results), &text);
		if (!word)
			return false;
	}
	if (*text)
		return false;
	uint64_t op = operation ? operation->number : PERF_COUNT_HW_CACHE_OP_READ;
	uint64_t res = result ? result->number : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	if (!(cache_operations[cache->number] >> op & 1))
		return false;
	*config = cache_config(cache->number, op, res);
	return true;
}

bool cache_name_at(size_t index, char name[CACHE_NAME_SIZE], uint64_t *config, char *description,
		   size_t description_size)
{
	for (size_t c = 0; c < COUNT(caches); c++)
		for (size_t o = 0; o < COUNT(operations); o++) {
			if (!(cache_operations[caches[c].number] >> operations[o].number & 1))
				continue;
			if (index >= 2) {
				index -= 2;
				continue;
			}
			if (index == 0)
				snprintf(name, CACHE_NAME_SIZE, "%s-%s", caches[c].spellings[0],
					 operations[o].spellings[1]);
			else
				snprintf(name, CACHE_NAME_SIZE, "%s-%s-misses",
					 caches[c].spellings[0], operations[o].spellings[0]);
			snprintf(description, description_size, "%s: %s%s", caches[c].meaning,
				 operations[o].meaning, index ? " that miss" : "");
			*config = cache_config(caches[c].number, operations[o].number, index);
			return true;
		}
	return false;
}

/* Rows of a restricted Damerau-Levenshtein table; longer names are compared by their beginning. */
#define SPELLING_LIMIT 96

size_t spelling_distance(const char *word, const char *wanted)
{
	size_t rows[3][SPELLING_LIMIT + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	size_t width = strnlen(wanted, SPELLING_LIMIT), height = strnlen(word, SPELLING_LIMIT);
	for (size_t j = 0; j <= width; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= height; i++) {
		now[0] = i;
		for (size_t j = 1; j <= width; j++) {
			int a = tolower((unsigned char)word[i - 1]);
			int b = tolower((unsigned char)wanted[j - 1]);
			size_t best = last[j - 1] + (a != b);
			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a == tolower((unsigned char)wanted[j - 2]) &&
			    b == tolower((unsigned char)word[i - 2]) && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		size_t *spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[width];
}

void suggestion_init(struct suggestion *suggestion, const char *word)
{
	suggestion->word = word;
	suggestion->distance = strlen(word) / 3 + 1;
	suggestion->nearest[0] = 0;
}

void suggestion_offer(struct suggestion *suggestion, const char *name)
{
	size_t length = strlen(name), wanted = strlen(suggestion->word);
	size_t gap = length > wanted ? length - wanted : wanted - length;
	if (gap > suggestion->distance || length >= SUGGESTION_SIZE)
		return;
	size_t distance = spelling_distance(suggestion->word, name);
	/* The limit itself is still near enough for the first one; later ones must be nearer. */
	if (distance < suggestion->distance ||
	    (distance == suggestion->distance && !suggestion->nearest[0])) {
		suggestion->distance = distance;
		memcpy(suggestion->nearest, name, length + 1);
	}
}
