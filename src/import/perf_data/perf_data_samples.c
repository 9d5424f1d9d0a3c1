/*
 * Samples: whose, where, by which calls, and how much each one weighs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "import/perf_data/perf_data_private.h"
#include "import/perf_data/perf_data_waiting.h"

#define EMPTY_RAW 4 /* bytes of padding, of events that have no raw data */

/* ---- what addresses mean, for src/intake */

static int locate(void *owner, struct process *process, enum code_mode mode, uint64_t address,
		  enum frame_kind kind, struct located *out)
{
	struct perf_data *data = owner;
	return perf_places_locate(&data->places, process, mode, address, kind, out);
}

static int locate_unknown(void *owner, enum unknown_cause cause, struct located *out)
{
	struct perf_data *data = owner;
	return perf_places_unknown(&data->places, cause, out);
}

static enum unknown_cause cause_of(const void *owner, uint32_t image)
{
	const struct perf_data *data = owner;
	return data->places.images.list[image - 1].cause;
}

/* A number that changes when an address of the process may mean something else. */
static uint64_t meaning(void *owner, struct process *process)
{
	struct perf_data *data = owner;
	uint64_t serial = process_serial(&data->processes, process);
	return hash_u64(serial << 32 | data->places.kernel_serial) + hash_u64(data->places.stage);
}

struct world perf_data_world(struct perf_data *data)
{
	return (struct world){ data, locate, locate_unknown, cause_of, meaning };
}

/* ---- by which calls */

/* The stack that was unwound. A sampled address of user code is more precise than the register. */
static void add_unwound(struct chain *chain, const struct unwind_run *run, uint64_t sampled)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct unwind_frame *frame = &run->frames[i];
		bool leaf = i == 0 && chain->count == 0 && sampled;
		chain_add(chain, leaf ? sampled : frame->address, CODE_USER,
			  frame->is_return ? FRAME_RETURN : FRAME_IP);
	}
	chain->user_missing = run->end == UNWIND_WHOLE ? UNKNOWN_NONE : UNKNOWN_NOT_UNWOUND;
}

static int read_chain(struct perf_data *data, const struct perf_file_event *event,
		      const struct perf_record *record, struct chain *chain)
{
	const struct perf_sample *sample = &record->sample;
	enum code_mode mode = code_mode_of_misc(record->misc);
	const struct unwind_run *unwound = perf_data_unwound(data);
	if (chain_begin(chain, sample->chain.count + sample->branches.count +
				       (unwound ? unwound->count : 0) + 2) < 0)
		return -ENOMEM;
	bool call_stack = event->user_part == PERF_USER_BRANCHES && sample->branches.count;
	chain_add_words(chain, &sample->chain, call_stack);
	if (call_stack)
		chain_add_branches(chain, &sample->branches);
	else if (unwound && !chain_has_user(chain)) {
		add_unwound(chain, unwound, mode == CODE_USER ? sample->ip : 0);
	} else if (event->user_part == PERF_USER_STACK && sample->user_abi &&
		   !chain_has_user(chain)) {
		/* nothing was unwound: the address in user code itself is known */
		if (mode == CODE_USER && !chain->count)
			chain_add(chain, sample->ip, mode, FRAME_IP);
		chain->user_missing = UNKNOWN_NOT_UNWOUND;
	}
	if (!chain->count)
		chain_add(chain, sample->ip, mode, FRAME_IP);
	return 0;
}

static int find_calls(struct perf_data *data, struct process *process,
		      const struct perf_file_event *event, const struct perf_record *record,
		      struct cell_key *key)
{
	const struct perf_words *words = &record->sample.chain;
	enum code_mode mode = code_mode_of_misc(record->misc);
	key->stack = CELL_STACK_NONE;
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	uint64_t before = event->user_part ? 0 : calls_words_before(words, mode, record->sample.ip);
	key->stack = CELL_STACK_LEAF;
	if (before)
		return calls_of_words(&data->cells, &data->world, process, words, before,
				      &data->chain, &key->calls);
	key->stack = CELL_STACK_WHOLE;
	int ret = read_chain(data, event, record, &data->chain);
	return ret < 0 ? ret
		       : calls_of_chain(&data->cells, &data->world, process, &data->chain, 0,
					&key->calls);
}

