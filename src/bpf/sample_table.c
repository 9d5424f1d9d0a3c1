#include "bpf/sample_table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "bpf/kernel_layout.h"
#include "bpf/program.h"
#include "bpf/program_barrier.h"

#define LINES_USUAL   4096u
#define SPILL_USUAL   16384u
#define NUMBERS_USUAL 8192u
#define NEWS_USUAL    (256u << 10)

static const struct program_object_kind kind = {
	.name = "sample_table",
	.purpose = "counting samples in the kernel",
	.linux_version = "5.15",
};

/* A map's memory that both sides see. */
struct shared {
	void *memory;
	size_t size;
};

struct sample_table {
	struct bpf_object *object;
	int program_fd;
	struct sample_table_settings settings;
	struct sample_table_state *state; /* `variables` */
	struct shared lines, spill, cpus, variables;
	struct program_barrier barrier;
	uint64_t *abandoned; /* samples whose visit failed: of each CPU, of each event */
	struct ring_buffer *news;
	uint32_t news_bytes;
	uint32_t unsought;		       /* lost news that were looked for */
	uint32_t images;		       /* that had a number when it was last drained */
	bool renewed;
	const struct sample_table_visit *visit; /* while news are handed out */
	int failed;
};

void sample_table_free(struct sample_table *table)
{
	if (!table)
		return;
	ring_buffer__free(table->news);
	const struct shared all[] = { table->lines, table->spill, table->cpus,
				      table->variables };
	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (all[i].memory)
			munmap(all[i].memory, all[i].size);
	program_object_close(table->object);
	program_barrier_close(&table->barrier);
	free(table->abandoned);
	free(table);
}

void sample_table_freep(struct sample_table **table)
{
	sample_table_free(*table);
}

static int map_memory(struct sample_table *table, const char *map, size_t size,
		      struct shared *shared)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size = (size + page - 1) / page * page;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    program_object_map(table->object, map), 0);
	if (memory == MAP_FAILED)
		return -errno;
	*shared = (struct shared){ memory, size };
	return 0;
}

static int handle_news(void *context, void *data, size_t size)
{
	struct sample_table *table = context;
	const struct sample_table_news *news = data;
	const struct sample_table_visit *visit = table->visit;
	int ret = 0;
	if (size < sizeof(*news))
		return 0;
	if (news->kind == SAMPLE_TABLE_NEWS_IMAGE)
		ret = visit->image(visit->context, &news->image.key, &news->image.value);
	else if (news->kind == SAMPLE_TABLE_NEWS_CONTEXT)
		ret = visit->named(visit->context, &news->context.key, &news->context.value);
	if (ret < 0 && table->failed == 0)
		table->failed = ret;
	return 0;
}

static int open_shared(struct sample_table *table)
{
	const struct sample_table_settings *settings = &table->settings;
	size_t halves = 2 * (size_t)settings->cpus;
	int ret = map_memory(table, "lines",
			     (halves << settings->lines_bits) * sizeof(struct sample_table_line),
			     &table->lines);
	if (ret == 0)
		ret = map_memory(table, "spill",
				 halves * settings->spill * sizeof(struct sample_table_entry),
				 &table->spill);
	if (ret == 0)
		ret = map_memory(table, "cpus", settings->cpus * sizeof(struct sample_table_cpu),
				 &table->cpus);
	if (ret == 0)
		ret = map_memory(table, ".bss", sizeof(*table->state), &table->variables);
	if (ret == 0)
		ret = program_barrier_open(&table->barrier);
	if (ret < 0)
		return ret;
	table->state = table->variables.memory;
	table->news = ring_buffer__new(program_object_map(table->object, "news"), handle_news,
				       table, NULL);
	return table->news ? 0 : -errno;
}

static int load(struct sample_table *table, struct error *err)
{
	const struct sample_table_settings *settings = &table->settings;
	const struct program_map_size sizes[] = {
		{ "lines", 2 * settings->cpus << settings->lines_bits },
		{ "spill", 2 * settings->cpus * settings->spill },
		{ "cpus", settings->cpus },
		{ "images", settings->numbers },
		{ "contexts", settings->numbers },
		{ "news", table->news_bytes },
	};
	const struct program_object_settings told = { .constants = settings,
						      .constants_size = sizeof(*settings),
						      .sizes = sizes,
						      .size_count = COUNT_OF(sizes) };
	int ret = program_object_load(&kind, &told, &table->object, err);
	if (ret < 0)
		return ret;
	table->program_fd = program_object_program(table->object, "count_sample");
	ret = open_shared(table);
	return ret < 0 ? program_object_refused(&kind, ret, err) : 0;
}

static uint32_t or_usual(uint32_t asked, uint32_t usual)
{
	return asked ? asked : usual;
}

