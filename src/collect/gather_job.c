#include "collect/gather_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/session.h"
#include "image/vdso.h"
#include "image/writer.h"
#include "profile/stash.h"

#define KALLSYMS_LIMIT (256u << 20)
#define KALLSYMS_STEP  16384u
#define HURRY_ALL_NS   UINT64_C(300000000) /* for the names of all the rest */

/* Keeps the extents of functions alone, under hashes of their names. */
static int redact_records(struct record_set *set, struct record_set *out)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->list[i];
		struct function_record function;
		if (record->kind != RECORD_FUNCTION || !record_get_function(record, &function))
			continue;
		char name[32];
		if (function.name.size) {
			snprintf(name, sizeof(name), "f_%016" PRIx64,
				 hash128_bytes(function.name.data, function.name.size).high);
			function.name = span_of_text(name);
		}
		int ret = record_set_add_function(out, record->first, record->last, &function);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int keep(struct gathering *gathering, uint32_t image, struct record_set *set)
{
	uint32_t translated;
	int ret = tally_translate(gathering->translation, PROFILE_IMAGE, image, &translated);
	CLEANUP(record_set_release) struct record_set redacted = { 0 };
	if (ret == 0 && gathering->redact) {
		ret = redact_records(set, &redacted);
		set = &redacted;
	}
	if (ret < 0)
		return ret;
	ret = stash_add_set(gathering->translation->to, translated, set, NULL);
	return ret == -ENOMEM ? ret : 0;
}

/* Looks for it at the expense of file->through, who chose the places. */
static int open_debug_visiting(struct session *session, const struct file *file,
			       const struct debug_search *search, struct safe_file *opened)
{
	struct share_visit visit =
		shares_begin_visit(&session->shares, file->through, session->reader);
	int ret = reader_open_debug(session->reader, search, file->identity, file->path, opened,
				    NULL);
	shares_end_visit(&session->shares, &visit, session->reader);
	return ret;
}

/*
 * What lies where we see it too has its debug file there as well: what else a process shows below
 * /usr/lib/debug is its own affair. In other roots, such as containers', theirs comes first.
 */
static int open_debug(struct session *session, const struct file *file)
{
	const struct debug_search ours = { 0, file->owner, file->writer, NULL };
	struct debug_search theirs = ours;
	struct safe_file opened;
	if (!file->by_path) {
		theirs.pid = (pid_t)file->pid;
		if (open_debug_visiting(session, file, &theirs, &opened) == 0)
			return opened.fd;
	}
	/* Beside a path of a stranger's choice he can make us wait. */
	if (reader_open_debug(session->reader, &ours, file->identity,
			      file->path_trusted ? file->path : NULL, &opened, NULL) == 0)
		return opened.fd;
	if (file->by_path && !file->path_trusted &&
	    open_debug_visiting(session, file, &ours, &opened) == 0)
		return opened.fd;
	return -1;
}

static enum left_out_part part_missing(unsigned done)
{
	return !(done & GATHER_FUNCTIONS) ? LEFT_OUT_NAMES
	       : !(done & GATHER_CODE)	  ? LEFT_OUT_CODE
	       : !(done & GATHER_FLOW)	  ? LEFT_OUT_FLOW
					  : LEFT_OUT_LINES;
}

/* Adds it to what is left out, once for an image: the first reason counts. */
static void leave_out(struct gathering *gathering, struct job *job, enum left_out_why why,
		      unsigned done)
{
	char name[64] = "the kernel";
	const char *path = job->file ? job->file->path : name;
	/* What was never opened is nobody's: who ran it had no time for it. */
	bool unopened = job->file && !job->file->share && job->file->through;
	const struct share *share = unopened ? job->file->through : job->share;
	if (job->left_out)
		return;
	if (job->jit)
		snprintf(name, sizeof(name), "run-time code of process %" PRIu32, job->jit->pid);
	left_out_add(&gathering->left_out, path, share, why, part_missing(done));
	job->left_out = true;
	job->owed = why == LEFT_OUT_TIME || why == LEFT_OUT_ASKED || why == LEFT_OUT_UNANSWERED ||
		    why == LEFT_OUT_BUSY;
}

/* Whether nothing but the word of the user who serves its file system says which file it is. */
static bool names_could_be_anybodys(const struct file *file)
{
	return writer_kind(file->writer) == WRITER_MOUNTER &&
	       file->identity->content == CONTENT_NONE;
}

/* Keeps what was read of the file; `ret` and `done` say whether something is missing, and why. */
static int keep_of_file(struct gathering *gathering, struct turn *turn, int ret, unsigned done,
			enum left_out_step step)
{
	enum left_out_why why;
	/* Earlier rounds had the other parts. */
	if (ret < 0 && left_out_reason(ret, step, &why))
		leave_out(gathering, turn->job, why, done | (GATHER_ALL & ~turn->now));
	return keep(gathering, turn->job->image, &turn->records);
}

