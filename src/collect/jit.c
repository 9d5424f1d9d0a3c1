#include "collect/jit_private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/process_table.h"

#define RETRY_FIRST_NS	   100000000u /* to look for a map, then twice as long, up to */
#define READ_PAUSE_NS	   10000000u  /* files are not read more often */
#define READ_PAUSE_MOST_NS 200000000u
#define READ_SHARE	   200u /* one part in so many of the time goes into it, or less */
#define REQUEST_MOST_NS	   UINT64_C(100000000) /* for a stranger's file */
#define FREE_LOOKS	   512u		       /* for an address: a page has some 30 functions */
#define LOOK_NS		   2u

void jit_table_init(struct jit_table *table, struct reader *reader, struct file_table *files,
		    struct shares *shares)
{
	*table = (struct jit_table){
		.reader = reader, .files = files, .shares = shares, .most_bytes = JIT_KEPT_BYTES
	};
}

/* Forgets what was read of the names of its code: whoever wants them reads it from the beginning.
 */
static void release_names(struct jit_table *table, struct jit *jit)
{
	jit_close_map(table, jit);
	jit_release_dumps(jit);
	jit_timeline_release(&jit->timeline);
	jit->map = (struct jit_map){ .fd = -1 };
	jit->jitdumps_seen = 0;
}

void jit_table_release(struct jit_table *table)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		release_names(table, jit);
		free(jit);
	}
	number_map_release(&table->by_image);
}

int jit_read_files(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste)
{
	if (!table->reader || !jit_may_go_on(table, jit)) {
		jit->cut = jit->cut || table->reader;
		return 0;
	}
	jit->cut = false;
	int ret = jit_find_dumps(table, jit);
	size_t taken = 0;
	for (uint32_t i = 0; i < jit->dump_count && ret == 0; i++) {
		ret = jit_read_dump(table, jit, i, now_ns, haste);
		taken += jit->dumps[i].taken;
	}
	/* A program that writes both says the same twice. */
	if (ret == 0 && !taken)
		ret = jit_look_at_map(table, jit, now_ns, haste);
	jit_count_kept(table, jit);
	jit->read_ns = now_ns;
	uint64_t pause_ns = (clock_monotonic_ns() - now_ns) * READ_SHARE;
	jit->pause_ns = pause_ns < READ_PAUSE_NS	? READ_PAUSE_NS
			: pause_ns > READ_PAUSE_MOST_NS ? READ_PAUSE_MOST_NS
							: pause_ns;
	return ret;
}

static struct jit *need_jit(struct jit_table *table, const struct process *process,
			    struct share *share, uint32_t image)
{
	struct jit *jit = number_map_find(&table->by_image, image);
	if (jit)
		return jit;
	jit = calloc(1, sizeof(*jit));
	if (!jit || number_map_put(&table->by_image, image, jit) < 0) {
		free(jit);
		return NULL;
	}
	jit->image = image;
	jit->pid = process->pid;
	jit->share = table->shares ? share : NULL;
	jit->own_pid = process->pid;
	jit->user = geteuid();
	jit_look_at_process(table, jit);
	jit->start_ns = process->start_ns;
	jit->began = process->execed;
	jit->map.fd = -1;
	jit->retry_ns = RETRY_FIRST_NS;
	return jit;
}

/* Or the address itself, where finding the last one took long and its user has no time left. */
static uint64_t vaddr_of(struct jit_table *table, struct jit *jit, uint64_t address,
			 uint64_t time_ns)
{
	bool strange = jit_is_strange(jit);
	uint64_t before = jit->timeline.work;
	if (strange && jit->slow &&
	    share_reading_left_ns(table->shares, jit->share) < SHARE_LEAST_NS) {
		jit->dropped++;
		return address;
	}
	uint64_t vaddr = jit_timeline_vaddr(&jit->timeline, address, time_ns);
	uint64_t looks = jit->timeline.work - before;
	jit->slow = looks > FREE_LOOKS;
	if (strange && jit->slow)
		share_spend(table->shares, jit->share, SHARE_READING, looks * LOOK_NS);
	return vaddr;
}

int jit_table_locate(struct jit_table *table, const struct process *process, struct share *share,
		     uint32_t image, uint64_t address, uint64_t time_ns, uint64_t *vaddr)
{
	struct jit *jit = need_jit(table, process, share, image);
	if (!jit)
		return -ENOMEM;
	uint64_t now_ns = time_ns > jit->read_ns ? clock_monotonic_ns() : 0;
	if (now_ns && now_ns - jit->read_ns >= jit->pause_ns) {
		if (jit->share)
			shares_charge(table->shares, jit->share, SHARE_READING, REQUEST_MOST_NS,
				      table->reader);
		int ret = jit_read_files(table, jit, now_ns, JIT_IN_STEPS);
		if (jit->share)
			shares_settle(table->shares, table->reader);
		if (ret < 0)
			return ret;
	}
	*vaddr = vaddr_of(table, jit, address, time_ns);
	return 0;
}

void jit_table_names_read(struct jit_table *table)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		if (!jit_has_ended(jit))
			continue;
		release_names(table, jit);
		jit_count_bytes(table, jit);
	}
}

int jit_table_mark_jitdumps(const struct jit_table *table, const bool *images, bool *files)
{
	const struct file_table *known = table->files;
	CLEANUP(number_map_release) struct number_map by_pid = { 0 };
	size_t position = 0;
	int ret = 0;
	for (struct jit *jit; ret == 0 && (jit = number_map_next(&table->by_image, &position));)
		if (images[jit->image])
			ret = number_map_put(&by_pid, jit->pid, jit);
	/* jit->dumps has not all: none of a process that has ended, whose names may be owed. */
	for (size_t i = 0; ret == 0 && by_pid.count && i < known->jitdump_count; i++) {
		uint32_t number = known->jitdumps[i].number;
		if (number_map_find(&by_pid, file_table_get(known, number)->pid))
			files[number] = true;
	}
	return ret;
}

int jit_table_plan_images(const struct jit_table *table, const uint32_t *images,
			  struct number_map *by_image)
{
	size_t position = 0;
	int ret = 0;
	for (struct jit *jit; ret == 0 && (jit = number_map_next(&table->by_image, &position));)
		if (images[jit->image])
			ret = number_map_put(by_image, images[jit->image], jit);
	return ret;
}

void jit_table_renumber_images(struct jit_table *table, const uint32_t *images,
			       struct number_map *by_image)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		jit->image = images[jit->image];
		if (jit->image)
			continue;
		release_names(table, jit);
		jit_count_bytes(table, jit);
		if (jit->share)
			share_give_back(table->shares, jit->share, SHARE_CONTEXTS, JIT_CONTEXTS);
		free(jit);
	}
	number_map_release(&table->by_image);
	table->by_image = *by_image;
	*by_image = (struct number_map){ 0 };
}