int sample_table_new(const struct sample_table_options *options, struct sample_table **out,
		     struct error *err)
{
	int cpus = libbpf_num_possible_cpus();
	if (cpus < 0)
		return error_set(err, cpus, "cannot count samples in the kernel: %s",
				 strerror(-cpus));
	CLEANUP(sample_table_freep) struct sample_table *table = calloc(1, sizeof(*table));
	if (!table)
		return error_set(err, -ENOMEM, "cannot count samples in the kernel: %s",
				 strerror(ENOMEM));
	table->barrier = PROGRAM_BARRIER_CLOSED;
	table->abandoned =
		calloc((size_t)cpus * SAMPLE_TABLE_EVENTS, sizeof(*table->abandoned));
	if (!table->abandoned)
		return error_set(err, -ENOMEM, "cannot count samples in the kernel: %s",
				 strerror(ENOMEM));
	table->news_bytes = or_usual(options->news, NEWS_USUAL);
	table->settings = (struct sample_table_settings){
		.cpus = (uint32_t)cpus,
		.lines_bits = (uint32_t)__builtin_ctz(or_usual(options->lines, LINES_USUAL)),
		.spill = or_usual(options->spill, SPILL_USUAL),
		.numbers = or_usual(options->numbers, NUMBERS_USUAL),
		.contexts = options->contexts,
	};
	int ret = kernel_layout_read(&table->settings.layout, err);
	if (options->addresses)
		table->settings.layout.mm_tree = KERNEL_FIELD_NONE;
	if (ret == 0)
		ret = load(table, err);
	if (ret < 0)
		return ret;
	*out = table;
	table = NULL;
	return 0;
}

int sample_table_attach(const struct sample_table *table, int fd, unsigned event)
{
	return program_attach(table->program_fd, fd, event);
}

static struct sample_table_cpu *cpu_of(const struct sample_table *table, uint32_t cpu)
{
	return (struct sample_table_cpu *)table->cpus.memory + cpu;
}

bool sample_table_fills(const struct sample_table *table)
{
	uint32_t half = __atomic_load_n(&table->state->half, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < table->settings.cpus; i++)
		if (__atomic_load_n(&cpu_of(table, i)->spilled[half], __ATOMIC_RELAXED) >
		    table->settings.spill / 2)
			return true;
	return false;
}

bool sample_table_has_new_files(const struct sample_table *table)
{
	return __atomic_load_n(&table->state->image_count, __ATOMIC_RELAXED) != table->images;
}

static int visit_entry(const struct sample_table_visit *visit, uint32_t cpu,
		       const struct sample_table_entry *entry)
{
	struct sample_table_count count = {
		.cpu = cpu,
		.event = entry->place >> SAMPLE_TABLE_OFFSET_BITS & (SAMPLE_TABLE_EVENTS - 1),
		.context = (uint32_t)(entry->place >> SAMPLE_TABLE_CONTEXT_AT |
				      entry->rest >> SAMPLE_TABLE_REST_CONTEXT
					      << SAMPLE_TABLE_CONTEXT_LOW),
		.image = entry->rest >> SAMPLE_TABLE_COUNT_BITS &
			 ((1u << SAMPLE_TABLE_IMAGE_BITS) - 1),
		.offset = entry->place & ((UINT64_C(1) << SAMPLE_TABLE_OFFSET_BITS) - 1),
		.samples = entry->rest & SAMPLE_TABLE_COUNT_MOST,
	};
	if (count.image == SAMPLE_TABLE_KERNEL)
		count.offset |= UINT64_MAX << SAMPLE_TABLE_OFFSET_BITS;
	return visit->count(visit->context, &count);
}

/* Hands `count` entries of a CPU out and clears them; after a failure it only clears. */
static void empty(const struct sample_table_visit *visit, uint32_t cpu, uint64_t *abandoned,
		  struct sample_table_entry *entries, size_t count, int *failed)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t samples = entries[i].rest & SAMPLE_TABLE_COUNT_MOST;
		if (!samples)
			continue;
		if (*failed == 0)
			*failed = visit_entry(visit, cpu, &entries[i]);
		if (*failed < 0)
			abandoned[entries[i].place >> SAMPLE_TABLE_OFFSET_BITS &
				  (SAMPLE_TABLE_EVENTS - 1)] += samples;
		entries[i].rest = 0;
	}
}

/* News that a ring without room did not take are looked for in the maps: all that they hold. */
static void look_for_news(struct sample_table *table)
{
	struct sample_table_news news = { .kind = SAMPLE_TABLE_NEWS_IMAGE };
	const void *last = NULL;
	int images = program_object_map(table->object, "images");
	int contexts = program_object_map(table->object, "contexts");
	struct sample_table_image_key image;
	while (bpf_map_get_next_key(images, last, &image) == 0) {
		news.image.key = image;
		last = &news.image.key;
		if (bpf_map_lookup_elem(images, &image, &news.image.value) == 0 &&
		    news.image.value.number != SAMPLE_TABLE_ADDRESS)
			handle_news(table, &news, sizeof(news));
	}
	news = (struct sample_table_news){ .kind = SAMPLE_TABLE_NEWS_CONTEXT };
	struct sample_table_context_key context;
	last = NULL;
	while (bpf_map_get_next_key(contexts, last, &context) == 0) {
		news.context.key = context;
		last = &news.context.key;
		if (bpf_map_lookup_elem(contexts, &context, &news.context.value) == 0)
			handle_news(table, &news, sizeof(news));
	}
}

