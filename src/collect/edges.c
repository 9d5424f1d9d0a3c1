#include "collect/edges.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A batch finds the helper's code and tables out of the caches: it should be worth it. */
#define BATCH_WORTH    512u
#define BATCH_WAIT_NS  1000000000u
#define SPACE_MAPPINGS 4096u /* executable ones; a process with more is up to something */
#define TOLD_FILES     1024u /* then the helper starts anew with those that are needed */
#define TIMEOUT_MS     2000u /* a batch takes 160 ms at most, a file that is mapped less */
#define FAILURES_MOST  8u
/* A stranger's batch is not waited for until recording ends; then for what is left of his time. */
#define STRANGE_TIMEOUT_MS 1000u
#define FAILURE_LEAST_NS   100000000u /* that a stranger pays: another process is started, too */
#define ANSWER_MOST_BYTES                                                                          \
	(sizeof(struct edge_answer) +                                                              \
	 EDGE_BATCH_SAMPLES *                                                                      \
		 (sizeof(struct edge_path) + EDGE_INSTRUCTIONS * sizeof(struct edge_found)))
/* Reading the first files and decoding their code comes before anything can be saved up. */
#define FIRST_NS      10e6
#define LIMIT_NS      50e6
#define COST_GUESS_NS 10e3

static int lane_init(struct edges *edges, struct edge_lane *lane, bool start, struct error *err)
{
	lane->helper = (struct helper){ .run = edge_helper_run,
					.watch = edges->watch,
					.most_answer_bytes = ANSWER_MOST_BYTES };
	lane->answered_ns = lane->asked_ns = clock_monotonic_ns();
	pace_init(&lane->pace, FIRST_NS, LIMIT_NS, COST_GUESS_NS);
	int ret = start ? helper_start(&lane->helper, err) : 0;
	lane->on = ret == 0;
	return ret;
}

int edges_init(struct edges *edges, const struct edges_options *options, struct error *err)
{
	*edges = (struct edges){ .files = options->files,
				 .shares = options->shares,
				 .watch = options->watch,
				 .registers = edge_registers(),
				 .sums = calloc(options->sampler_count + 1, sizeof(*edges->sums)),
				 .sampler_count = options->sampler_count };
	if (!edges->sums)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = lane_init(edges, &edges->own, true, err);
	if (ret < 0)
		return ret;
	bool limited = edges->shares && !edges->shares->limits.unlimited;
	ret = lane_init(edges, &edges->strange, limited, err);
	edges->strange.strange = true;
	edges->strange.helper.most_resident_bytes = SHARE_HELPER_BYTES;
	return ret;
}

static void lane_release(struct edges *edges, struct edge_lane *lane)
{
	edge_batch_release(&lane->gathering, edges->shares);
	edge_batch_release(&lane->under_way, edges->shares);
	edge_batch_release(&lane->spare, edges->shares);
	helper_kill(&lane->helper); /* it has nothing to end in order */
	free(lane->told);
}

void edges_release(struct edges *edges)
{
	lane_release(edges, &edges->own);
	lane_release(edges, &edges->strange);
	edge_tally_release(&edges->tally);
	free(edges->sums);
	*edges = (struct edges){ 0 };
}

