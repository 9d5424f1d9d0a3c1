#include "collect/kernel_counts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/options.h"
#include "machine/pid_namespace.h"

#define INTERVAL_NS 1000000000u
#define SOON_NS	    100000000u

int kernel_counts_open(struct kernel_counts *counts, unsigned identity, bool follow,
		       struct error *err)
{
	const struct sample_table_options options = {
		.contexts = identity & COLLECT_PER_THREAD	       ? SAMPLE_TABLE_BY_THREAD
			    : follow || identity & COLLECT_PER_PROCESS ? SAMPLE_TABLE_BY_PROCESS
								       : SAMPLE_TABLE_BY_NAME,
	};
	if (!pid_namespace_is_first())
		return error_set(err, -EOPNOTSUPP,
				 "samples cannot be counted in the kernel: processes have other "
				 "numbers there than in this pid namespace");
	counts->random = random_seed(clock_realtime_ns());
	return sample_table_new(&options, &counts->table, err);
}

void counted_context_free(struct counted_context *context)
{
	if (!context)
		return;
	free(context->cgroup);
	free(context->thread);
	free(context);
}

static void release_numbers(struct counted_numbers *numbers)
{
	size_t position = 0;
	for (struct counted_context *context;
	     (context = number_map_next(&numbers->contexts, &position));)
		counted_context_free(context);
	number_map_release(&numbers->contexts);
	number_map_release(&numbers->files);
	number_map_release(&numbers->programs);
	*numbers = (struct counted_numbers){ 0 };
}

void kernel_counts_release(struct kernel_counts *counts)
{
	release_numbers(&counts->numbers);
	release_numbers(&counts->former);
	free(counts->counts);
	free(counts->news);
	free(counts->halves);
	free(counts->slots);
	sample_table_free(counts->table);
	*counts = (struct kernel_counts){ 0 };
}

bool kernel_counts_due(const struct kernel_counts *counts, uint64_t now_ns)
{
	if (!counts->table)
		return false;
	uint64_t since_ns = now_ns - counts->collected_ns;
	return since_ns >= INTERVAL_NS || sample_table_fills(counts->table) ||
	       (since_ns >= SOON_NS && sample_table_has_new_files(counts->table));
}

static struct counted_news *add_news(struct kernel_counts *counts)
{
	if (array_reserve(&counts->news, &counts->news_capacity, counts->news_count,
			  sizeof(*counts->news)) < 0)
		return NULL;
	struct counted_news *news = &counts->news[counts->news_count++];
	*news = (struct counted_news){ 0 };
	return news;
}

static int keep_image(void *context, const struct sample_table_image_key *key,
		      const struct sample_table_image *image)
{
	struct counted_news *news = add_news(context);
	if (!news)
		return -ENOMEM;
	news->image_key = *key;
	news->image = *image;
	return 0;
}

static int keep_context(void *context, const struct sample_table_context_key *key,
			const struct sample_table_context *value)
{
	struct counted_news *news = add_news(context);
	if (!news)
		return -ENOMEM;
	news->context_key = *key;
	news->context = *value;
	return 0;
}

static int keep_count(void *context, const struct sample_table_count *count)
{
	struct kernel_counts *counts = context;
	if (array_reserve(&counts->counts, &counts->capacity, counts->count,
			  sizeof(*counts->counts)) < 0)
		return -ENOMEM;
	counts->counts[counts->count++] = *count;
	return 0;
}

int kernel_counts_take(struct kernel_counts *counts)
{
	const struct sample_table_visit visit = { counts, keep_image, keep_context, keep_count };
	counts->count = counts->news_count = 0;
	return sample_table_drain(counts->table, &visit);
}

void kernel_counts_renew(struct kernel_counts *counts)
{
	if (!sample_table_renewed(counts->table))
		return;
	release_numbers(&counts->former);
	counts->former = counts->numbers;
	counts->numbers = (struct counted_numbers){ 0 };
}

struct counted_context *kernel_counts_context(const struct kernel_counts *counts, uint32_t number)
{
	struct counted_context *context = number_map_find(&counts->numbers.contexts, number);
	return context ? context : number_map_find(&counts->former.contexts, number);
}

uint32_t kernel_counts_file(const struct kernel_counts *counts, uint32_t image)
{
	void *file = number_map_find(&counts->numbers.files, image);
	file = file ? file : number_map_find(&counts->former.files, image);
	return (uint32_t)(uintptr_t)file;
}

uint64_t kernel_counts_program(const struct kernel_counts *counts, uint32_t pid)
{
	void *execs = number_map_find(&counts->numbers.programs, pid);
	return (uintptr_t)(execs ? execs : number_map_find(&counts->former.programs, pid));
}

static void mark_files(const struct number_map *files, bool *in_use)
{
	size_t position = 0;
	for (void *file; (file = number_map_next(files, &position));)
		in_use[(uintptr_t)file] = true;
}

void kernel_counts_mark_files(const struct kernel_counts *counts, bool *in_use)
{
	mark_files(&counts->numbers.files, in_use);
	mark_files(&counts->former.files, in_use);
}
