/*
 * Samples: whose, where, by which calls, and how much each one weighs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "import/perf_data/perf_data_private.h"
#include "import/unwind/unwind.h"

#define EMPTY_RAW	      4 /* bytes of padding, of events that have no raw data */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* PERF_CONTEXT_USER_DEFERRED, Linux 6.18 */

/* ---- by which calls */

static bool is_mark(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

static enum perf_mode mode_of_mark(uint64_t mark)
{
	switch (mark) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return PERF_MODE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return PERF_MODE_USER;
	case (uint64_t)PERF_CONTEXT_HV:
		return PERF_MODE_HYPERVISOR;
	case (uint64_t)PERF_CONTEXT_GUEST_KERNEL:
		return PERF_MODE_GUEST_KERNEL;
	case (uint64_t)PERF_CONTEXT_GUEST:
	case (uint64_t)PERF_CONTEXT_GUEST_USER:
		return PERF_MODE_GUEST_USER;
	default:
		return PERF_MODE_UNKNOWN;
	}
}

/* The frames of a sample, innermost first. */
struct chain {
	struct perf_chain_frame *frames;
	size_t count;
	bool user_missing; /* the user's part was recorded otherwise and could not be followed */
};

static int reserve_frames(struct perf_data *data, uint64_t count)
{
	if (count <= data->frame_capacity)
		return 0;
	struct perf_chain_frame *grown = reallocarray(data->frames, count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	data->frames = grown;
	data->frame_capacity = count;
	return 0;
}

static void add_frame(struct chain *chain, uint64_t address, enum perf_mode mode,
		      enum frame_kind kind)
{
	chain->frames[chain->count++] =
		(struct perf_chain_frame){ .address = address, .mode = mode, .kind = kind };
}

/* The user's calls as the hardware kept them, newest first: each `from` is a call instruction, the
 * first `to` is where the last call went. */
static void add_call_stack(struct chain *chain, const struct perf_words *branches)
{
	for (uint64_t i = 0; i + 2 < branches->count; i += 3) {
		if (i == 0)
			add_frame(chain, perf_word(branches, 1), PERF_MODE_USER, FRAME_IP);
		add_frame(chain, perf_word(branches, i), PERF_MODE_USER, FRAME_IP);
	}
}

/* The kernel's chain. The first address of each part is where it was interrupted, the others are
 * returns. */
static void read_words(struct chain *chain, const struct perf_words *words, bool stop_at_user)
{
	enum perf_mode mode = PERF_MODE_UNKNOWN;
	bool first = true;
	for (uint64_t i = 0; i < words->count; i++) {
		uint64_t word = perf_word(words, i);
		if (word == CONTEXT_USER_DEFERRED && i + 2 == words->count) {
			chain->user_missing = true; /* a number follows, for a later record */
			return;
		}
		if (is_mark(word)) {
			mode = mode_of_mark(word);
			first = true;
			if (mode == PERF_MODE_USER && stop_at_user)
				return;
			continue;
		}
		add_frame(chain, word, mode, first ? FRAME_IP : FRAME_RETURN);
		first = false;
	}
}

static bool has_user_frames(const struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		if (chain->frames[i].mode == PERF_MODE_USER)
			return true;
	return false;
}

/* The stack as its registers and bytes tell it. A sampled address of the user's own is more precise
 * than the register. */
static void add_unwound(struct chain *chain, const struct unwind_run *run, uint64_t sampled)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct unwind_frame *frame = &run->frames[i];
		bool leaf = i == 0 && chain->count == 0 && sampled;
		add_frame(chain, leaf ? sampled : frame->address, PERF_MODE_USER,
			  frame->is_return ? FRAME_RETURN : FRAME_IP);
	}
	chain->user_missing = run->end != UNWIND_WHOLE;
}

static int read_chain(struct perf_data *data, const struct perf_file_event *event,
		      const struct perf_record *record, struct chain *chain)
{
	const struct perf_sample *sample = &record->sample;
	enum perf_mode mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	const struct unwind_run *unwound = perf_data_unwound(data);
	if (reserve_frames(data, sample->chain.count + sample->branches.count +
					 (unwound ? unwound->count : 0) + 2) < 0)
		return -ENOMEM;
	*chain = (struct chain){ .frames = data->frames };
	bool call_stack = event->elsewhere == PERF_USER_BRANCHES && sample->branches.count;
	read_words(chain, &sample->chain, call_stack);
	if (call_stack)
		add_call_stack(chain, &sample->branches);
	else if (unwound && !has_user_frames(chain)) {
		add_unwound(chain, unwound, mode == PERF_MODE_USER ? sample->ip : 0);
	} else if (event->elsewhere == PERF_USER_STACK && sample->user_abi &&
		   !has_user_frames(chain)) {
		/* Where user frames come from registers and stack: user code itself is known. */
		if (mode == PERF_MODE_USER && !chain->count)
			add_frame(chain, sample->ip, mode, FRAME_IP);
		chain->user_missing = true;
	}
	if (!chain->count)
		add_frame(chain, sample->ip, mode, FRAME_IP);
	return 0;
}