static struct edge_lane *lane_of(struct edges *edges, const struct share *share)
{
	return edges->shares && share && share->strange ? &edges->strange : &edges->own;
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

int edges_take(struct edges *edges, const struct edge_waiting *waiting,
	       const struct perf_sample *sample, struct span blocks, struct address_space *space,
	       double allowance_ns)
{
	struct edge_sums *sums = &edges->sums[waiting->sampler];
	struct edge_lane *lane = lane_of(edges, waiting->share);
	if (!lane->on) {
		sums->lost++;
		return 0;
	}
	if (!is_fit(edges, sample, space)) {
		sums->unfit++;
		return 0;
	}
	double set_aside = pace_take(&lane->pace, allowance_ns);
	int ret = set_aside > 0 ? edge_batch_add(&lane->gathering, waiting, sample, blocks, space)
				: -E2BIG;
	lane->gathering.set_aside_ns += set_aside; /* given back where nothing came of it */
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

static void lose(struct edges *edges, struct edge_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		edges->sums[batch->waiting[i].sampler].lost++;
	edge_batch_clear(batch, edges->shares);
}

/* Another process will know no files, and nobody's samples. */
static void forget_helper(struct edge_lane *lane)
{
	for (size_t i = 0; i < lane->told_capacity; i++)
		if (lane->told[i] == EDGE_TOLD)
			lane->told[i] = EDGE_UNTOLD;
	lane->told_count = 0;
	lane->outdated = false;
	lane->first = NULL;
	lane->mixed = false;
}

/*
 * The helper is gone; the next request starts another, as often as is reasonable: strangers pay for
 * it. The batch is lost, unless it may be others' fault who had this helper before: then it has a
 * new one for itself.
 */
static int fail(struct edges *edges, struct edge_lane *lane, const struct error *err)
{
	bool mixed = lane->mixed;
	forget_helper(lane);
	if (err->code == -ECANCELED) {
		lose(edges, &lane->under_way);
		return 0;
	}
	edges->failures++;
	lane->failures++;
	snprintf(edges->failure, sizeof(edges->failure), "%.200s", err->text);
	lane->on = lane->strange || lane->failures < FAILURES_MOST;
	if (mixed) {
		int ret = edge_batch_append(&lane->under_way, &lane->gathering, edges->shares);
		if (ret == 0)
			lane->again = lane->payer;
		if (ret != -E2BIG)
			return ret;
	} else if (lane->strange) {
		uint64_t cost_ns = clock_monotonic_ns() - lane->asked_ns;
		cost_ns = cost_ns > FAILURE_LEAST_NS ? cost_ns : FAILURE_LEAST_NS;
		if (cost_ns > lane->paid_ns)
			share_spend(edges->shares, lane->payer, SHARE_READING,
				    cost_ns - lane->paid_ns);
	}
	lose(edges, &lane->under_way);
	return 0;
}

static int reserve_told(struct edges *edges, struct edge_lane *lane)
{
	size_t wanted = edges->files->count + 1;
	if (wanted <= lane->told_capacity)
		return 0;
	wanted += wanted / 2;
	uint8_t *told = realloc(lane->told, wanted);
	if (!told)
		return -ENOMEM;
	memset(told + lane->told_capacity, EDGE_UNTOLD, wanted - lane->told_capacity);
	lane->told = told;
	lane->told_capacity = wanted;
	return 0;
}

/* How long a request may be waited for now. */
static uint32_t patience_ms(const struct edges *edges, const struct edge_lane *lane)
{
	if (!lane->strange)
		return TIMEOUT_MS;
	uint64_t left_ms = shares_time_left_ns(edges->shares) / 1000000;
	return left_ms < STRANGE_TIMEOUT_MS ? (uint32_t)left_ms + 1 : STRANGE_TIMEOUT_MS;
}

/* Negative when the helper is gone, or we are asked to end. */
static int tell_file(struct edges *edges, struct edge_lane *lane, uint32_t number,
		     struct error *err)
{
	const struct file *file = file_table_get(edges->files, number);
	if (!file || lane->told[number] != EDGE_UNTOLD || !file_may_stay_open(file))
		return 0;
	const struct share *owner = file->share;
	/* The helper maps it: a file elsewhere as a copy only. */
	CLEANUP(close_fd) int fd = file_table_open_for_long(edges->files, number);
	if (fd < 0) {
		bool in_time =
			!lane->strange || shares_time_left_ns(edges->shares) >= SHARE_LEAST_NS;
		lane->told[number] = in_time ? EDGE_REFUSED : EDGE_UNTOLD;
		return 0;
	}
	struct message request = {
		.header = { .operation = EDGE_SET_FILE, .what = number, .fd_count = 1 },
		.fds = { fd }
	};
	struct message answer;
	int ret = helper_ask(&lane->helper, &request, patience_ms(edges, lane), &answer, err);
	if (ret == 0)
		message_release(&answer);
	if (ret == -ECANCELED)
		return ret;
	lane->told_count += ret == 0;
	/* What a stranger had too little time for may be somebody else's. */
	bool its_own = !lane->strange || (owner == lane->payer && !lane->mixed);
	if (ret == 0 || lane->helper.pid || its_own)
		lane->told[number] = ret == 0 ? EDGE_TOLD : EDGE_REFUSED;
	return ret < 0 && !lane->helper.pid ? -EIO : 0;
}

static int tell_files(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	const struct edge_batch *batch = &lane->under_way;
	int ret = reserve_told(edges, lane);
	for (size_t i = 0; i < batch->space_count; i++) {
		struct mapping_place place = { 0 };
		const struct mapping *mapping;
		while (ret == 0 && (mapping = address_space_next(batch->spaces[i], &place)))
			ret = tell_file(edges, lane, mapping->file, err);
	}
	return ret;
}

static int send_batch(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	const struct edge_batch *batch = &lane->under_way;
	struct message message = { .header.operation = EDGE_RUN };
	struct edge_request request = { .registers = edges->registers,
					.spaces = (uint32_t)batch->space_count,
					.samples = (uint32_t)batch->count };
	buffer_append(&message.payload, &request, sizeof(request));
	for (size_t i = 0; i < batch->space_count; i++) {
		const struct address_space *space = batch->spaces[i];
		struct edge_space_request header = { .count = space->count };
		buffer_append(&message.payload, &header, sizeof(header));
		for (size_t j = 0; j < space->block_count; j++)
			buffer_append(&message.payload, space->blocks[j].list,
				      space->blocks[j].count * sizeof(struct mapping));
	}
	buffer_append(&message.payload, batch->samples, batch->count * sizeof(*batch->samples));
	buffer_append(&message.payload, batch->blocks.data, batch->blocks.size);
	int ret = helper_send(&lane->helper, &message, patience_ms(edges, lane), err);
	buffer_release(&message.payload);
	return ret;
}

/* Chooses what the helper is given: all that is trusted, or what waits of one stranger. */
static int choose_batch(struct edges *edges, struct edge_lane *lane)
{
	struct edge_batch *gathering = &lane->gathering;
	struct edge_batch spare = lane->under_way; /* empty */
	bool one = true;
	lane->payer = lane->strange ? gathering->waiting[0].share : NULL;
	for (size_t i = 0; lane->strange && i < gathering->count; i++) {
		one = one && gathering->waiting[i].share == gathering->waiting[0].share;
		if (gathering->waiting[i].share == lane->again)
			lane->payer = lane->again;
	}
	lane->again = NULL;
	if (one) {
		lane->under_way = *gathering;
		*gathering = spare;
		return 0;
	}
	int ret = edge_batch_part(gathering, lane->payer, &lane->under_way, &lane->spare,
				  edges->shares);
	spare = *gathering;
	*gathering = lane->spare;
	lane->spare = spare;
	return ret;
}

static int tell_and_send(struct edges *edges, struct edge_lane *lane, struct error *err)
{
	if (lane->told_count > TOLD_FILES || lane->outdated) {
		helper_kill(&lane->helper);
		forget_helper(lane);
	}
	lane->mixed = lane->mixed || (lane->first && lane->first != lane->payer);
	lane->first = lane->first ? lane->first : lane->payer;
	int ret = tell_files(edges, lane, err);
	return ret < 0 ? ret : send_batch(edges, lane, err);
}

/* What there is no time for goes the way of what the budget has no room for. */
static bool can_pay(struct edges *edges, struct edge_lane *lane)
{
	struct edge_batch *batch = &lane->under_way;
	if (!lane->strange || share_reading_left_ns(edges->shares, lane->payer) >= SHARE_LEAST_NS)
		return true;
	for (size_t i = 0; i < batch->count; i++)
		edges->sums[batch->waiting[i].sampler].thinned++;
	edge_batch_clear(batch, edges->shares);
	return false;
}

/* Gives the helper what was gathered. */
static int ask(struct edges *edges, struct edge_lane *lane)
{
	if (!lane->gathering.count)
		return 0;
	int ret = choose_batch(edges, lane);
	lane->asked_ns = clock_monotonic_ns();
	if (ret < 0 || !can_pay(edges, lane))
		return ret;
	if (!lane->on) {
		lose(edges, &lane->under_way);
		return 0;
	}
	struct error err = { 0 };
	struct reader *reader = edges->files->reader;
	if (lane->strange)
		shares_charge(edges->shares, lane->payer, SHARE_READING, 0, reader);
	ret = tell_and_send(edges, lane, &err);
	if (lane->strange)
		shares_settle(edges->shares, reader);
	lane->paid_ns = clock_monotonic_ns() - lane->asked_ns;
	lane->asked = ret == 0;
	if (ret == 0)
		return 0;
	if (ret != -ENOMEM)
		return fail(edges, lane, &err);
	lose(edges, &lane->under_way);
	return ret;
}

/* A helper that dealt with strangers' code is as little trusted as they are. Files may have come
 * since it was asked. */
static bool known_file(const struct edge_lane *lane, uint32_t number)
{
	return number < lane->told_capacity && lane->told[number] == EDGE_TOLD;
}

static int add_edge(struct edges *edges, const struct edge_lane *lane,
		    const struct edge_waiting *waiting, const struct edge_found *found)
{
	if (!known_file(lane, found->from_file) || !known_file(lane, found->to_file))
		return -EBADMSG;
	struct edge_row edge = { .event = waiting->event,
				 .context = waiting->context,
				 .from_vaddr = found->from_vaddr,
				 .to_vaddr = found->to_vaddr,
				 .asker = waiting->share ? share_asker(waiting->share) : 0 };
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

static int take_path(struct edges *edges, const struct edge_lane *lane,
		     const struct edge_waiting *waiting, struct cursor *cursor)
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
		int ret = add_edge(edges, lane, waiting, &found);
		if (ret < 0)
			return ret;
	}
	sums->interpreted++;
	sums->silent += path.edges == 0;
	sums->outcomes += path.edges;
	sums->ends[path.end]++;
	return 0;
}

/* What it says that it took, which cannot be more than has passed. */
static uint64_t cpu_time(struct edge_lane *lane, uint64_t told_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t passed_ns = now_ns - lane->answered_ns;
	lane->answered_ns = now_ns;
	return told_ns < passed_ns ? told_ns : passed_ns;
}

static int take_answer(struct edges *edges, struct edge_lane *lane, const struct message *answer,
		       size_t *taken)
{
	const struct edge_batch *batch = &lane->under_way;
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	struct edge_answer told;
	const void *header = cursor_take(&cursor, sizeof(told));
	if (!header)
		return -EBADMSG;
	memcpy(&told, header, sizeof(told));
	uint64_t cpu_ns = cpu_time(lane, told.cpu_ns);
	int ret = 0;
	for (*taken = 0; *taken < batch->count && ret == 0; *taken += ret == 0)
		ret = take_path(edges, lane, &batch->waiting[*taken], &cursor);
	pace_settle(&lane->pace, batch->count, batch->set_aside_ns, (double)cpu_ns);
	edges->cpu_ns += cpu_ns;
	return ret;
}

/* Waits for an answer, for which the helper has until its deadline. */
static int await(struct edges *edges, struct edge_lane *lane, struct message *answer,
		 struct error *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t passed_ms = (begin_ns - lane->asked_ns) / 1000000;
	uint64_t most_ms = lane->strange ? STRANGE_TIMEOUT_MS : TIMEOUT_MS;
	uint64_t left_ms = passed_ms < most_ms ? most_ms - passed_ms : 1;
	if (!lane->strange)
		return helper_receive(&lane->helper, (uint32_t)left_ms, answer, err);
	uint64_t paid_ns = share_reading_left_ns(edges->shares, lane->payer);
	uint64_t paid_ms = (paid_ns > SHARE_LEAST_NS ? paid_ns : SHARE_LEAST_NS) / 1000000;
	left_ms = left_ms < paid_ms ? left_ms : paid_ms;
	int ret = helper_receive(&lane->helper, (uint32_t)left_ms, answer, err);
	uint64_t waited_ns = clock_monotonic_ns() - begin_ns;
	share_spend(edges->shares, lane->payer, SHARE_READING, waited_ns);
	lane->paid_ns += waited_ns;
	return ret;
}

/* Those before are counted. */
static void forget_taken(struct edge_batch *batch, size_t taken)
{
	batch->count -= taken;
	memmove(batch->waiting, batch->waiting + taken, batch->count * sizeof(*batch->waiting));
}

static int receive(struct edges *edges, struct edge_lane *lane)
{
	struct message answer;
	struct error err = { 0 };
	size_t taken = 0;
	int ret = await(edges, lane, &answer, &err);
	if (ret == 0) {
		ret = take_answer(edges, lane, &answer, &taken);
		message_release(&answer);
		if (ret == -EBADMSG)
			error_set(&err, ret, "the helper's answer makes no sense");
	} else if (ret == -ENOMEM) {
		ret = -EIO; /* the helper's memory, not ours */
	}
	lane->asked = false;
	if (ret == 0) {
		edge_batch_clear(&lane->under_way, edges->shares);
		return 0;
	}
	if (taken) {
		forget_taken(&lane->under_way, taken);
		lose(edges, &lane->under_way);
	}
	if (ret == -ENOMEM) {
		lose(edges, &lane->under_way);
		return ret;
	}
	helper_kill(&lane->helper);
	return fail(edges, lane, &err);
}

static bool is_unwanted(const struct edges *edges)
{
	const struct helper_watch *watch = edges->watch;
	return watch && watch->look && watch->look(watch->context) < 0;
}

static void lose_all(struct edges *edges, struct edge_lane *lane)
{
	if (lane->asked) {
		helper_kill(&lane->helper);
		forget_helper(lane);
	}
	lane->asked = false;
	lose(edges, &lane->under_way);
	lose(edges, &lane->gathering);
}

static int go_on(struct edges *edges, struct edge_lane *lane)
{
	int ret = 0;
	uint64_t passed_ns = clock_monotonic_ns() - lane->asked_ns;
	if (lane->asked) {
		uint64_t most_ms = lane->strange ? STRANGE_TIMEOUT_MS : TIMEOUT_MS;
		if (passed_ns <= most_ms * 1000000 && !helper_answers(&lane->helper))
			return 0;
		ret = receive(edges, lane);
	}
	if (ret == 0 && (lane->gathering.count >= BATCH_WORTH || passed_ns >= BATCH_WAIT_NS))
		ret = ask(edges, lane);
	return ret;
}

static int finish(struct edges *edges, struct edge_lane *lane)
{
	int ret = 0;
	while (ret == 0 && (lane->asked || lane->gathering.count)) {
		if (is_unwanted(edges))
			lose_all(edges, lane);
		else
			ret = lane->asked ? receive(edges, lane) : ask(edges, lane);
	}
	return ret;
}

int edges_service(struct edges *edges, enum edges_patience patience)
{
	/* Nothing is begun that would be lost: recording is about to end. */
	if (patience != EDGES_WAIT && is_unwanted(edges))
		return 0;
	int (*const serve)(struct edges * edges, struct edge_lane * lane) =
		patience == EDGES_WAIT ? finish : go_on;
	int ret = serve(edges, &edges->own);
	return ret < 0 ? ret : serve(edges, &edges->strange);
}

struct edge_batch *edges_batch(struct edges *edges, size_t position)
{
	struct edge_batch *batches[] = { &edges->own.gathering,	    &edges->own.under_way,
					 &edges->own.spare,	    &edges->strange.gathering,
					 &edges->strange.under_way, &edges->strange.spare };
	return position < sizeof(batches) / sizeof(batches[0]) ? batches[position] : NULL;
}

static void forget_files(struct edge_lane *lane, const bool *in_use)
{
	for (size_t number = 1; number < lane->told_capacity; number++) {
		if (lane->told[number] == EDGE_UNTOLD || in_use[number])
			continue;
		lane->outdated |= lane->told[number] == EDGE_TOLD;
		lane->told[number] = EDGE_UNTOLD;
	}
}

void edges_forget_files(struct edges *edges, const bool *in_use)
{
	forget_files(&edges->own, in_use);
	forget_files(&edges->strange, in_use);
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
