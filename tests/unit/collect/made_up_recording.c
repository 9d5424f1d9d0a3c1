#include "made_up_recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "machine/pmu.h"
#include "symbol/record.h"

static const struct made_up_file kernel_files[] = {
	{ "/proc/kallsyms", "ffffffff81000000 T _stext\n"
			    "ffffffff81000100 T do_work\n"
			    "ffffffff81000200 T do_rest\n"
			    "ffffffff81e00000 T _etext\n"
			    "ffffffffa0100000 t module_work\t[loaded]\n"
			    "ffffffffa0100100 t module_rest\t[loaded]\n"
			    "ffffffffa0200000 t bpf_prog_known\t[bpf]\n" },
	{ "/proc/modules", "loaded 16384 0 - Live 0xffffffffa0100000\n" },
	{ NULL, NULL },
};

static void take_note(void *context, enum collect_note_kind kind, const char *sentence)
{
	struct recording *recording = context;
	size_t length = strlen(recording->notes);
	snprintf(recording->notes + length, sizeof(recording->notes) - length, "%s%s\n",
		 kind == COLLECT_WARNING ? "warning: " : "", sentence);
}

static enum collect_wish wish_of(void *context)
{
	return ((struct recording *)context)->wish;
}

void recording_begin(struct recording *recording, enum collect_target target, const char *events)
{
	struct pmu_list none = { 0 };
	made_up_begin();
	made_up_files = kernel_files;
	*recording = (struct recording){ .got = profile_new() };
	assert_non_null(recording->got);
	assert_int_equal(event_list_parse(&recording->events, &none, NULL, events, &recording->err),
			 0);
	recording->options = (struct collect_options){ .target = target,
						       .cpus = "0",
						       .events = &recording->events,
						       .frequency_hz = 1000,
						       .engine = COLLECT_ENGINE_RING,
						       .user_only = true,
						       .edges = COLLECT_EDGES_NONE,
						       .wish = wish_of,
						       .wish_context = recording,
						       .wish_fd = -1,
						       .note = take_note,
						       .note_context = recording };
}

int recording_open(struct recording *recording)
{
	bool scans_all =
		recording->options.target != COLLECT_COMMAND && !recording->options.children;
	recording->wish = scans_all ? COLLECT_HURRY : COLLECT_GO_ON;
	int ret = collector_new(&recording->options, &recording->collector, &recording->err);
	recording->wish = COLLECT_GO_ON;
	return ret;
}

void recording_start(struct recording *recording)
{
	if (recording_open(recording) < 0 ||
	    collector_start(recording->collector, &recording->err) < 0)
		fail_msg("%s", recording->err.text);
}

void recording_end(struct recording *recording)
{
	collector_free(recording->collector);
	assert_int_equal(made_up_open_count(), 0);
	profile_free(recording->got);
	perf_file_release(&recording->put);
	event_list_release(&recording->events);
	made_up_begin();
}

struct made_up_event *recording_event(const struct recording *recording, const char *name)
{
	struct made_up_event *found =
		name ? NULL : made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0);
	for (size_t i = 0; i < recording->events.count && name; i++) {
		const struct event *event = &recording->events.events[i];
		if (strcmp(event->name, name) == 0)
			found = made_up_find(event->attr.type, event->attr.config, 0);
	}
	assert_non_null(found);
	return found;
}

void recording_write(struct recording *recording, struct made_up_event *event)
{
	assert_true(made_up_write(event, &recording->put.bytes));
}

/* As attr.sample_id_all has it: PERF_SAMPLE_IDENTIFIER, _TID and _TIME. */
static void end_news(struct recording *recording, uint32_t pid, uint32_t tid)
{
	struct made_up_event *sideband = recording_event(recording, NULL);
	perf_put_trailer(&recording->put, pid, tid, clock_monotonic_ns(), sideband->id);
	perf_record_end(&recording->put);
	recording_write(recording, sideband);
}

