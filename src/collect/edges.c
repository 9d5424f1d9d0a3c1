#include "collect/edges.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/error.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/address_space.h"
#include "machine/perf_record.h"
#include "profile/bill.h"
#include "profile/profile.h"

/* 3 MB, 10 with what they point to; a service comes ten times a second. */
#define BATCH_SAMPLES 8192u
#define BATCH_SPACES  256u
/* A batch finds the helper's code and tables out of the caches: it should be worth it. */
#define BATCH_WORTH    512u
#define BATCH_WAIT_NS  1000000000u
#define SPACE_MAPPINGS 4096u /* executable ones; a process with more is up to something */
#define TOLD_FILES     1024u /* then the helper starts anew with those that are needed */
#define TIMEOUT_MS     2000u /* a batch takes 80 ms at most, a file that is mapped less */
#define FAILURES_MOST  8u
/* Reading the first files and decoding their code comes before anything can be saved up. */
#define FIRST_NS      10e6
#define LIMIT_NS      50e6
#define COST_GUESS_NS 10e3

static int start_helper(struct edges *edges, struct error *err)
{
	edges->helper.run = edge_helper_run;
	return helper_start(&edges->helper, err);
}

int edges_init(struct edges *edges, struct file_table *files, size_t sampler_count,
	       struct error *err)
{
	*edges = (struct edges){ .files = files,
				 .registers = edge_registers(),
				 .sums = calloc(sampler_count + 1, sizeof(*edges->sums)),
				 .sampler_count = sampler_count };
	if (!edges->sums)
		return error_set(err, -ENOMEM, "out of memory");
	edges->asked_ns = clock_monotonic_ns();
	pace_init(&edges->pace, FIRST_NS, LIMIT_NS, COST_GUESS_NS);
	int ret = start_helper(edges, err);
	edges->on = ret == 0;
	return ret;
}

/* Its process may be gone, or go on with a copy: then nobody else gives its room back. */
static void drop_space(struct edges *edges, struct address_space *space)
{
	if (edges->shares && space->share && space->references == 1)
		share_give_back(edges->shares, space->share, SHARE_MAPPINGS, space->held);
	address_space_drop(space);
}

static void clear_batch(struct edges *edges, struct edge_batch *batch)
{
	for (size_t i = 0; i < batch->space_count; i++)
		drop_space(edges, batch->spaces[i]);
	batch->space_count = 0;
	batch->count = 0;
	buffer_empty(&batch->blocks);
	batch->set_aside_ns = 0;
}

static void release_batch(struct edges *edges, struct edge_batch *batch)
{
	clear_batch(edges, batch);
	free(batch->samples);
	free(batch->waiting);
	free(batch->spaces);
	buffer_release(&batch->blocks);
}

void edges_release(struct edges *edges)
{
	release_batch(edges, &edges->gathering);
	release_batch(edges, &edges->under_way);
	helper_stop(&edges->helper);
	edge_tally_release(&edges->tally);
	free(edges->told);
	free(edges->sums);
	*edges = (struct edges){ 0 };
}

static bool is_fit(const struct edges *edges, const struct perf_sample *sample,
		   struct address_space *space)
{
	if (!space || space->count > SPACE_MAPPINGS ||
	    sample->user_abi != PERF_SAMPLE_REGS_ABI_64 ||
	    sample->user_registers.count > EDGE_REGISTERS ||
	    sample->user_registers.count != (uint64_t)__builtin_popcountll(edges->registers))
		return false;
	const struct mapping *mapping = address_space_find(space, sample->ip);
	const struct file *file = mapping ? file_table_get(edges->files, mapping->file) : NULL;
	return file && file_may_stay_open(file);
}

/* The number of a space in the batch. False: there are too many. */
static int find_space(struct edge_batch *batch, struct address_space *space, uint32_t *number)
{
	for (size_t i = batch->space_count; i-- > 0;)
		if (batch->spaces[i] == space) {
			*number = (uint32_t)i;
			return 0;
		}
	if (batch->space_count == BATCH_SPACES)
		return -E2BIG;
	int ret = array_reserve(&batch->spaces, &batch->space_capacity, batch->space_count,
				sizeof(struct address_space *));
	if (ret < 0)
		return ret;
	*number = (uint32_t)batch->space_count;
	batch->spaces[batch->space_count++] = address_space_share(space);
	return 0;
}