static int gather_vdso(struct gathering *gathering, struct turn *turn)
{
	const struct job *job = turn->job;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = vdso_read(&bytes, NULL);
	if (ret == 0)
		ret = reader_gather_bytes(gathering->session->reader,
					  (struct span){ bytes.data, bytes.size }, job->vaddrs,
					  job->count, turn->now, &turn->records, NULL, NULL);
	return keep_of_file(gathering, turn, ret, 0, LEFT_OUT_READING);
}

/* 1: a process reads it. 0 or -ENOMEM. */
static int begin_file(struct gathering *gathering, struct turn *turn)
{
	struct session *session = gathering->session;
	struct job *job = turn->job;
	const struct file *file = job->file;
	if (file && file->unread && (turn->now & GATHER_FUNCTIONS)) {
		leave_out(gathering, job, file->unread_why, 0);
		/* Nobody tries again for this image: a later sample gives the file another one. */
		job->owed = false;
	}
	if (!file || file->state != FILE_IDENTIFIED || !session->reader ||
	    names_could_be_anybodys(file))
		return 0;
	if (file->kind == FILE_VDSO)
		return gather_vdso(gathering, turn);
	uint32_t number = gathering->file_of_image[job->image];
	CLEANUP(close_fd) int fd = file_table_open(&session->files, number);
	CLEANUP(close_fd) int debug_fd = fd < 0 ? -1 : open_debug(session, file);
	if (turn->now == GATHER_LINES && debug_fd < 0 && !file->identity->has_lines)
		return 0;
	if (fd < 0)
		return keep_of_file(gathering, turn, fd, 0, LEFT_OUT_OPENING);
	const struct gather_request wanted = { fd, debug_fd, job->vaddrs, job->count, turn->now };
	int ret = reader_begin_parts(session->reader, &wanted, &turn->records, NULL);
	return ret < 0 ? keep_of_file(gathering, turn, ret, 0, LEFT_OUT_READING) : 1;
}

static void look(struct gathering *gathering)
{
	struct session *session = gathering->session;
	urgency_look(&session->urgency, session->reader);
}

/* The kernel makes it while we read, which takes some 50 ms. */
static int read_kallsyms(struct gathering *gathering)
{
	struct buffer *text = &gathering->kernel_text;
	CLEANUP(close_fd) int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	ssize_t came = fd < 0 ? -1 : 1;
	while (came > 0 && text->size < KALLSYMS_LIMIT) {
		uint8_t *room = buffer_extend(text, KALLSYMS_STEP);
		if (!room)
			return -ENOMEM;
		came = read(fd, room, KALLSYMS_STEP);
		text->size -= KALLSYMS_STEP - (size_t)(came > 0 ? came : 0);
		look(gathering);
	}
	return came == 0 ? 0 : -EIO;
}

static int need_kallsyms(struct gathering *gathering)
{
	if (gathering->kallsyms_read)
		return 0;
	gathering->kallsyms_read = true;
	int ret = read_kallsyms(gathering);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return kallsyms_parse(
		(struct span){ gathering->kernel_text.data, gathering->kernel_text.size },
		&gathering->kallsyms);
}

void gather_forget_kernel(struct gathering *gathering)
{
	kallsyms_release(&gathering->kallsyms);
	buffer_release(&gathering->kernel_text);
	gathering->kallsyms_read = false;
}

static int gather_kernel(struct gathering *gathering, uint32_t image, const uint64_t *vaddrs,
			 size_t count)
{
	const struct kernel_range *range = kernel_map_of_image(&gathering->session->kernel, image);
	int ret = range ? need_kallsyms(gathering) : 0;
	if (!range || ret < 0)
		return ret;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	bool is_there;
	look(gathering);
	ret = kernel_range_records(range, &gathering->kallsyms, vaddrs, count, &set, &is_there);
	if (ret == 0 && is_there && !gathering->redact)
		ret = kernel_code_add(&gathering->session->kernel_code, &gathering->kallsyms,
				      range->start, &set);
	return ret < 0 ? ret : keep(gathering, image, &set);
}

static int gather_runtime(struct gathering *gathering, struct job *job)
{
	struct session *session = gathering->session;
	struct jit *jit = number_map_find(&session->jits.by_image, job->image);
	if (!jit)
		return 0;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	int ret = jit_gather(&session->jits, jit, job->vaddrs, job->count, &set);
	if (jit->cut)
		leave_out(gathering, job,
			  session_wish(session) == COLLECT_GO_ON ? LEFT_OUT_TIME : LEFT_OUT_ASKED,
			  0);
	else if (jit->full)
		leave_out(gathering, job, LEFT_OUT_MEMORY, GATHER_FUNCTIONS);
	else if (jit->refused.code && !jit->refused_told) {
		jit->refused_told = true;
		gathering->refused = gathering->refused ? gathering->refused : jit;
		gathering->refused_count++;
	}
	return ret < 0 ? ret : keep(gathering, job->image, &set);
}