/* ---- the cell */

/* Adds one sample of that weight; `samples` is 0 for a member that a group's sample read. */
static int add_sample(struct perf_data *data, struct cell_key *key, uint32_t event, uint64_t weight,
		      uint64_t samples)
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
	int ret = cells_add(&data->cells, key, &sum);
	return __builtin_add_overflow(counts->weight, weight, &counts->weight) ? -EOVERFLOW : ret;
}

/* ---- how much */

/* A number that grows when samples that would have read a counter got lost: samples of its CPU, or
 * any where samples have no CPU. */
static uint64_t loss_epoch(const struct perf_data *data, const struct perf_file_event *leader,
			   const struct perf_record *record, uint64_t lost_in_read)
{
	if (!(leader->attr.sample_type & PERF_SAMPLE_CPU))
		return data->losses + lost_in_read;
	uint64_t own = (uintptr_t)number_map_find(&data->losses_by_cpu, record->identity.cpu);
	return (own > data->losses_anywhere ? own : data->losses_anywhere) + lost_in_read;
}

int perf_data_lost(struct perf_data *data, uint32_t event, const struct perf_record *record)
{
	const struct perf_event_attr *attr = &data->events.list[event].attr;
	data->losses++;
	if (attr->sample_id_all && attr->sample_type & PERF_SAMPLE_CPU)
		return number_map_put(&data->losses_by_cpu, record->identity.cpu,
				      (void *)(uintptr_t)data->losses);
	data->losses_anywhere = data->losses;
	return 0;
}

/* The leader's own count of samples that it lost, where the format has it. */
static uint64_t lost_of_leader(const struct perf_data *data, uint32_t leader,
			       const struct perf_read *read)
{
	for (uint64_t i = 0; i < read->count && read->id_at >= 0; i++)
		if (perf_events_find(&data->events, perf_read_id(read, i)) == leader)
			return perf_read_lost(read, i);
	return read->count ? perf_read_lost(read, 0) : 0;
}

/* Adds what a counter advanced by since it was read before. Across lost samples it belongs in part
 * to these: then the sample gets nothing of a member, and of the leader no more than its period. */
static int add_read(struct perf_data *data, uint32_t leader, uint32_t event, struct cell_key *key,
		    const struct perf_record *record, const struct read_value *value)
{
	const struct perf_file_event *led_by = &data->events.list[leader];
	struct perf_event_counts *counts = &data->events.list[event].counts;
	double counted;
	int result = read_window_add(&data->reads, value, &counted);
	if (result < 0)
		return result;
	if (counted >= (double)INT64_MAX)
		return -EOVERFLOW;
	uint64_t whole = (uint64_t)llround(counted), weight = whole;
	data->events.list[event].leader = counts->runs ? event : leader;
	if (result == READ_LOST) {
		weight = 0;
		if (event == leader)
			weight = led_by->attr.sample_type & PERF_SAMPLE_PERIOD &&
						 record->sample.period < whole
					 ? record->sample.period
					 : whole;
		if (__builtin_add_overflow(counts->lost_estimate, whole - weight,
					   &counts->lost_estimate))
			return -EOVERFLOW;
	}
	return weight ? add_sample(data, key, event, weight, event == leader) : 0;
}

/*
 * A sample that read counters (PERF_SAMPLE_READ) stands, for each of them, for
 * what it advanced by; the leader is one of them. One that did not advance gets
 * nothing.
 */