static int add_sample(struct edge_batch *batch, const struct edge_waiting *waiting,
		      const struct perf_sample *sample, struct span blocks, uint32_t space)
{
	size_t block_count = blocks.size / sizeof(struct sample_memory_block);
	if (block_count > SAMPLE_MEMORY_BLOCKS)
		block_count = SAMPLE_MEMORY_BLOCKS;
	int ret = array_reserve(&batch->samples, &batch->capacity, batch->count,
				sizeof(*batch->samples));
	if (ret == 0)
		ret = array_reserve(&batch->waiting, &batch->waiting_capacity, batch->count,
				    sizeof(*batch->waiting));
	if (ret == 0)
		buffer_append(&batch->blocks, blocks.data,
			      block_count * sizeof(struct sample_memory_block));
	if (ret == 0 && buffer_failed(&batch->blocks))
		ret = -ENOMEM;
	if (ret < 0)
		return ret;
	struct edge_sample *added = &batch->samples[batch->count];
	*added = (struct edge_sample){ .space = space, .blocks = (uint32_t)block_count };
	for (uint64_t i = 0; i < sample->user_registers.count; i++)
		added->registers[i] = perf_word(&sample->user_registers, i);
	added->stack_bytes = sample->user_stack.size < sizeof(added->stack)
				     ? (uint32_t)sample->user_stack.size
				     : (uint32_t)sizeof(added->stack);
	if (added->stack_bytes)
		memcpy(added->stack, sample->user_stack.data, added->stack_bytes);
	batch->waiting[batch->count++] = *waiting;
	return 0;
}

int edges_take(struct edges *edges, const struct edge_waiting *waiting,
	       const struct perf_sample *sample, struct span blocks, struct address_space *space,
	       double allowance_ns)
{
	struct edge_sums *sums = &edges->sums[waiting->sampler];
	struct edge_batch *batch = &edges->gathering;
	if (!edges->on) {
		sums->lost++;
		return 0;
	}
	if (!is_fit(edges, sample, space)) {
		sums->unfit++;
		return 0;
	}
	double set_aside = pace_take(&edges->pace, allowance_ns);
	uint32_t number;
	int ret = set_aside > 0 && batch->count < BATCH_SAMPLES ? find_space(batch, space, &number)
								: -E2BIG;
	if (ret == 0)
		ret = add_sample(batch, waiting, sample, blocks, number);
	batch->set_aside_ns += set_aside; /* given back where nothing came of it */
	if (ret != -E2BIG)
		return ret;
	sums->thinned++;
	return 0;
}

struct span edges_blocks(struct span attached, const struct perf_layout *layout,
			 const struct perf_record *record)
{
	struct perf_record memory;
	const struct span none = { NULL, 0 };
	if (!attached.size ||
	    perf_record_decode(attached.data, attached.size, layout, &memory) < 0 ||
	    memory.type != PERF_RECORD_SAMPLE || memory.sample.ip != record->sample.ip ||
	    memory.identity.tid != record->identity.tid)
		return none;
	struct span raw = memory.sample.raw; /* the kernel has filled it up to a multiple of 8 */
	raw.size -= raw.size % sizeof(struct sample_memory_block);
	return raw.size ? raw : none;
}

/* What is left of a batch whose answer will never come. */
static void lose_batch(struct edges *edges)
{
	for (size_t i = 0; i < edges->under_way.count; i++)
		edges->sums[edges->under_way.waiting[i].sampler].lost++;
	clear_batch(edges, &edges->under_way);
	edges->asked = false;
}

static void forget_files(struct edges *edges)
{
	for (size_t i = 0; i < edges->told_capacity; i++)
		if (edges->told[i] == EDGE_TOLD)
			edges->told[i] = EDGE_UNTOLD;
	edges->told_count = 0;
}

/* The helper is gone; the next request starts another, as often as is reasonable. */
static void count_failure(struct edges *edges, const struct error *err)
{
	forget_files(edges);
	snprintf(edges->failure, sizeof(edges->failure), "%.200s", err->text);
	edges->on = ++edges->failures < FAILURES_MOST;
}

static int reserve_told(struct edges *edges)
{
	size_t wanted = edges->files->count + 1;
	if (wanted <= edges->told_capacity)
		return 0;
	wanted += wanted / 2;
	uint8_t *told = realloc(edges->told, wanted);
	if (!told)
		return -ENOMEM;
	memset(told + edges->told_capacity, EDGE_UNTOLD, wanted - edges->told_capacity);
	edges->told = told;
	edges->told_capacity = wanted;
	return 0;
}

