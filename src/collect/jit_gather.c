#include "collect/jit_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "symbol/jit_records.h"
#include "symbol/reader.h"

#define STRANGE_DUMP_BYTES (32u << 20) /* a jitdump's code, while it is gathered */
#define FOUND_AT_ONCE	   1024u       /* addresses, of some us each */
#define PUT_AT_ONCE_BYTES  65536u      /* of records */

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

/* What is at each vaddr; NULL for all but the first of a function, and where there was no time to
 * look. The caller frees the list. 0 or -ENOMEM. */
static int find_loaded(const struct jit_table *table, struct jit *jit, const uint64_t *vaddrs,
		       size_t count, const struct jit_loaded ***list)
{
	const struct jit_loaded **found = calloc(count + 1, sizeof(const struct jit_loaded *));
	const struct jit_loaded *last = NULL;
	if (!found)
		return -ENOMEM;
	*list = found;
	for (size_t i = 0; i < count; i++) {
		if (i % FOUND_AT_ONCE == 0 && !jit_may_go_on(table, jit)) {
			jit->cut = true;
			break;
		}
		if (last && vaddrs[i] - last->vaddr < last->size_bytes)
			continue;
		found[i] = jit_timeline_at(&jit->timeline, vaddrs[i]);
		last = found[i] ? found[i] : last;
	}
	return 0;
}

/* The ordinals of the functions of a dump that were found, and of those that they were moved from,
 * rising. The caller frees the list. 0 or -ENOMEM. */
static int list_wanted(const struct jit_loaded *const *found, size_t count, uint32_t source,
		       uint32_t **list, size_t *listed)
{
	uint32_t *wanted = calloc(2 * count + 1, sizeof(*wanted));
	size_t size = 0;
	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!found[i] || found[i]->source != source || found[i]->ordinal == JIT_NO_ORDINAL)
			continue;
		wanted[size++] = found[i]->ordinal;
		wanted[size++] = found[i]->origin;
	}
	if (size)
		qsort(wanted, size, sizeof(*wanted), compare_numbers);
	*list = wanted;
	*listed = size;
	return 0;
}

/* Reads a dump again for the code and lines of the wanted functions. */
static int read_whole(const struct jit_table *table, struct jit *jit, struct jitdump *whole,
		      uint32_t source)
{
	const struct file *file = file_table_get(table->files, jit->dumps[source].file);
	struct stat info;
	uint64_t read_bytes = 0;
	bool copied;
	if (!whole->wanted_count)
		return 0;
	CLEANUP(close_fd)
	int fd = jit_open_dump(table, jit, jit->dumps[source].file, &info, &copied);
	if (fd < 0)
		return 0;
	whole->most_bytes = jit_is_strange(jit) ? STRANGE_DUMP_BYTES : 0;
	whole->most_record_bytes = jit_most_record_bytes(jit);
	int ret = 1;
	while (ret == 1 && read_bytes < (uint64_t)info.st_size) {
		if (!jit_may_go_on(table, jit)) {
			jit->cut = true;
			return 0;
		}
		ret = jit_feed_piece(table, jit, file, fd, &read_bytes, whole);
	}
	return ret < 0 ? ret : 0;
}

/* The same for all dumps of the process, as long as there is room for more. */
static int read_dumps_whole(const struct jit_table *table, struct jit *jit,
			    const struct jit_loaded *const *found, size_t count,
			    struct jitdump *whole)
{
	uint64_t kept_bytes = 0;
	int ret = 0;
	for (uint32_t i = 0; i < jit->dump_count && ret == 0; i++) {
		uint32_t *wanted = NULL;
		if (!jit_may_go_on(table, jit)) {
			jit->cut = true;
			return 0;
		}
		ret = list_wanted(found, count, i, &wanted, &whole[i].wanted_count);
		whole[i].wanted = wanted;
		if (ret == 0 && kept_bytes < table->most_bytes)
			ret = read_whole(table, jit, &whole[i], i);
		whole[i].wanted = NULL; /* as nothing is fed any more */
		free(wanted);
		kept_bytes += whole[i].kept_bytes;
	}
	return ret;
}

/* What is put is counted here, for a stranger: a record that moves a function costs its writer a
 * few bytes, and brings all code and lines of the function once more. */
static int put_records(const struct jit_table *table, struct jit *jit,
		       const struct jit_loaded *const *found, size_t count,
		       const struct jit_sources *sources, struct record_set *out)
{
	const struct jit_sources none = { 0 };
	uint64_t *left_bytes = jit_is_strange(jit) ? &table->shares->account.left_bytes : NULL;
	uint64_t put_bytes = 0;
	int ret = 0;
	for (size_t i = 0; i < count && ret == 0; i++) {
		if (!found[i])
			continue;
		const struct jit_sources *from = sources;
		uint64_t bytes = jit_record_bytes(found[i], from);
		if (left_bytes && bytes > *left_bytes) {
			jit->full = true;
			from = &none;
			bytes = jit_record_bytes(found[i], from);
		}
		if (left_bytes && bytes > *left_bytes)
			continue;
		if (left_bytes)
			*left_bytes -= bytes;
		ret = jit_record_add(found[i], from, out);
		put_bytes += bytes;
		if (put_bytes < PUT_AT_ONCE_BYTES)
			continue;
		put_bytes = 0;
		if (!jit_may_go_on(table, jit)) {
			jit->cut = true;
			break;
		}
	}
	return ret;
}

int jit_gather(struct jit_table *table, struct jit *jit, const uint64_t *vaddrs, size_t count,
	       struct record_set *out)
{
	if (!table->reader)
		return 0;
	jit->full = false;
	int ret = jit_read_files(table, jit, clock_monotonic_ns(), JIT_TO_THE_END);
	CLEANUP(free_pointer) const struct jit_loaded **found = NULL;
	CLEANUP(free_pointer)
	const struct jitdump **dumps = calloc(jit->dump_count + 1, sizeof(const struct jitdump *));
	struct jitdump *whole = calloc(jit->dump_count + 1, sizeof(*whole));
	if (!whole || !dumps)
		ret = -ENOMEM;
	for (size_t i = 0; i < jit->dump_count && ret == 0; i++)
		dumps[i] = &whole[i]; /* of one that is left out the names are known */
	if (ret == 0)
		ret = find_loaded(table, jit, vaddrs, count, &found);
	if (ret == 0)
		ret = read_dumps_whole(table, jit, found, count, whole);
	if (ret == 0)
		ret = put_records(table, jit, found, count,
				  &(struct jit_sources){ dumps, jit->dump_count }, out);
	for (size_t i = 0; whole && i < jit->dump_count; i++)
		jitdump_release(&whole[i]);
	free(whole);
	return ret;
}