unsigned job_place(const struct job *job)
{
	switch (job->kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return HERE;
	default:
		return job->share->strange && !job->guest ? READER_STRANGE : READER_OWN;
	}
}

/* 1: a process reads its file. 0 or -ENOMEM. */
static int begin_image(struct gathering *gathering, struct turn *turn)
{
	struct job *job = turn->job;
	switch (job->kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		return begin_file(gathering, turn);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return gather_kernel(gathering, job->image, job->vaddrs, job->count);
	case IMAGE_JIT:
		return gather_runtime(gathering, job);
	default:
		return 0;
	}
}

/* What of `what` is wanted now: only names when we are to end soon, and nothing when that has
 * lasted.
 */
static unsigned what_now(struct session *session, unsigned what)
{
	enum collect_wish wish = session_wish(session);
	if (wish == COLLECT_GO_ON)
		return what;
	bool late =
		wish == COLLECT_STOP || clock_monotonic_ns() - session->hurry_ns >= HURRY_ALL_NS;
	return late ? 0 : what & GATHER_FUNCTIONS;
}

/* The parts that earlier rounds gathered. */
static unsigned had_before(unsigned what)
{
	return GATHER_ALL & ~what;
}

static int end_turn(struct gathering *gathering, struct turn *turn, int ret)
{
	struct session *session = gathering->session;
	shares_settle(&session->shares, session->reader);
	if (turn->now != turn->what)
		leave_out(gathering, turn->job, LEFT_OUT_ASKED,
			  had_before(turn->what) | GATHER_FUNCTIONS);
	record_set_release(&turn->records);
	*turn = (struct turn){ 0 };
	/* Sampling goes on meanwhile, and the rings must not overflow. */
	return ret < 0 ? ret : session_copy_rings(session);
}

int job_begin(struct gathering *gathering, struct job *job, unsigned what)
{
	struct session *session = gathering->session;
	struct shares *shares = &session->shares;
	struct turn *turn = &gathering->turns[job_place(job)];
	uint64_t left_ns = share_gathering_left_ns(shares, job->share, job_purpose(job));
	bool spent = left_ns < SHARE_LEAST_NS;
	unsigned now = what_now(session, what);
	job->done = true;
	look(gathering);
	if (!now || spent) {
		leave_out(gathering, job, spent ? LEFT_OUT_TIME : LEFT_OUT_ASKED, had_before(what));
		return 0;
	}
	*turn = (struct turn){ .job = job, .what = what, .now = now };
	shares_charge(shares, job->share, job_purpose(job), job->alone ? 0 : share_file_ns(shares),
		      session->reader);
	int ret = begin_image(gathering, turn);
	if (ret != 1)
		return end_turn(gathering, turn, ret);
	shares_leave(shares, &turn->payment, session->reader);
	return 1;
}

/* Keeps the addresses that lie in none of the functions, and returns how many; both rise. */
static size_t drop_covered(const struct record_set *records, uint64_t *vaddrs, size_t count)
{
	size_t at = 0, kept = 0;
	uint64_t last = 0;
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		for (; at < records->count && records->list[at].first <= vaddrs[i]; at++) {
			const struct record *record = &records->list[at];
			if (record->kind != RECORD_FUNCTION)
				continue;
			last = any && last > record->last ? last : record->last;
			any = true;
		}
		if (!any || last < vaddrs[i])
			vaddrs[kept++] = vaddrs[i];
	}
	return kept;
}

/* What a trusted job has gathered whole need not be gathered for strangers with samples there. */
static void spare_guests(const struct gathering *gathering, const struct turn *turn)
{
	struct job *job = turn->job;
	while (++job < gathering->jobs_end && job->image == turn->job->image)
		if (job->guest)
			job->count = drop_covered(&turn->records, job->vaddrs, job->count);
}

int job_end(struct gathering *gathering, enum reader_lane lane)
{
	struct session *session = gathering->session;
	struct turn *turn = &gathering->turns[lane];
	unsigned done;
	shares_return(&session->shares, &turn->payment, reader_unnoticed_ns(session->reader, lane),
		      session->reader);
	int ret = reader_end_parts(session->reader, lane, &done, NULL, NULL);
	if (ret == 0 && !turn->job->share->strange && turn->now == turn->what)
		spare_guests(gathering, turn);
	ret = keep_of_file(gathering, turn, ret, done, LEFT_OUT_READING);
	return end_turn(gathering, turn, ret);
}