/* -EIO when the helper is gone. */
static int tell_file(struct edges *edges, uint32_t number)
{
	const struct file *file = file_table_get(edges->files, number);
	if (!file || edges->told[number] != EDGE_UNTOLD || !file_may_stay_open(file))
		return 0;
	/* The helper maps it: a file elsewhere as a copy only. */
	CLEANUP(close_fd) int fd = file_table_open_for_long(edges->files, number);
	if (fd < 0) {
		edges->told[number] = EDGE_REFUSED;
		return 0;
	}
	struct message request = {
		.header = { .operation = EDGE_SET_FILE, .what = number, .fd_count = 1 },
		.fds = { fd }
	};
	struct message answer;
	struct error err = { 0 };
	int ret = helper_ask(&edges->helper, &request, TIMEOUT_MS, &answer, &err);
	if (ret == 0)
		message_release(&answer);
	edges->told[number] = ret == 0 ? EDGE_TOLD : EDGE_REFUSED;
	edges->told_count += ret == 0;
	if (ret < 0 && !edges->helper.pid) {
		count_failure(edges, &err);
		return -EIO;
	}
	return 0;
}

static int tell_files(struct edges *edges, const struct edge_batch *batch)
{
	if (edges->told_count > TOLD_FILES) {
		helper_stop(&edges->helper);
		forget_files(edges);
	}
	int ret = reserve_told(edges);
	for (size_t i = 0; i < batch->space_count && ret == 0; i++)
		for (size_t j = 0; j < batch->spaces[i]->count && ret == 0; j++)
			ret = tell_file(edges, batch->spaces[i]->list[j].file);
	return ret;
}

static int send_batch(struct edges *edges, struct error *err)
{
	const struct edge_batch *batch = &edges->under_way;
	struct message message = { .header.operation = EDGE_RUN };
	struct edge_request request = { .registers = edges->registers,
					.spaces = (uint32_t)batch->space_count,
					.samples = (uint32_t)batch->count };
	buffer_append(&message.payload, &request, sizeof(request));
	for (size_t i = 0; i < batch->space_count; i++) {
		const struct address_space *space = batch->spaces[i];
		struct edge_space_request header = { .count = space->count };
		buffer_append(&message.payload, &header, sizeof(header));
		buffer_append(&message.payload, space->list, space->count * sizeof(*space->list));
	}
	buffer_append(&message.payload, batch->samples, batch->count * sizeof(*batch->samples));
	buffer_append(&message.payload, batch->blocks.data, batch->blocks.size);
	int ret = helper_send(&edges->helper, &message, TIMEOUT_MS, err);
	buffer_release(&message.payload);
	return ret;
}

/* Gives the helper what was gathered. */
static int ask(struct edges *edges)
{
	struct edge_batch spare = edges->under_way;
	if (!edges->gathering.count)
		return 0;
	edges->under_way = edges->gathering;
	edges->gathering = spare;
	if (!edges->on) {
		lose_batch(edges);
		return 0;
	}
	struct error err = { 0 };
	int ret = tell_files(edges, &edges->under_way);
	if (ret == 0) {
		ret = send_batch(edges, &err);
		if (ret < 0 && ret != -ENOMEM)
			count_failure(edges, &err);
	}
	edges->asked = ret == 0;
	edges->asked_ns = clock_monotonic_ns();
	if (ret < 0)
		lose_batch(edges);
	return ret == -ENOMEM ? ret : 0;
}

/* A helper that dealt with strangers' code is as little trusted as they are. Files may have come
 * since it was asked. */
static bool known_file(const struct edges *edges, uint32_t number)
{
	return number < edges->told_capacity && edges->told[number] == EDGE_TOLD;
}

static int add_edge(struct edges *edges, const struct edge_waiting *waiting,
		    const struct edge_found *found)
{
	if (!known_file(edges, found->from_file) || !known_file(edges, found->to_file))
		return -EBADMSG;
	struct edge_row edge = { .event = waiting->event,
				 .context = waiting->context,
				 .from_vaddr = found->from_vaddr,
				 .to_vaddr = found->to_vaddr };
	int ret = file_table_image(edges->files, found->from_file, &edge.from_image);
	if (ret == 0)
		ret = file_table_image(edges->files, found->to_file, &edge.to_image);
	if (ret < 0)
		return ret;
	/* What its user has no room for is counted there. */
	if (waiting->share && waiting->share->strange && !edge_tally_knows(&edges->tally, &edge) &&
	    !share_take(edges->shares, waiting->share, SHARE_EDGES, 1))
		return 0;
	return edge_tally_add(&edges->tally, &edge);
}

static int take_path(struct edges *edges, const struct edge_waiting *waiting, struct cursor *cursor)
{
	struct edge_sums *sums = &edges->sums[waiting->sampler];
	struct edge_path path;
	const void *header = cursor_take(cursor, sizeof(path));
	if (!header)
		return -EBADMSG;
	memcpy(&path, header, sizeof(path));
	if (path.end >= INTERPRET_ENDS || path.edges > EDGE_INSTRUCTIONS)
		return -EBADMSG;
	for (uint32_t i = 0; i < path.edges; i++) {
		struct edge_found found;
		const void *bytes = cursor_take(cursor, sizeof(found));
		if (!bytes)
			return -EBADMSG;
		memcpy(&found, bytes, sizeof(found));
		int ret = add_edge(edges, waiting, &found);
		if (ret < 0)
			return ret;
	}
	sums->interpreted++;
	sums->silent += path.edges == 0;
	sums->outcomes += path.edges;
	sums->ends[path.end]++;
	return 0;
}