static uint32_t count_unsought(const struct sample_table *table)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < table->settings.cpus; i++)
		sum += cpu_of(table, i)->unsought;
	return sum;
}

static int take_news(struct sample_table *table, const struct sample_table_visit *visit)
{
	table->visit = visit;
	table->failed = 0;
	ring_buffer__consume(table->news);
	uint32_t unsought = count_unsought(table);
	if (unsought != table->unsought) {
		table->unsought = unsought;
		look_for_news(table);
	}
	table->visit = NULL;
	return table->failed;
}

/* Forgets all numbers of a map, key by key: what is still used gets a new one with its next
 * sample. */
static void forget(const struct sample_table *table, const char *map, void *key)
{
	int fd = program_object_map(table->object, map);
	/* programs give new ones meanwhile */
	for (uint32_t i = 0; i < 2 * table->settings.numbers; i++)
		if (bpf_map_get_next_key(fd, NULL, key) < 0 || bpf_map_delete_elem(fd, key) < 0)
			break;
}

/* Before a map is full, its numbers are given anew. Those before stay right until then. */
static void renew_numbers(struct sample_table *table)
{
	struct sample_table_image_key image;
	struct sample_table_context_key context;
	uint32_t most = table->settings.numbers / 4 * 3;
	table->renewed = table->state->image_count >= most || table->state->context_count >= most;
	if (!table->renewed)
		return;
	forget(table, "images", &image);
	forget(table, "contexts", &context);
	table->images = 0;
	__atomic_store_n(&table->state->image_count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&table->state->context_count, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&table->state->generation, 1, __ATOMIC_RELEASE);
}

int sample_table_drain(struct sample_table *table, const struct sample_table_visit *visit)
{
	uint32_t half = __atomic_load_n(&table->state->half, __ATOMIC_RELAXED);
	table->images = __atomic_load_n(&table->state->image_count, __ATOMIC_RELAXED);
	__atomic_store_n(&table->state->half, half ^ 1, __ATOMIC_SEQ_CST);
	int failed = program_barrier_wait(&table->barrier);
	if (failed < 0) {
		__atomic_store_n(&table->state->half, half, __ATOMIC_SEQ_CST);
		return failed;
	}
	failed = take_news(table, visit);
	size_t lines = (size_t)1 << table->settings.lines_bits;
	for (uint32_t i = 0; i < table->settings.cpus; i++) {
		struct sample_table_cpu *cpu = cpu_of(table, i);
		size_t at = (size_t)half * table->settings.cpus + i;
		struct sample_table_line *own = table->lines.memory;
		struct sample_table_entry *spilled = table->spill.memory;
		uint64_t *abandoned = table->abandoned + (size_t)i * SAMPLE_TABLE_EVENTS;
		empty(visit, i, abandoned, own[at * lines].ways, lines * SAMPLE_TABLE_WAYS,
		      &failed);
		empty(visit, i, abandoned, spilled + at * table->settings.spill,
		      cpu->spilled[half], &failed);
		cpu->spilled[half] = 0;
	}
	renew_numbers(table);
	return failed;
}

bool sample_table_renewed(const struct sample_table *table)
{
	return table->renewed;
}

int sample_table_keep_addresses(struct sample_table *table,
				const struct sample_table_image_key *key)
{
	const struct sample_table_image none = { .number = SAMPLE_TABLE_ADDRESS };
	int ret = bpf_map_update_elem(program_object_map(table->object, "images"), key, &none,
				      BPF_ANY);
	if (ret == 0)
		__atomic_fetch_add(&table->state->generation, 1, __ATOMIC_RELEASE);
	return ret;
}

struct sample_table_sums sample_table_sums(const struct sample_table *table, int cpu,
					   unsigned event)
{
	struct sample_table_sums sums = { 0 };
	for (uint32_t i = 0; i < table->settings.cpus; i++) {
		const struct sample_table_cpu *one = cpu_of(table, i);
		if (cpu >= 0 && (uint32_t)cpu != i)
			continue;
		sums.seen += __atomic_load_n(&one->events[event].seen, __ATOMIC_RELAXED);
		sums.lost += __atomic_load_n(&one->events[event].lost, __ATOMIC_RELAXED) +
			     table->abandoned[(size_t)i * SAMPLE_TABLE_EVENTS + event];
	}
	return sums;
}

struct sample_table_times sample_table_times(const struct sample_table *table)
{
	struct sample_table_times times = { 0 };
	for (uint32_t i = 0; i < table->settings.cpus; i++) {
		const struct sample_table_cpu *one = cpu_of(table, i);
		program_time_add(&times.hits, &one->hits);
		program_time_add(&times.misses, &one->misses);
	}
	return times;
}

uint32_t sample_table_cpus(const struct sample_table *table)
{
	return table->settings.cpus;
}

size_t sample_table_bytes(const struct sample_table *table)
{
	return table->lines.size + table->spill.size + table->cpus.size;
}