/* The path of calls that could not be followed. */
static int add_missing(struct perf_data *data, uint64_t *path)
{
	struct perf_place place;
	uint32_t node;
	int ret = perf_places_unknown(&data->places, UNKNOWN_NOT_UNWOUND, &place);
	if (ret == 0)
		ret = perf_cells_node(&data->cells, 0, place.image, 0, FRAME_IP, &node);
	if (ret == 0)
		*path = perf_cells_path(&data->cells, node);
	return ret;
}

/* Keeps small numbers apart from what is added or xored beside them: 2^64 / golden ratio. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* What an address of this sample means: whose it is, and which mappings and names hold. */
static uint64_t meaning(const struct perf_data *data, const struct process *process, uint64_t mode)
{
	return hash_u64((uint64_t)process->serial << 32 | data->places.kernel_serial) +
	       hash_u64(data->places.stage) + mode * SPREAD;
}

/* Gives each frame from `first` on what it is met by. */
static void note_meetings(const struct perf_data *data, const struct process *process,
			  const struct chain *chain, size_t first)
{
	uint64_t met = meaning(data, process, chain->user_missing);
	for (size_t i = chain->count; i-- > first;) {
		struct perf_chain_frame *frame = &chain->frames[i];
		uint64_t how = (uint64_t)frame->mode << 1 | frame->kind;
		frame->met = met = hash_u64((met ^ frame->address) + how * SPREAD);
	}
}

/* Gives each frame from `first` on, and inside of `known`, its place and path. */
static int locate_frames(struct perf_data *data, struct process *process, const struct chain *chain,
			 size_t first, size_t known, uint64_t path)
{
	for (size_t i = known; i-- > first;) {
		struct perf_chain_frame *frame = &chain->frames[i];
		int ret = perf_places_locate(&data->places, process, frame->mode, frame->address,
					     frame->kind, &frame->place);
		if (ret < 0)
			return ret;
		path = frame->path =
			perf_path(path, frame->place.image, frame->place.vaddr, frame->kind);
		perf_cells_remember(&data->cells, frame->met, path);
	}
	return 0;
}

/* The node of the frame `first`, or of `path` when there is no frame. The frames inside of `known`
 * are located, and called from the end of `path`. Only the innermost ones are new, if any. */
static int need_nodes(struct perf_data *data, const struct chain *chain, size_t first, size_t known,
		      uint64_t path, uint32_t *node)
{
	size_t at = first;
	*node = 0;
	while (at < known && !(*node = perf_cells_find(&data->cells, chain->frames[at].path)))
		at++;
	if (at == known)
		*node = perf_cells_find(&data->cells, path);
	int ret = 0;
	while (at-- > first && ret == 0) {
		const struct perf_chain_frame *frame = &chain->frames[at];
		ret = perf_cells_node(&data->cells, *node, frame->place.image, frame->place.vaddr,
				      frame->kind, node);
	}
	return ret;
}

/* The trie's node for frames innermost first, from `first` on. Most of the outer ones were met
 * lately: the walk begins at the innermost path that was. */
static int walk(struct perf_data *data, struct process *process, const struct chain *chain,
		size_t first, uint32_t *node)
{
	size_t known = first;
	uint64_t path = PERF_ROOT_PATH;
	int ret = 0;
	note_meetings(data, process, chain, first);
	while (known < chain->count &&
	       !perf_cells_recall(&data->cells, chain->frames[known].met, &path))
		known++;
	if (known == chain->count && chain->user_missing)
		ret = add_missing(data, &path);
	if (ret == 0)
		ret = locate_frames(data, process, chain, first, known, path);
	return ret < 0 ? ret : need_nodes(data, chain, first, known, path, node);
}

/* The common case: a chain whose first address is the sampled one, and nothing else to follow.
 * Stores the number of words before the callers; 0 when the case is another. */
