#include "collect/frame_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/file_learn.h"

#define RETRY_NS UINT64_C(1000000000)

static uint32_t *make_slab(void *context, uint32_t number)
{
	const struct frame_tables *tables = context;
	return user_stack_slab(tables->walker, number);
}

/* Forgets what the walker knows of a file. */
static void untell(struct frame_tables *tables, struct frame_tables_file *file)
{
	if (file->told)
		user_stack_forget(tables->walker, &file->key);
	file->told = false;
}

/* Before slab `number` is written anew: nobody may look into it. */
static void forget_slab(void *context, uint32_t number)
{
	struct frame_tables *tables = context;
	for (size_t i = 0; i < tables->capacity; i++)
		if (tables->list[i].state == FRAME_TABLES_THERE &&
		    tables->list[i].entry.slab == number)
			untell(tables, &tables->list[i]);
	user_stack_wait(tables->walker);
}

void frame_tables_init(struct frame_tables *tables, struct file_table *files,
		       struct user_stack *walker)
{
	struct frame_pool_options options = { .slabs = FRAME_TABLES_SLABS };
	*tables = (struct frame_tables){ .files = files, .walker = walker, .retry_ns = UINT64_MAX };
	if (walker) {
		options.make = make_slab;
		options.forget = forget_slab;
		options.context = tables;
	}
	frame_pool_init(&tables->pool, &options);
}

void frame_tables_release(struct frame_tables *tables)
{
	frame_pool_release(&tables->pool);
	free(tables->list);
	*tables = (struct frame_tables){ 0 };
}

/* Puts the table of a file into the pool. 0 or -ENOMEM. */
static int make(struct frame_tables *tables, uint32_t number, struct frame_tables_file *file)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct frame_table table;
	int ret = file_learn_frames(tables->files, number, &bytes);
	if (ret == -ENOMEM)
		return ret;
	file->state = ret == 0 || ret == -ENOENT || ret == -E2BIG ? FRAME_TABLES_NONE
								  : FRAME_TABLES_REFUSED;
	file->retry_ns = clock_monotonic_ns() + RETRY_NS;
	tables->refused += ret == -E2BIG;
	if (ret == 0 && frame_table_read((struct span){ bytes.data, bytes.size }, &table) &&
	    table.head.page_count && table.head.machine == WALK_MACHINE)
		ret = frame_pool_add(&tables->pool, &table, &file->entry);
	else
		return 0;
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		tables->refused++;
		return 0;
	}
	file->state = FRAME_TABLES_THERE;
	return 0;
}

/* Stores what is known of a file, whose table is there if it can be had. 0 or -ENOMEM. */
static int need(struct frame_tables *tables, uint32_t number, struct frame_tables_file **out)
{
	if (array_reserve_zeroed(&tables->list, &tables->capacity, number, sizeof(*tables->list)) <
	    0)
		return -ENOMEM;
	struct frame_tables_file *file = *out = &tables->list[number];
	if (file->state == FRAME_TABLES_THERE && !frame_pool_has(&tables->pool, &file->entry))
		file->state = FRAME_TABLES_NEW;
	if (file->state == FRAME_TABLES_REFUSED && clock_monotonic_ns() >= file->retry_ns)
		file->state = FRAME_TABLES_NEW;
	return file->state == FRAME_TABLES_NEW ? make(tables, number, file) : 0;
}

int frame_tables_look_up(struct frame_tables *tables, uint32_t number, uint64_t offset,
			 struct walk_place *place)
{
	struct frame_tables_file *file;
	int ret = need(tables, number, &file);
	*place = (struct walk_place){ .end = WALK_GOES_ON };
	if (ret < 0)
		return ret;
	if (file->state == FRAME_TABLES_THERE)
		place->rule = frame_pool_find(&tables->pool, &file->entry.place, offset);
	place->has_rules = file->state == FRAME_TABLES_THERE;
	/* Where rules will come, a guess would be wrong more often than right. */
	place->may_guess = file->state != FRAME_TABLES_REFUSED;
	return 0;
}

int frame_tables_make(struct frame_tables *tables, uint32_t number)
{
	struct frame_tables_file *file;
	return need(tables, number, &file);
}

/* The walker has no room for more files: it is told anew, of those that are still used. 0 or a
 * negative errno. */
static int make_room(struct frame_tables *tables)
{
	for (size_t i = 0; i < tables->capacity; i++)
		untell(tables, &tables->list[i]);
	return user_stack_wait(tables->walker);
}

static int put(struct frame_tables *tables, const struct frame_tables_file *file)
{
	if (file->state == FRAME_TABLES_REFUSED)
		return user_stack_postpone(tables->walker, &file->key);
	return user_stack_put(tables->walker, &file->key,
			      file->state == FRAME_TABLES_THERE ? &file->entry.place : NULL);
}

static int tell(struct frame_tables *tables, struct frame_tables_file *file,
		const struct user_stack_key *key)
{
	untell(tables, file);
	file->key = *key;
	int ret = put(tables, file);
	if ((ret == -ENOSPC || ret == -E2BIG) && make_room(tables) == 0)
		ret = put(tables, file);
	file->told = ret == 0;
	if (ret == 0 && file->state == FRAME_TABLES_REFUSED && file->retry_ns < tables->retry_ns)
		tables->retry_ns = file->retry_ns;
	return ret == -ENOMEM ? ret : 0;
}

int frame_tables_tell(struct frame_tables *tables, uint32_t number,
		      const struct user_stack_key *key)
{
	struct frame_tables_file *file;
	int ret = need(tables, number, &file);
	return ret < 0 ? ret : tell(tables, file, key);
}

void frame_tables_retry(struct frame_tables *tables)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns < tables->retry_ns)
		return;
	tables->retry_ns = UINT64_MAX;
	for (size_t i = 0; i < tables->capacity; i++) {
		struct frame_tables_file *file = &tables->list[i];
		if (file->state != FRAME_TABLES_REFUSED || !file->told)
			continue;
		if (now_ns >= file->retry_ns)
			untell(tables, file);
		else if (file->retry_ns < tables->retry_ns)
			tables->retry_ns = file->retry_ns;
	}
}

int frame_tables_prepare(struct frame_tables *tables, uint32_t number,
			 const struct user_stack_key *key)
{
	const struct frame_tables_file *file =
		number < tables->capacity ? &tables->list[number] : NULL;
	bool new = !file || file->state == FRAME_TABLES_NEW;
	bool made = file && file->state == FRAME_TABLES_THERE && !file->told;
	return tables->walker && (new || made) ? frame_tables_tell(tables, number, key) : 0;
}

int frame_tables_tell_none(struct frame_tables *tables, uint32_t number,
			   const struct user_stack_key *key)
{
	if (array_reserve_zeroed(&tables->list, &tables->capacity, number, sizeof(*tables->list)) <
	    0)
		return -ENOMEM;
	tables->list[number].state = FRAME_TABLES_NONE;
	return tell(tables, &tables->list[number], key);
}

void frame_tables_forget(struct frame_tables *tables, const bool *in_use)
{
	for (size_t number = 1; number < tables->capacity; number++) {
		struct frame_tables_file *file = &tables->list[number];
		if (file->state == FRAME_TABLES_NEW || in_use[number])
			continue;
		untell(tables, file);
		*file = (struct frame_tables_file){ 0 };
	}
	if (tables->walker)
		user_stack_wait(tables->walker);
}