static int add_reads(struct perf_data *data, uint32_t leader, struct cell_key *key,
		     const struct perf_record *record)
{
	const struct perf_read *read = &record->sample.read;
	bool inherited = data->events.list[leader].attr.inherit;
	uint64_t epoch = loss_epoch(data, &data->events.list[leader], record,
				    lost_of_leader(data, leader, read));
	for (uint64_t i = 0; i < read->count; i++) {
		uint64_t id = read->id_at < 0 ? record->identity.id : perf_read_id(read, i);
		uint32_t event = read->id_at < 0 && data->events.count == 1
					 ? 0
					 : perf_events_find(&data->events, id);
		if (event == PERF_NO_EVENT) {
			data->counts.unknown_id++;
			continue;
		}
		const struct read_value value = {
			.id = id,
			.key = inherited ? id ^ hash_u64((uint64_t)record->identity.tid + 1) : id,
			.value = perf_read_value(read, i),
			.enabled = inherited ? 0 : read->time_enabled,
			.running = inherited ? 0 : read->time_running,
			.epoch = epoch,
			.first_epoch = inherited ? epoch : 0,
		};
		int ret = add_read(data, leader, event, key, record, &value);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_weighed(struct perf_data *data, uint32_t event, struct cell_key *key,
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
		      const struct perf_record *record, struct cell_key *key)
{
	struct located leaf;
	int ret = perf_places_locate(&data->places, process, code_mode_of_misc(record->misc),
				     record->sample.ip, FRAME_IP, &leaf);
	if (ret < 0)
		return ret;
	key->vaddr = leaf.vaddr;
	key->image = leaf.image;
	key->cause = (uint8_t)leaf.cause;
	return find_calls(data, process, &data->events.list[event], record, key);
}

/* Branches, latencies: what a sample has beside its place. */
static int add_details(struct perf_data *data, struct process *process, uint32_t event,
		       uint32_t context, const struct perf_record *record)
{
	struct perf_file_event *row = &data->events.list[event];
	int ret = 0;
	if (record->sample.raw.size > EMPTY_RAW)
		row->counts.raw_bytes += record->sample.raw.size;
	if (record->sample.branches.count && row->user_part != PERF_USER_BRANCHES)
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

int perf_data_error(int ret, struct error *err)
{
	if (ret == -EOVERFLOW)
		return error_set(err, ret, "the weights of an event add up to more than 64 bits");
	return ret < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int perf_data_add(struct perf_data *data, struct process *process, uint32_t event, uint32_t context,
		  const struct perf_record *record, struct error *err)
{
	struct cell_key key = { .context = context };
	const struct perf_event_attr *attr = &data->events.list[event].attr;
	bool monotonic = attr->use_clockid && attr->clockid == CLOCK_MONOTONIC;
	perf_places_at(&data->places, process, monotonic ? record->identity.time : 0);
	int ret = find_place(data, process, event, record, &key);
	if (ret == 0)
		ret = add_weighed(data, event, &key, record);
	if (ret == 0)
		ret = add_details(data, process, event, context, record);
	return perf_data_error(ret, err);
}

int perf_data_sample(struct perf_data *data, uint32_t event, const struct perf_record *record,
		     struct error *err)
{
	struct perf_file_event *row = &data->events.list[event];
	enum code_mode mode = code_mode_of_misc(record->misc);
	uint32_t pid = record->identity.pid;
	uint32_t context;
	struct process *process = process_need(&data->processes, pid);
	if (!process)
		return error_set(err, -ENOMEM, "out of memory");
	if (!pid && !process->comm[0])
		strcpy(process->comm, "swapper"); /* the idle task has no COMM record */
	row->counts.runs++;
	note_time(data, record->identity.time);
	data->counts.guest_samples += mode == CODE_GUEST_KERNEL || mode == CODE_GUEST_USER;
	if (perf_data_context(data, process, record->identity.tid, record->sample.cgroup,
			      &context) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	/* all samples of the event wait, in their order: counters advance from one to the next */
	const struct perf_waiting_sample waiting = { event, context, process, data->record };
	if (row->user_part == PERF_USER_STACK && !data->swap)
		return perf_data_wait(data, &waiting, err);
	return perf_data_add(data, process, event, context, record, err);
}
