#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "bpf/user_stack.h"
#include "collect/added.h"
#include "collect/session.h"
#include "collect/stacks.h"

#define KERNEL_MINOR_BITS 20	     /* of a device's number within the kernel (MKDEV()) */
#define MAPPINGS_CHEAP	  2048u	     /* of a process; with more, adding another takes a while */
#define REAPED		  UINT32_MAX /* pid in samples of a task that was reaped while it ran */

/* Whether a sample stands for what itself read, as an import has it too. Then what is pending of
 * its event only says how long a period lasts. */
static bool weighed_by_reading(const struct sampler *sampler)
{
	return !sampler->clock && sampler->group_size > 1;
}

static int emit_weight(void *context, uint32_t target, const struct cell *cell)
{
	return target == SESSION_FILTERED_TARGET ? 0 : tally_add(context, target, cell);
}

int session_settle(struct session *session, enum settle settle)
{
	bool flush = settle == SETTLE_REST;
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		const struct sampler *sampler = &session->counters.samplers[i];
		if (!sampler->sampled || sampler->clock)
			continue;
		if (settle == SETTLE_RINGS && counters_in_table(&session->counters, sampler))
			continue;
		for (size_t slot = 0; slot < session->counters.cpu_count; slot++) {
			struct lane *lane = counters_lane(&session->counters, i, slot);
			if (sampler->turn_sets && !lane->round_over && !flush)
				continue;
			lane->round_over = false;
			uint64_t lost = lane_lost(&lane->sums) - lane->lost_settled;
			uint64_t lost_events = 0;
			lane->lost_settled += lost;
			int ret = weight_advance(&lane->weight, lane->advanced, lost, emit_weight,
						 &session->tally, &lost_events);
			lane->advanced = 0;
			if (ret == 0 && flush)
				ret = weight_flush(&lane->weight, emit_weight, &session->tally,
						   &lost_events);
			if (!weighed_by_reading(sampler))
				lane->sums.lost_estimate += lost_events;
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

int session_find_process(struct session *session, uint32_t pid, struct process **found)
{
	*found = process_find(&session->processes, pid);
	if (*found && ((*found)->known || (*found)->scanned_ns))
		return 0;
	if (session->follow)
		return 0;
	/* Its records were lost or hidden from this user: read /proc, once, if it is still there.
	 */
	struct process *process = process_need(&session->processes, pid);
	if (!process)
		return -ENOMEM;
	process->scanned_ns = 1;
	int ret = process->exit_ns ? 0 : session_scan_process(session, pid);
	*found = process_find(&session->processes, pid);
	return ret;
}

/* Stores the process of a sample, or NULL. A reaped task has no number any more: it is the last one
 * to exit on that CPU. */
static int find_process(struct session *session, uint32_t pid, size_t slot, struct process **found)
{
	return session_find_process(session, pid == REAPED ? session->last_exit[slot] : pid, found);
}

/* The key of an inherited counter in the read window. */
static uint64_t thread_key(uint32_t tid, size_t slot)
{
	return (uint64_t)tid << 32 | slot;
}

/* Notes the losses of the sampled event that one of its samples tells of. The counts of the group
 * come in the order of opening: its own may stand behind those that it was lost for. */
static void note_lost_in_read(const struct session *session, const struct perf_read *read,
			      const struct counter *sampled, struct lane *lane)
{
	for (uint64_t i = 0; i < read->count; i++) {
		const struct counter *member =
			counters_by_id(&session->counters, perf_read_id(read, i));
		if (!member || member->sampler != sampled->sampler)
			continue;
		uint64_t lost = perf_read_lost(read, i);
		if (lost != lane->lost_in_read) {
			lane->lost_in_read = lost;
			lane->lost_epoch++;
		}
	}
}

/* Adds a sample's reading of one member to its place. */
static int add_reading(struct session *session, const struct sampler *member,
		       const struct tally_place *place, uint64_t runs, uint64_t events)
{
	struct tally_place own = *place;
	own.event = member->id;
	uint32_t number;
	struct cell cell = { runs, events, (unsigned __int128)events * events };
	int ret = tally_place(&session->tally, &own, &number);
	return ret < 0 ? ret : tally_add(&session->tally, number, &cell);
}

/* Adds what each event of the group has counted since the sampled one's last sample to the place of
 * this one (NULL: to none); of the sampled one unless it is a clock. */
static int add_group(struct session *session, const struct perf_record *record,
		     const struct counter *sampled, const struct tally_place *place)
{
	const struct perf_read *read = &record->sample.read;
	struct lane *sampled_lane =
		counters_lane(&session->counters, sampled->sampler, sampled->slot);
	note_lost_in_read(session, read, sampled, sampled_lane);
	for (uint64_t i = 0; i < read->count; i++) {
		const struct counter *member =
			counters_by_id(&session->counters, perf_read_id(read, i));
		if (!member)
			continue;
		const struct sampler *sampler = &session->counters.samplers[member->sampler];
		bool itself = member->sampler == sampled->sampler;
		if (itself && sampler->clock)
			continue;
		struct read_value value = {
			.id = perf_read_id(read, i),
			.key = session->inherit ? thread_key(record->identity.tid, sampled->slot)
						: sampled->slot,
			.value = perf_read_value(read, i),
			.enabled = session->inherit ? 0 : read->time_enabled,
			.running = session->inherit ? 0 : read->time_running,
			.epoch = sampled_lane->lost_epoch,
			.first_epoch = session->inherit ? sampled_lane->lost_epoch : 0,
		};
		double counted;
		int result = read_window_add(&session->reads, &value, &counted);
		if (result < 0)
			return result;
		uint64_t whole = (uint64_t)llround(counted * sampler->multiplexed);
		/* Across lost samples it belongs in part to these: then this sample has nothing of
		 * a member, and of the sampled one no more than a period. */
		uint64_t most = result == READ_SPAN ? whole : itself ? sampler->mean_period : 0;
		uint64_t events = whole < most ? whole : most;
		counters_lane(&session->counters, member->sampler, member->slot)
			->sums.lost_estimate += whole - events;
		if (!place || (result != READ_SPAN && !itself))
			continue;
		int ret = add_reading(session, sampler, place, itself, events);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Gives a sample its weight: a clock's is known at once, others settle later, or are with what the
 * group has counted. */
static int weigh(struct session *session, const struct sampler *sampler, struct lane *lane,
		 uint64_t time_ns, uint32_t target)
{
	if (weighed_by_reading(sampler))
		target = SESSION_FILTERED_TARGET;
	if (!sampler->clock)
		return weight_sample(&lane->weight, target);
	uint64_t weight = period_log_weight(&lane->periods, time_ns);
	lane->weighed_ns += (double)weight;
	if (target == SESSION_FILTERED_TARGET)
		return 0;
	struct cell cell = { 1, weight, (unsigned __int128)weight * weight };
	return tally_add(&session->tally, target, &cell);
}

/* Processes a sample that counts for no place. It takes its part of the weight all the same. */
static int set_aside(struct session *session, const struct perf_record *record,
		     const struct counter *counter, struct lane *lane)
{
	const struct sampler *sampler = &session->counters.samplers[counter->sampler];
	int ret = weigh(session, sampler, lane, record->identity.time, SESSION_FILTERED_TARGET);
	if (ret == 0 && sampler->group_size > 1)
		ret = add_group(session, record, counter, NULL);
	return ret;
}

/* About the time that a sample stands for; 0: not known yet. */
static double sample_interval_ns(const struct sampler *sampler, const struct lane *lane)
{
	if (sampler->clock)
		return (double)sampler->mean_period;
	if (sampler->policy == PERIOD_FREQUENCY)
		return 1e9 / sampler->frequency_hz;
	return lane->rate_per_second > 0
		       ? 1e9 * (double)sampler->mean_period / lane->rate_per_second
		       : 0;
}

/* Hands a sample to be interpreted. */
static int add_edges(struct session *session, const struct perf_record *record,
		     const struct ring *ring, const struct counter *counter,
		     struct process *process, uint32_t context)
{
	const struct sampler *sampler = &session->counters.samplers[counter->sampler];
	const struct lane *lane =
		counters_lane(&session->counters, counter->sampler, counter->slot);
	struct edge_waiting waiting = { .sampler = counter->sampler,
					.event = sampler->id,
					.context = context,
					.share = process ? session_share(session, process) : NULL };
	struct span blocks = edges_blocks(ring->attached, &session->counters.output_layout, record);
	return edges_add_sample(&session->edges, &waiting, &record->sample, blocks,
				process ? process->space : NULL,
				session->edge_ratio * sample_interval_ns(sampler, lane));
}

static int limit_place(struct session *session, struct share *share, struct tally_place *place,
		       enum unknown_cause *cause)
{
	struct located rest;
	if (!share->strange || tally_knows(&session->tally, place) ||
	    share_take(&session->shares, share, SHARE_PLACES, 1))
		return 0;
	int ret = session_unknown(session, UNKNOWN_BEYOND_LIMIT, &rest);
	place->calls = 0;
	place->image = rest.image;
	place->vaddr = rest.vaddr;
	*cause = rest.cause;
	return ret;
}

int session_place(struct session *session, struct share *share, struct lane *lane, uint64_t samples,
		  const struct located *leaf, struct tally_place *place, uint32_t *target)
{
	enum unknown_cause cause = leaf->cause;
	place->image = leaf->image;
	place->vaddr = leaf->vaddr;
	place->asker = share ? share_asker(share) : 0;
	int ret = limit_place(session, share ? share : &session->shares.own, place, &cause);
	if (ret == 0 && cause != UNKNOWN_NONE)
		lane->sums.unknown[cause] += samples;
	if (ret == 0)
		ret = tally_place(&session->tally, place, target);
	if (ret == 0 && !place->asker)
		session->tally.places[*target].asker = 0;
	return ret;
}

static int handle_sample(struct session *session, const struct perf_record *record,
			 const struct ring *ring, const struct counter *counter)
{
	const struct perf_identity *identity = &record->identity;
	const struct sampler *sampler = &session->counters.samplers[counter->sampler];
	struct lane *lane = counters_lane(&session->counters, counter->sampler, counter->slot);
	struct process *process;
	session->sample_ns = identity->time;
	int ret = find_process(session, identity->pid, counter->slot, &process);
	if (ret < 0)
		return ret;
	if (session->follow && !(process && process->followed)) {
		lane->sums.filtered++;
		return set_aside(session, record, counter, lane);
	}
	if (bursts_was_stepped(&session->bursts, identity->tid, identity->time)) {
		lane->sums.stepped++;
		return set_aside(session, record, counter, lane);
	}

	struct tally_place place = { .event = sampler->id, .apart = sampler->apart };
	struct located leaf;
	enum code_mode mode = code_mode_of_misc(record->misc);
	if (mode == CODE_USER)
		bursts_note_sample(&session->bursts, identity->pid, identity->tid);
	struct span added =
		sampler->walked ? added_to(record, ring->attached, &session->counters.output_layout)
				: (struct span){ 0 };
	ret = added.size ? stacks_tell_rules(session, process, added) : 0;
	if (ret == 0 && process)
		ret = session_context(session, process, identity->tid, counter->slot,
				      &place.context);
	if (ret == 0)
		ret = session_locate(session, process, mode, record->sample.ip, FRAME_IP, &leaf);
	if (ret < 0)
		return ret;
	if (sampler->stacks) {
		bool cut;
		const struct stacks_sample wanted = { &record->sample, mode, added,
						      sampler->walked };
		ret = session_calls(session, process, &wanted, &place, &cut);
		lane->sums.stacks_cut += cut;
	}
	/* Of those apart the ones without a stack are only interpreted. */
	uint32_t target = SESSION_FILTERED_TARGET;
	if (ret == 0 && (sampler->stacks || !sampler->apart))
		ret = session_place(session, process ? session_share(session, process) : NULL, lane,
				    1, &leaf, &place, &target);
	if (ret == 0)
		ret = weigh(session, sampler, lane, identity->time, target);
	if (ret == 0 && sampler->group_size > 1)
		ret = add_group(session, record, counter, &place);
	if (ret == 0 && sampler->edges && mode == CODE_USER)
		ret = add_edges(session, record, ring, counter, process, place.context);
	lane->sums.stored++;
	return ret;
}

/* Stacks will lead into what was mapped. 0 or -ENOMEM. */
static int prepare_walking(struct session *session, uint32_t file,
			   const struct perf_mapping *mapping)
{
	const struct user_stack_key key = {
		.inode = mapping->inode,
		.device = mapping->major << KERNEL_MINOR_BITS | mapping->minor,
		.generation = (uint32_t)mapping->generation,
	};
	return frame_tables_prepare(&session->frames, file, &key);
}

static int handle_mapping(struct session *session, const struct perf_record *record)
{
	const struct perf_mapping *mapping = &record->mapping;
	struct process *process = process_find(&session->processes, mapping->pid);
	if (session->follow && !(process && process->followed))
		return 0;
	if (!mapping->has_inode)
		return 0;
	uint64_t end;
	if (__builtin_add_overflow(mapping->start, mapping->size_bytes, &end))
		return 0;
	if (!process)
		process = process_need(&session->processes, mapping->pid);
	if (!process)
		return -ENOMEM;
	struct share *share = session_share(session, process);
	process->mapped = true;
	kept_processes_map(&session->kept, process, mapping->path);
	if (!session_may_map(session, process))
		return 0;
	struct file_hint hint = {
		.share = share,
		.payer = session_payer(session, process),
		.pid = mapping->pid,
		.start = mapping->start,
		.end = end,
		.major = mapping->major,
		.minor = mapping->minor,
		.inode = mapping->inode,
		.generation = mapping->generation,
		.generation_known = true,
		.narrow = process && process->narrow,
		.path = mapping->path,
	};
	struct mapping made = { .start = mapping->start, .end = end, .offset = mapping->offset };
	int ret = file_table_find(&session->files, &hint, &made.file);
	if (ret < 0)
		return ret;
	const struct file *file = file_table_get(&session->files, made.file);
	bool costly = share->strange && process->space->count > MAPPINGS_CHEAP;
	uint64_t begin_ns = costly ? clock_monotonic_ns() : 0;
	if (costly && !share_reading_left_ns(&session->shares, share)) {
		share->refused[SHARE_MAPPINGS]++;
		return 0;
	}
	ret = process_map(&session->processes, mapping->pid, &made);
	if (costly)
		share_spend(&session->shares, share, SHARE_READING,
			    clock_monotonic_ns() - begin_ns);
	process = process_find(&session->processes, mapping->pid);
	session_count_mappings(session, process);
	if (process && file->state == FILE_IDENTIFIED && !file->identity->wide)
		process->narrow = true;
	if (ret == -E2BIG)
		ret = 0;
	return ret == 0 && file->state == FILE_IDENTIFIED
		       ? prepare_walking(session, made.file, mapping)
		       : ret;
}

static int handle_lost(struct session *session, const struct perf_record *record,
		       const struct ring *ring)
{
	if (ring->sideband) {
		session->lost_sideband += record->lost.lost;
		return 0;
	}
	const struct counter *counter = counters_by_id(&session->counters, record->identity.id);
	if (!counter)
		return 0;
	struct lane *lane = counters_lane(&session->counters, counter->sampler, counter->slot);
	lane->lost_epoch++;
	if (!session->counters.reads_lost)
		lane->sums.lost_ring += record->lost.lost;
	return 0;
}

static int handle_throttle(struct session *session, const struct perf_record *record)
{
	const struct counter *counter = counters_by_id(&session->counters, record->throttle.id);
	if (counter)
		counters_lane(&session->counters, counter->sampler, counter->slot)
			->sums.throttled++;
	return 0;
}

static int handle_task(struct session *session, const struct perf_record *record,
		       const struct ring *ring)
{
	const struct perf_task *task = &record->task;
	uint64_t time_ns = task->time + (uint64_t)session->boot_offset_ns;
	if (record->type == PERF_RECORD_FORK) {
		struct process *parent = process_find(&session->processes, task->parent_pid);
		/* Look the parent's share up now: the child inherits it, and either may end soon.
		 */
		if (parent && task->pid != task->parent_pid)
			session_share(session, parent);
		return process_fork(&session->processes, task->pid, task->tid, task->parent_pid,
				    task->parent_tid, time_ns);
	}
	struct process *process = process_find(&session->processes, task->pid);
	/* Of what is not followed nobody knows whether it has mapped anything. */
	bool followed = !session->follow || (process && process->followed);
	if (followed && guarded_is_exec(process, task->tid)) {
		/* Only inherited events end with such an exec. */
		if (!session->inherit)
			return 0;
		guarded_add(&session->guarded, process);
	}
	session->last_exit[ring->cpu_slot] = task->pid;
	/* The kernel has removed its counters by then: no sample of it comes any more. */
	for (size_t slot = 0; session->inherit && slot < session->counters.cpu_count; slot++)
		read_window_forget(&session->reads, thread_key(task->tid, slot));
	return process_exit(&session->processes, task->pid, task->tid, task->time);
}

static int handle_other(struct session *session, const struct perf_record *record,
			const struct ring *ring)
{
	switch (record->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return handle_task(session, record, ring);
	case PERF_RECORD_COMM:
		return process_comm(&session->processes, record->comm.pid, record->comm.tid,
				    record->comm.name, record->comm.exec,
				    record->identity.time + (uint64_t)session->boot_offset_ns);
	case PERF_RECORD_MMAP2:
		return handle_mapping(session, record);
	case PERF_RECORD_KSYMBOL:
		return kernel_map_symbol(&session->kernel, record->symbol.address,
					 record->symbol.size_bytes, record->symbol.name,
					 record->symbol.flags &
						 PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	case PERF_RECORD_LOST:
		return handle_lost(session, record, ring);
	case PERF_RECORD_THROTTLE:
		return handle_throttle(session, record);
	default:
		return 0;
	}
}

int session_copy_rings(struct session *session)
{
	struct counters *counters = &session->counters;
	bool emptied = true;
	if (ring_keeper_owns_rings(&session->keeper))
		return 0;
	for (size_t i = 0; i < 2 * counters->cpu_count; i++) {
		/* Any layout will do: all events share the fields up to the time. */
		int ret = ring_copy(&counters->rings[i], &counters->samplers[0].layout);
		if (ret < 0)
			return ret;
		emptied &= !counters->rings[i].has_more;
	}
	if (session->walker && emptied)
		user_stack_taken(session->walker);
	return 0;
}

int session_process_record(void *context, struct ring *ring, const void *bytes, size_t size_bytes)
{
	struct session *session = context;
	const struct perf_layout *layout = &session->counters.sideband_layout;
	const struct counter *counter = NULL;
	struct perf_event_header header;
	memcpy(&header, bytes, sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		uint64_t id = 0; /* PERF_SAMPLE_IDENTIFIER stands first */
		if (size_bytes >= sizeof(header) + sizeof(id))
			memcpy(&id, (const uint8_t *)bytes + sizeof(header), sizeof(id));
		counter = counters_by_id(&session->counters, id);
		if (!counter) {
			session->damaged++;
			return 0;
		}
		layout = &session->counters.samplers[counter->sampler].layout;
	}
	struct perf_record record;
	if (perf_record_decode(bytes, size_bytes, layout, &record) < 0) {
		if (counter)
			counters_lane(&session->counters, counter->sampler, counter->slot)
				->sums.lost_damaged++;
		else
			session->damaged++;
		return 0;
	}
	return counter ? handle_sample(session, &record, ring, counter)
		       : handle_other(session, &record, ring);
}