static uint64_t words_before_callers(const struct perf_file_event *event,
				     const struct perf_record *record)
{
	const struct perf_words *words = &record->sample.chain;
	if (event->elsewhere || !words->count)
		return 0;
	uint64_t first = is_mark(perf_word(words, 0));
	if (first == words->count || perf_word(words, first) != record->sample.ip)
		return 0;
	enum perf_mode mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (first && mode_of_mark(perf_word(words, 0)) != mode)
		return 0;
	return first + 1;
}

/* Calls that were met lately are found by their addresses. */
static int find_callers(struct perf_data *data, struct process *process,
			const struct perf_file_event *event, const struct perf_record *record,
			uint64_t skipped, uint32_t *node)
{
	const struct perf_words *words = &record->sample.chain;
	*node = 0;
	if (skipped == words->count)
		return 0;
	uint64_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t hash = hash_bytes(words->bytes + skipped * 8, (words->count - skipped) * 8) ^
			meaning(data, process, mode << 1 | (skipped > 1));
	uint64_t known;
	if (perf_cells_recall(&data->cells, hash, &known)) {
		*node = (uint32_t)known;
		return 0;
	}
	struct chain chain;
	int ret = read_chain(data, event, record, &chain);
	if (ret == 0)
		ret = walk(data, process, &chain, 1, node);
	if (ret == 0)
		perf_cells_remember(&data->cells, hash, *node);
	return ret;
}

static int find_calls(struct perf_data *data, struct process *process,
		      const struct perf_file_event *event, const struct perf_record *record,
		      struct perf_cell_key *key)
{
	key->stack = PERF_STACK_NONE;
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	uint64_t skipped = words_before_callers(event, record);
	key->stack = PERF_STACK_LEAF;
	if (skipped)
		return find_callers(data, process, event, record, skipped, &key->calls);
	struct chain chain;
	key->stack = PERF_STACK_WHOLE;
	int ret = read_chain(data, event, record, &chain);
	return ret < 0 ? ret : walk(data, process, &chain, 0, &key->calls);
}

/* ---- the cell */

/* Adds one sample of that weight; `samples` is 0 for a member that a group's sample read. */
static int add_sample(struct perf_data *data, struct perf_cell_key *key, uint32_t event,
		      uint64_t weight, uint64_t samples)
{
	struct perf_event_counts *counts = &data->events.list[event].counts;
	if (samples)
		counts->stored++;
	else
		counts->reads++;
	if (samples && key->cause)
		counts->unknown[key->cause]++;
	key->event = event;
	const struct cell sum = { samples, weight, (unsigned __int128)weight * weight };
	int ret = perf_cells_add(&data->cells, key, &sum);
	return __builtin_add_overflow(counts->weight, weight, &counts->weight) ? -EOVERFLOW : ret;
}

/* ---- how much */

static bool read_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_read_slot *slot = &((const struct perf_read_slot *)rows)[position];
	const struct perf_read_slot *key = wanted;
	return slot->id == key->id && slot->tid == key->tid;
}

static uint64_t read_hash(const struct perf_read_slot *slot)
{
	return hash_u64(slot->id ^ hash_u64(slot->tid));
}

/* What a counter advanced by since it was read before; the first time, by all it has. */
static int advance(struct perf_data *data, uint64_t id, uint32_t tid, uint64_t value,
		   uint64_t *difference)
{
	const struct perf_read_slot wanted = { .id = id, .tid = tid };
	uint64_t hash = read_hash(&wanted);
	uint32_t at = hash_index_find(&data->read_index, hash, read_equal, data->reads, &wanted);
	if (at == HASH_INDEX_NONE) {
		if (array_reserve(&data->reads, &data->read_capacity, data->read_count,
				  sizeof(wanted)) < 0)
			return -ENOMEM;
		at = (uint32_t)data->read_count;
		data->reads[at] = wanted;
		if (hash_index_add(&data->read_index, hash, at) < 0)
			return -ENOMEM;
		data->read_count++;
	}
	/* A counter that goes back was reset, by an exec or by its owner. */
	uint64_t before = data->reads[at].value;
	*difference = value >= before ? value - before : value;
	data->reads[at].value = value;
	return 0;
}

/*
 * A sample that read counters (PERF_SAMPLE_READ) stands, for each of them, for
 * what it advanced by; the leader is one of them. One that did not advance gets
 * nothing.
 */
