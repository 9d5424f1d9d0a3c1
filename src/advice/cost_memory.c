#include "advice/cost_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/own_folder.h"
#include "base/small_file.h"
#include "machine/event.h"

#define FILE_NAME  "sample-costs"
#define FILE_BYTES 8192u

struct entry {
	uint64_t key, at_ns;
	struct sample_cost cost;
};

struct remembered {
	struct entry entries[COST_MEMORY_ENTRIES];
	size_t count;
};

uint64_t cost_memory_key(const struct event *event, unsigned extra)
{
	return hash_bytes_stable(&event->attr, sizeof(event->attr)) + hash_u64_stable(extra);
}

/* One line of the file each: a key, when it was measured, what. */
static bool parse_entry(const char *line, struct entry *entry)
{
	return sscanf(line, "%" SCNx64 " %" SCNu64 " %lf %lf %lf %" SCNu64, &entry->key,
		      &entry->at_ns, &entry->cost.ns, &entry->cost.low_ns, &entry->cost.high_ns,
		      &entry->cost.samples) == 6 &&
	       entry->cost.ns > 0 && entry->cost.ns < 1e9;
}

/* What the folder's file says of this boot; nothing where there is none that can be believed. */
static void read_all(int folder, const char *boot, struct remembered *remembered)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	char *rest = NULL;
	remembered->count = 0;
	int ret = own_folder_read(folder, FILE_NAME, FILE_BYTES, &bytes);
	buffer_append_u8(&bytes, 0);
	if (ret < 0 || buffer_failed(&bytes))
		return;
	char *line = strtok_r((char *)bytes.data, "\n", &rest);
	if (!line || !boot[0] || strcmp(line, boot) != 0)
		return;
	while ((line = strtok_r(NULL, "\n", &rest)) && remembered->count < COST_MEMORY_ENTRIES)
		if (parse_entry(line, &remembered->entries[remembered->count]))
			remembered->count++;
}

bool cost_memory_find(const char *folder, uint64_t key, uint64_t now_ns, struct sample_cost *cost,
		      uint64_t *age_ns)
{
	struct remembered remembered;
	char boot[BOOT_ID_SIZE];
	int fd = folder ? own_folder_open(folder, false) : -1;
	if (fd < 0)
		return false;
	boot_id_read(boot);
	read_all(fd, boot, &remembered);
	close(fd);
	for (size_t i = 0; i < remembered.count; i++) {
		const struct entry *entry = &remembered.entries[i];
		if (entry->key != key || entry->at_ns > now_ns ||
		    now_ns - entry->at_ns > COST_MEMORY_VALID_NS)
			continue;
		*cost = entry->cost;
		*age_ns = now_ns - entry->at_ns;
		return true;
	}
	return false;
}

static void add_entry(struct remembered *remembered, const struct entry *added)
{
	size_t at = remembered->count, oldest = 0;
	for (size_t i = 0; i < remembered->count; i++) {
		if (remembered->entries[i].key == added->key)
			at = i;
		if (remembered->entries[i].at_ns < remembered->entries[oldest].at_ns)
			oldest = i;
	}
	if (at == COST_MEMORY_ENTRIES)
		at = oldest;
	remembered->entries[at] = *added;
	remembered->count += at == remembered->count;
}

int cost_memory_put(const char *folder, uint64_t key, uint64_t now_ns,
		    const struct sample_cost *cost)
{
	struct remembered remembered;
	char boot[BOOT_ID_SIZE];
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (!folder || cost->busy_ratio > COST_MEMORY_BUSY)
		return 0;
	int fd = own_folder_open(folder, true);
	if (fd < 0)
		return fd;
	boot_id_read(boot);
	read_all(fd, boot, &remembered);
	add_entry(&remembered, &(struct entry){ key, now_ns, *cost });
	buffer_printf(&text, "%s\n", boot);
	for (size_t i = 0; i < remembered.count; i++) {
		const struct entry *entry = &remembered.entries[i];
		buffer_printf(&text, "%016" PRIx64 " %" PRIu64 " %.1f %.1f %.1f %" PRIu64 "\n",
			      entry->key, entry->at_ns, entry->cost.ns, entry->cost.low_ns,
			      entry->cost.high_ns, entry->cost.samples);
	}
	int ret = buffer_failed(&text)
			  ? -ENOMEM
			  : own_folder_write(fd, FILE_NAME, (struct span){ text.data, text.size });
	close(fd);
	return ret;
}