static int take_answer(struct edges *edges, const struct message *answer, size_t *taken)
{
	const struct edge_batch *batch = &edges->under_way;
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	struct edge_answer told;
	const void *header = cursor_take(&cursor, sizeof(told));
	if (!header)
		return -EBADMSG;
	memcpy(&told, header, sizeof(told));
	int ret = 0;
	for (*taken = 0; *taken < batch->count && ret == 0; *taken += ret == 0)
		ret = take_path(edges, &batch->waiting[*taken], &cursor);
	pace_settle(&edges->pace, batch->count, batch->set_aside_ns, (double)told.cpu_ns);
	edges->cpu_ns += told.cpu_ns;
	return ret;
}

/* Takes the answer, for which the helper has until its deadline. */
static int receive(struct edges *edges)
{
	uint64_t passed_ms = (clock_monotonic_ns() - edges->asked_ns) / 1000000;
	uint32_t left_ms = passed_ms < TIMEOUT_MS ? TIMEOUT_MS - (uint32_t)passed_ms : 1;
	struct message answer;
	struct error err = { 0 };
	size_t taken = 0;
	int ret = helper_receive(&edges->helper, left_ms, &answer, &err);
	if (ret == 0) {
		ret = take_answer(edges, &answer, &taken);
		message_release(&answer);
		if (ret == -EBADMSG)
			error_set(&err, ret, "the helper's answer makes no sense");
	} else if (ret == -ENOMEM) {
		ret = -EIO; /* the helper's memory, not ours */
	}
	if (ret < 0 && ret != -ENOMEM) {
		helper_stop(&edges->helper);
		count_failure(edges, &err);
	}
	if (ret < 0) {
		/* those before are counted */
		edges->under_way.count -= taken;
		memmove(edges->under_way.waiting, edges->under_way.waiting + taken,
			edges->under_way.count * sizeof(*edges->under_way.waiting));
		lose_batch(edges);
	}
	clear_batch(edges, &edges->under_way);
	edges->asked = false;
	return ret == -ENOMEM ? ret : 0;
}

int edges_service(struct edges *edges, enum edges_patience patience)
{
	int ret = 0;
	uint64_t passed_ns = clock_monotonic_ns() - edges->asked_ns;
	if (edges->asked) {
		bool late = passed_ns > (uint64_t)TIMEOUT_MS * 1000000;
		if (patience != EDGES_WAIT && !late && !helper_answers(&edges->helper))
			return 0;
		ret = receive(edges);
	}
	if (ret == 0 && (patience == EDGES_WAIT || edges->gathering.count >= BATCH_WORTH ||
			 passed_ns >= BATCH_WAIT_NS))
		ret = ask(edges);
	if (ret == 0 && patience == EDGES_WAIT && edges->asked)
		ret = receive(edges);
	return ret;
}

static int write_ends(const struct edge_sums *sums, uint32_t event, struct profile *profile)
{
	int ret = 0;
	for (int end = 0; end < INTERPRET_ENDS && ret == 0; end++) {
		char item[96];
		if (!sums->ends[end])
			continue;
		snprintf(item, sizeof(item), BILL_INTERPRET_END_PREFIX "%s",
			 interpret_end_name((enum interpret_end)end));
		for (char *at = item; *at; at++)
			if (*at == ' ')
				*at = '_';
		ret = profile_add_bill(profile, event, OPTIONAL_ABSENT, item, sums->ends[end]);
	}
	return ret;
}

int edges_write_bill(struct edges *edges, size_t sampler, uint32_t event, struct profile *profile)
{
	struct edge_sums *sums = &edges->sums[sampler];
	const struct {
		const char *item;
		uint64_t amount;
	} lines[] = {
		{ BILL_INTERPRETED, sums->interpreted },
		{ BILL_INTERPRET_THINNED, sums->thinned },
		{ BILL_INTERPRET_UNFIT, sums->unfit },
		{ BILL_INTERPRET_LOST, sums->lost },
		{ BILL_INTERPRET_SILENT, sums->silent },
		{ BILL_INTERPRET_OUTCOMES, sums->outcomes },
	};
	int ret = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && ret == 0; i++)
		ret = profile_add_bill(profile, event, OPTIONAL_ABSENT, lines[i].item,
				       lines[i].amount);
	if (ret == 0)
		ret = write_ends(sums, event, profile);
	if (ret == 0)
		*sums = (struct edge_sums){ 0 };
	return ret;
}