static int add_reads(struct perf_data *data, uint32_t leader, struct perf_cell_key *key,
		     const struct perf_record *record)
{
	const struct perf_read *read = &record->sample.read;
	bool inherited = data->events.list[leader].attr.inherit;
	uint32_t tid = inherited ? record->identity.tid : 0;
	for (uint64_t i = 0; i < read->count; i++) {
		uint64_t id = read->id_at < 0 ? record->identity.id : perf_read_id(read, i);
		uint32_t event = read->id_at < 0 && data->events.count == 1
					 ? 0
					 : perf_events_find(&data->events, id);
		uint64_t weight;
		if (event == PERF_NO_EVENT) {
			data->counts.unknown_id++;
			continue;
		}
		int ret = advance(data, id, tid, perf_read_value(read, i), &weight);
		if (ret < 0)
			return ret;
		if (!weight)
			continue;
		if (event != leader)
			data->events.list[event].leader = leader;
		ret = add_sample(data, key, event, weight, event == leader);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_weighed(struct perf_data *data, uint32_t event, struct perf_cell_key *key,
		       const struct perf_record *record)
{
	const struct perf_event_attr *attr = &data->events.list[event].attr;
	if (attr->sample_type & PERF_SAMPLE_READ)
		return add_reads(data, event, key, record);
	return add_sample(data, key, event,
			  attr->sample_type & PERF_SAMPLE_PERIOD ? record->sample.period
								 : attr->sample_period,
			  1);
}

/* Where it was, and by which calls. */
static int find_place(struct perf_data *data, struct process *process, uint32_t event,
		      const struct perf_record *record, struct perf_cell_key *key)
{
	struct perf_place leaf;
	int ret = perf_places_locate(&data->places, process,
				     record->misc & PERF_RECORD_MISC_CPUMODE_MASK,
				     record->sample.ip, FRAME_IP, &leaf);
	if (ret < 0)
		return ret;
	key->vaddr = leaf.vaddr;
	key->image = leaf.image;
	key->cause = (uint8_t)leaf.cause;
	return find_calls(data, process, &data->events.list[event], record, key);
}

/* Branches, latencies: what a sample says beside its place. */
static int add_details(struct perf_data *data, struct process *process, uint32_t event,
		       uint32_t context, const struct perf_record *record)
{
	struct perf_file_event *row = &data->events.list[event];
	int ret = 0;
	if (record->sample.raw.size > EMPTY_RAW)
		row->counts.raw_bytes += record->sample.raw.size;
	if (record->sample.branches.count && row->elsewhere != PERF_USER_BRANCHES)
		ret = perf_data_branches(data, event, context, process, record);
	if (ret == 0 && row->attr.sample_type & (PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC))
		ret = perf_data_values(data, event, context, process, record);
	return ret;
}

static void note_time(struct perf_data *data, uint64_t time)
{
	if (!time)
		return;
	if (!data->first_sample_ns || time < data->first_sample_ns)
		data->first_sample_ns = time;
	if (time > data->last_sample_ns)
		data->last_sample_ns = time;
}

int perf_data_settled(int ret, struct error *err)
{
	if (ret == -EOVERFLOW)
		return error_set(err, ret, "the weights of an event add up to more than 64 bits");
	return ret < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int perf_data_add(struct perf_data *data, struct process *process, uint32_t event, uint32_t context,
		  const struct perf_record *record, struct error *err)
{
	struct perf_cell_key key = { .context = context };
	const struct perf_event_attr *attr = &data->events.list[event].attr;
	bool monotonic = attr->use_clockid && attr->clockid == CLOCK_MONOTONIC;
	perf_places_at(&data->places, process, monotonic ? record->identity.time : 0);
	int ret = find_place(data, process, event, record, &key);
	if (ret == 0)
		ret = add_weighed(data, event, &key, record);
	if (ret == 0)
		ret = add_details(data, process, event, context, record);
	return perf_data_settled(ret, err);
}

int perf_data_sample(struct perf_data *data, uint32_t event, const struct perf_record *record,
		     struct error *err)
{
	struct perf_file_event *row = &data->events.list[event];
	uint32_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint32_t pid = record->identity.pid;
	uint32_t context;
	struct process *process = process_need(&data->processes, pid);
	if (!process)
		return error_set(err, -ENOMEM, "out of memory");
	if (!pid && !process->comm[0])
		strcpy(process->comm, "swapper"); /* the idle task has no COMM record */
	row->counts.runs++;
	note_time(data, record->identity.time);
	data->counts.guest_samples +=
		mode == PERF_MODE_GUEST_KERNEL || mode == PERF_MODE_GUEST_USER;
	if (perf_data_context(data, process, record->identity.tid, record->sample.cgroup,
			      &context) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	/* All of the event, in their order: their readings of counters add up. */
	if (row->elsewhere == PERF_USER_STACK && !data->swap)
		return perf_data_wait(data, event, context, process, data->record.data,
				      data->record.size, err);
	return perf_data_add(data, process, event, context, record, err);
}