void recording_comm(struct recording *recording, uint32_t pid, uint32_t tid, const char *name,
		    bool exec)
{
	perf_record_begin(&recording->put, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	perf_put_u32(&recording->put, pid);
	perf_put_u32(&recording->put, tid);
	perf_put_text(&recording->put, name);
	end_news(recording, pid, tid);
}

static void put_task(struct recording *recording, uint32_t type, uint32_t pid, uint32_t tid,
		     uint32_t parent)
{
	perf_record_begin(&recording->put, type, 0);
	perf_put_u32(&recording->put, pid);
	perf_put_u32(&recording->put, parent);
	perf_put_u32(&recording->put, tid);
	perf_put_u32(&recording->put, parent);
	perf_put_u64(&recording->put, clock_monotonic_ns());
	end_news(recording, pid, tid);
}

void recording_fork(struct recording *recording, uint32_t pid, uint32_t tid, uint32_t parent)
{
	put_task(recording, PERF_RECORD_FORK, pid, tid, parent);
}

void recording_exit(struct recording *recording, uint32_t pid, uint32_t tid)
{
	put_task(recording, PERF_RECORD_EXIT, pid, tid, pid);
}

void recording_map(struct recording *recording, uint32_t pid, uint64_t start, uint64_t size,
		   const char *path)
{
	struct perf_file *put = &recording->put;
	perf_record_begin(put, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_put_u32(put, pid);
	perf_put_u32(put, pid);
	perf_put_u64(put, start);
	perf_put_u64(put, size);
	perf_put_u64(put, 0);
	for (int i = 0; i < 2; i++) /* device, inode and its generation */
		perf_put_u32(put, 0);
	perf_put_u64(put, 0);
	perf_put_u64(put, 0);
	perf_put_u32(put, 5); /* protection: r-x */
	perf_put_u32(put, 2); /* private */
	perf_put_text(put, path);
	end_news(recording, pid, pid);
}

/* Any event of a group tells what all of it have counted, the leader first. */
static void put_group(struct recording *recording, const struct made_up_event *sampled)
{
	int leader_fd = sampled->leader_fd < 0 ? sampled->fd : sampled->leader_fd;
	size_t count_at = recording->put.bytes.size;
	uint64_t count = 0;
	perf_put_u64(&recording->put, 0);
	perf_put_u64(&recording->put, sampled->enabled_ns);
	perf_put_u64(&recording->put, sampled->running_ns);
	for (size_t i = 0; i < made_up.count; i++) {
		const struct made_up_event *member = &made_up.events[i];
		if (member->fd < 0 || (member->fd != leader_fd && member->leader_fd != leader_fd))
			continue;
		count++;
		perf_put_u64(&recording->put, member->value);
		perf_put_u64(&recording->put, member->id);
		if (sampled->attr.read_format & PERF_FORMAT_LOST)
			perf_put_u64(&recording->put, member->lost);
	}
	memcpy(recording->put.bytes.data + count_at, &count, sizeof(count));
}

static void put_registers(struct recording *recording, uint64_t mask, const uint64_t *registers)
{
	perf_put_u64(&recording->put,
		     registers ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
	for (int i = 0; i < 64 && registers; i++)
		if (mask >> i & 1)
			perf_put_u64(&recording->put, registers[i]);
}

void recording_sample(struct recording *recording, const char *name,
		      const struct made_up_sample *sample)
{
	struct made_up_event *event = recording_event(recording, name);
	struct perf_file *put = &recording->put;
	perf_record_begin(put, PERF_RECORD_SAMPLE, sample->misc);
	perf_put_u64(put, event->id);
	perf_put_u64(put, sample->ip);
	perf_put_u32(put, sample->pid);
	perf_put_u32(put, sample->tid);
	perf_put_u64(put, clock_monotonic_ns() - sample->before_ns);
	if (event->attr.sample_type & PERF_SAMPLE_READ)
		put_group(recording, event);
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) {
		perf_put_u64(put, sample->depth);
		for (uint64_t i = 0; i < sample->depth; i++)
			perf_put_u64(put, sample->chain[i]);
	}
	if (event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK) {
		perf_put_u64(put, sample->branch_count);
		for (uint64_t i = 0; i < 3 * sample->branch_count; i++)
			perf_put_u64(put, sample->branches[i]);
	}
	if (event->attr.sample_type & PERF_SAMPLE_REGS_USER)
		put_registers(recording, event->attr.sample_regs_user, sample->registers);
	if (event->attr.sample_type & PERF_SAMPLE_STACK_USER)
		perf_put_u64(put, 0); /* of the stack nothing was there */
	perf_record_end(put);
	recording_write(recording, event);
}

static void add_up(struct recording *recording, int ret, struct profile *delta)
{
	if (ret < 0)
		fail_msg("%s", recording->err.text);
	assert_int_equal(profile_merge(recording->got, delta, &recording->err), 0);
	profile_free(delta);
}

void recording_drain(struct recording *recording)
{
	struct profile *delta = NULL;
	int ret = collector_drain(recording->collector, &delta, &recording->err);
	add_up(recording, ret, delta);
}

void recording_end_epoch(struct recording *recording)
{
	struct profile *delta = NULL;
	int ret = collector_end_epoch(recording->collector, &delta, &recording->err);
	add_up(recording, ret, delta);
}

void recording_finish(struct recording *recording)
{
	struct profile *delta = NULL;
	int ret = collector_finish(recording->collector, &delta, &recording->err);
	add_up(recording, ret, delta);
}

static bool is_called(const struct profile *profile, uint64_t id, const char *name)
{
	struct profile_image image = profile_image(profile, id);
	const struct table *paths = profile_table(profile, PROFILE_PATH);
	if (image.name.data && span_equal(image.name, span_of_text(name)))
		return true;
	for (size_t row = 0; row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		if (keys[PATH_IMAGE] == id &&
		    span_equal(profile_bytes(profile, keys[PATH_PATH]), span_of_text(name)))
			return true;
	}
	return false;
}

struct cell recording_cells(const struct recording *recording, const char *event, const char *comm,
			    const char *image)
{
	const struct profile *profile = recording->got;
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	struct cell sum = { 0 };
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		struct cell cell = cell_of_values(table_values(flat, row));
		struct span who = keys[FLAT_CONTEXT]
					  ? profile_context(profile, keys[FLAT_CONTEXT]).comm
					  : (struct span){ NULL, 0 };
		if (!span_equal(profile_event(profile, keys[FLAT_EVENT]).name,
				span_of_text(event)) ||
		    (comm && !span_equal(who, span_of_text(comm))) ||
		    (image && !is_called(profile, keys[FLAT_IMAGE], image)))
			continue;
		sum.samples += cell.samples;
		sum.estimate += cell.estimate;
		sum.squares += cell.squares;
	}
	return sum;
}

int64_t recording_billed(const struct recording *recording, const char *event, const char *item)
{
	const struct profile *profile = recording->got;
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	int64_t found = -1;
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		struct span of = keys[BILL_EVENT] ? profile_event(profile, keys[BILL_EVENT]).name
						  : (struct span){ NULL, 0 };
		if (span_equal(profile_bytes(profile, keys[BILL_ITEM]), span_of_text(item)) &&
		    (event ? span_equal(of, span_of_text(event)) : !of.data))
			found = (found < 0 ? 0 : found) + (int64_t)table_values(bill, row)[0];
	}
	return found;
}

unsigned recording_stashed(const struct recording *recording, const char *name)
{
	const struct profile *profile = recording->got;
	const struct table *stash = profile_table(profile, PROFILE_STASH);
	unsigned kinds = 0;
	for (size_t row = 0; row < stash->count; row++) {
		const uint64_t *keys = table_keys(stash, row);
		struct record record = { keys[STASH_KIND], keys[STASH_FIRST], keys[STASH_LAST],
					 profile_bytes(profile, keys[STASH_CONTENT]) };
		struct function_record function;
		if (record.kind != RECORD_FUNCTION || !record_get_function(&record, &function) ||
		    !span_equal(function.name, span_of_text(name)))
			continue;
		for (size_t other = 0; other < stash->count; other++)
			if (table_keys(stash, other)[STASH_FIRST] == record.first)
				kinds |= 1u << table_keys(stash, other)[STASH_KIND];
	}
	return kinds;
}

const char *recording_own_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	assert_true(size > 0);
	path[size] = 0;
	return path;
}
