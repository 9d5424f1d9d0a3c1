#include "collect/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/small_file.h"
#include "collect/left_out.h"
#include "collect/session.h"
#include "image/vdso.h"
#include "image/writer.h"
#include "profile/bill.h"
#include "profile/stash.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"

#define KALLSYMS_LIMIT (256u << 20)
#define OWED_MOST      65536u		   /* spots that the next epoch is told of */
#define HURRY_NS       UINT64_C(150000000) /* for what is being gathered when we are to end soon */
#define HURRY_ALL_NS   UINT64_C(300000000) /* for the names of all the rest */

static int add_spot(struct code_spots *spots, uint32_t image, uint64_t vaddr)
{
	int ret = array_reserve(&spots->list, &spots->capacity, spots->count, sizeof(*spots->list));
	if (ret == 0 && image)
		spots->list[spots->count++] = (struct code_spot){ image, vaddr };
	return ret;
}

static int compare_spots(const void *a, const void *b)
{
	const struct code_spot *left = a;
	const struct code_spot *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Where code was sampled, leaves and callers, and branches seen, each once, in order; and what an
 * earlier epoch left for this one. */
static int list_spots(const struct session *session, struct code_spots *spots)
{
	const struct tally *tally = &session->tally;
	int ret = 0;
	for (size_t i = 0; i < session->owed.count && ret == 0; i++)
		ret = add_spot(spots, session->owed.list[i].image, session->owed.list[i].vaddr);
	for (size_t i = 0; i < tally->count && ret == 0; i++)
		if (!tally->places[i].gathered)
			ret = add_spot(spots, tally->places[i].image, tally->places[i].vaddr);
	const struct edge_tally *edges = &session->edges.tally;
	for (size_t i = 0; i < edges->count && ret == 0; i++) {
		const struct edge_row *edge = &edges->rows[i];
		if (edge->gathered)
			continue;
		ret = add_spot(spots, edge->from_image, edge->from_vaddr);
		if (ret == 0)
			ret = add_spot(spots, edge->to_image, edge->to_vaddr);
	}
	const struct cells *cells = &tally->cells;
	for (size_t i = session->nodes_gathered; i < cells->node_count && ret == 0; i++) {
		const struct cells_node *node = &cells->nodes[i];
		bool returns = node->image_kind & 1 && node->vaddr;
		ret = add_spot(spots, node->image_kind / 2, node->vaddr - returns);
	}
	if (ret < 0)
		return ret;
	if (spots->count)
		qsort(spots->list, spots->count, sizeof(*spots->list), compare_spots);
	size_t kept = 0;
	for (size_t i = 0; i < spots->count; i++)
		if (!kept || compare_spots(&spots->list[kept - 1], &spots->list[i]))
			spots->list[kept++] = spots->list[i];
	spots->count = kept;
	return 0;
}

enum collect_wish session_wish(struct session *session)
{
	const struct collect_options *options = session->options;
	enum collect_wish wish =
		options->wish ? options->wish(options->wish_context) : COLLECT_GO_ON;
	if (wish == COLLECT_GO_ON)
		session->hurry_ns = 0;
	else if (!session->hurry_ns)
		session->hurry_ns = clock_monotonic_ns();
	return wish;
}

int session_look(void *context)
{
	struct session *session = context;
	enum collect_wish wish = session_wish(session);
	urgency_look(&session->urgency, session->reader);
	if (wish == COLLECT_GO_ON)
		return 0;
	bool in_time = wish == COLLECT_HURRY && session->gathering &&
		       clock_monotonic_ns() - session->hurry_ns < HURRY_NS;
	return in_time ? 0 : -ECANCELED;
}

/* What to gather of an image, and who pays for it. */
struct job {
	uint32_t image;
	const uint64_t *vaddrs;
	size_t count;
	struct share *share;
	const struct file *file; /* NULL: none */
	const struct jit *jit;	 /* NULL: none */
	bool done;
	bool left_out; /* something of it */
	bool owed;     /* and it is worth another try */
	bool alone;    /* nothing else that its share pays for is left */
};

struct gathering {
	struct session *session;
	struct left_out left_out;
	unsigned what; /* now: set of GATHER_* */
	struct tally_translation *translation;
	bool redact;
	struct buffer kernel_text;
	struct kallsyms kallsyms;
	bool kallsyms_read;
	const struct jit *refused; /* the first whose names could not be read */
	size_t refused_count;
	uint32_t *file_of_image; /* number in the file table, by image of the session */
};

/* Only the extent stays, under a name that tells same from different and no more. */
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

/* At the expense of who chose where it is looked for. */
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

/* Once for an image: what is missing of it is missing for the first reason. */
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

/* What nothing but the word of whoever serves it names could be anybody's. */
static bool names_could_be_anybodys(const struct file *file)
{
	return writer_kind(file->writer) == WRITER_MOUNTER &&
	       file->identity->content == CONTENT_NONE;
}

static int gather_file(struct gathering *gathering, struct job *job)
{
	struct session *session = gathering->session;
	const struct file *file = job->file;
	if (file && file->unread && (gathering->what & GATHER_FUNCTIONS))
		leave_out(gathering, job, file->unread_why, 0);
	if (!file || file->state != FILE_IDENTIFIED || !session->reader ||
	    names_could_be_anybodys(file))
		return 0;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	enum left_out_step step = LEFT_OUT_READING;
	enum left_out_why why;
	unsigned done = 0;
	int ret;
	if (file->kind == FILE_VDSO) {
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		ret = vdso_read(&bytes, NULL);
		if (ret == 0)
			ret = reader_gather_bytes(
				session->reader, (struct span){ bytes.data, bytes.size },
				job->vaddrs, job->count, gathering->what, &set, NULL, NULL);
	} else {
		uint32_t number = gathering->file_of_image[job->image];
		CLEANUP(close_fd) int fd = file_table_open(&session->files, number);
		CLEANUP(close_fd) int debug_fd = fd < 0 ? -1 : open_debug(session, file);
		bool without = gathering->what == GATHER_LINES && debug_fd < 0 &&
			       !file->identity->has_lines;
		if (without)
			return 0;
		step = fd < 0 ? LEFT_OUT_OPENING : LEFT_OUT_READING;
		ret = fd < 0 ? fd
			     : reader_gather_parts(session->reader, fd, debug_fd, job->vaddrs,
						   job->count, gathering->what, &set, &done, NULL,
						   NULL);
	}
	/* What was asked for before is there. */
	if (ret < 0 && left_out_reason(ret, step, &why))
		leave_out(gathering, job, why, done | (GATHER_ALL & ~gathering->what));
	return keep(gathering, job->image, &set);
}

static int need_kallsyms(struct gathering *gathering)
{
	if (gathering->kallsyms_read)
		return 0;
	gathering->kallsyms_read = true;
	int ret = small_file_read("/proc/kallsyms", KALLSYMS_LIMIT, &gathering->kernel_text);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return kallsyms_parse(
		(struct span){ gathering->kernel_text.data, gathering->kernel_text.size },
		&gathering->kallsyms);
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

static void tell_refused(const struct gathering *gathering)
{
	const struct collect_options *options = gathering->session->options;
	char text[1200];
	if (!gathering->refused_count || !options->note)
		return;
	size_t length = (size_t)snprintf(text, sizeof(text),
					 "names of code that process %" PRIu32
					 " made at run time are missing: %s",
					 gathering->refused->pid, gathering->refused->refused.text);
	if (gathering->refused_count > 1 && length < sizeof(text))
		snprintf(text + length, sizeof(text) - length, "; %zu more processes like it",
			 gathering->refused_count - 1);
	options->note(options->note_context, COLLECT_WARNING, text);
}

static int gather_image(struct gathering *gathering, struct job *job)
{
	switch (profile_image(gathering->session->profile, job->image).kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		return gather_file(gathering, job);
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

/* What is wanted at this moment: when we are to end soon, names; when that has lasted, nothing. */
static unsigned what_now(struct session *session, unsigned what)
{
	enum collect_wish wish = session_wish(session);
	if (wish == COLLECT_GO_ON)
		return what;
	bool late =
		wish == COLLECT_STOP || clock_monotonic_ns() - session->hurry_ns >= HURRY_ALL_NS;
	return late ? 0 : what & GATHER_FUNCTIONS;
}

static int run_job(struct gathering *gathering, struct job *job, unsigned what)
{
	struct session *session = gathering->session;
	struct shares *shares = &session->shares;
	uint64_t left_ns = share_gathering_left_ns(shares, job->share);
	unsigned before = GATHER_ALL & ~what;
	gathering->what = what_now(session, what);
	job->done = true;
	urgency_look(&session->urgency, session->reader);
	bool spent = left_ns < SHARE_LEAST_NS;
	if (!gathering->what || spent) {
		leave_out(gathering, job, spent ? LEFT_OUT_TIME : LEFT_OUT_ASKED, before);
		return 0;
	}
	shares_charge(shares, job->share, SHARE_GATHERING, job->alone ? 0 : share_file_ns(shares),
		      session->reader);
	int ret = gather_image(gathering, job);
	shares_settle(shares, session->reader);
	if (gathering->what != what)
		leave_out(gathering, job, LEFT_OUT_ASKED, before | GATHER_FUNCTIONS);
	/* Sampling goes on meanwhile, and the rings must not overflow. */
	return ret < 0 ? ret : session_copy_rings(session);
}

/* Of the strangers' jobs that are not done: of whom took the least so far, the one with most
 * samples' places. */
static struct job *next_job(struct job *jobs, size_t count)
{
	struct job *best = NULL;
	for (size_t i = 0; i < count; i++) {
		struct job *job = &jobs[i];
		if (job->done)
			continue;
		uint64_t left_ns = job->share->left_ns[SHARE_GATHERING];
		uint64_t best_ns = best ? best->share->left_ns[SHARE_GATHERING] : 0;
		if (!best || left_ns > best_ns || (left_ns == best_ns && job->count > best->count))
			best = job;
	}
	return best;
}

/* The next one, and whether it may have all the time that its share still has. */
static struct job *take_next_job(struct job *jobs, size_t count)
{
	struct job *next = next_job(jobs, count);
	size_t others = 0;
	for (size_t i = 0; next && i < count; i++)
		others += !jobs[i].done && &jobs[i] != next && jobs[i].share == next->share;
	if (next)
		next->alone = !others;
	return next;
}

/* Whether the image may have more than names and code: lines in its file or one beside it, or flow.
 */
static bool may_have(const struct job *job, unsigned what)
{
	bool identified = job->file && job->file->state == FILE_IDENTIFIED && job->file->identity;
	if (!identified || what != GATHER_LINES)
		return identified;
	return job->file->identity->has_lines || job->file->identity->build_id_bytes ||
	       job->file->identity->debug_link[0];
}

/*
 * What is trusted comes first, each image whole. Then the strangers', in turn by what each took, so
 * that none waits for another's: first names and code of all of them, then lines, then flow,
 * for which each of the functions is disassembled.
 */
static int run_jobs(struct gathering *gathering, struct job *jobs, size_t count)
{
	static const unsigned rounds[] = { GATHER_FUNCTIONS | GATHER_CODE, GATHER_LINES,
					   GATHER_FLOW };
	unsigned all = gathering->redact ? GATHER_FUNCTIONS : GATHER_ALL;
	int ret = 0;
	for (size_t i = 0; i < count && ret == 0; i++)
		if (!jobs[i].share->strange)
			ret = run_job(gathering, &jobs[i], all);
	for (size_t round = 0; round < sizeof(rounds) / sizeof(rounds[0]); round++) {
		unsigned what = rounds[round] & all;
		for (size_t i = 0; i < count; i++)
			jobs[i].done = !jobs[i].share->strange || jobs[i].left_out || !what ||
				       (round && !may_have(&jobs[i], what));
		for (struct job *job; ret == 0 && (job = take_next_job(jobs, count));)
			ret = run_job(gathering, job, what);
	}
	return ret;
}

static struct job job_of(const struct gathering *gathering, uint32_t image, const uint64_t *vaddrs)
{
	struct session *session = gathering->session;
	struct job job = { .image = image, .vaddrs = vaddrs, .share = &session->shares.own };
	uint32_t number = gathering->file_of_image[image];
	job.file = file_table_get(&session->files, number);
	job.jit = number_map_find(&session->jits.by_image, image);
	if (job.file && job.file->share)
		job.share = job.file->share;
	else if (job.jit && job.jit->share)
		job.share = job.jit->share;
	return job;
}

/* What there was no time for is asked for again when the next epoch ends; what takes too much
 * memory would then, too. */
static int owe(struct session *session, const struct job *job)
{
	int ret = 0;
	for (size_t i = 0; job->owed && i < job->count && ret == 0; i++)
		if (session->owed.count < OWED_MOST)
			ret = add_spot(&session->owed, job->image, job->vaddrs[i]);
	return ret;
}

static int gather_all(struct gathering *gathering, const struct code_spots *spots)
{
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(spots->count + 1, sizeof(*vaddrs));
	CLEANUP(free_pointer) struct job *jobs = NULL;
	size_t count = 0, capacity = 0;
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < spots->count; i++) {
		vaddrs[i] = spots->list[i].vaddr;
		if (i && spots->list[i].image == spots->list[i - 1].image) {
			jobs[count - 1].count++;
			continue;
		}
		if (array_reserve(&jobs, &capacity, count, sizeof(*jobs)) < 0)
			return -ENOMEM;
		jobs[count++] = job_of(gathering, spots->list[i].image, &vaddrs[i]);
		jobs[count - 1].count = 1;
	}
	int ret = count ? run_jobs(gathering, jobs, count) : 0;
	gathering->session->owed.count = 0;
	for (size_t i = 0; i < count && ret == 0; i++)
		ret = owe(gathering->session, &jobs[i]);
	return ret;
}

static void tell_left_out(const struct gathering *gathering)
{
	const struct collect_options *options = gathering->session->options;
	for (int why = 0; why < LEFT_OUT_REASONS && options->note; why++) {
		char text[1200];
		left_out_tell(&gathering->left_out, (enum left_out_why)why, text, sizeof(text));
		if (text[0])
			options->note(options->note_context, COLLECT_WARNING, text);
	}
}

/* What users' shares had no room for; not known to be 0 where nobody is limited. */
static int write_refused(struct session *session, struct profile *profile)
{
	static const char *const items[SHARE_KINDS] = {
		[SHARE_FILES] = BILL_LEFT_OUT_PREFIX "files",
		[SHARE_MAPPINGS] = BILL_LEFT_OUT_PREFIX "mappings",
		[SHARE_CONTEXTS] = BILL_LEFT_OUT_PREFIX "contexts",
		[SHARE_STACKS] = BILL_LEFT_OUT_PREFIX "stacks",
		[SHARE_PLACES] = BILL_LEFT_OUT_PREFIX "places",
		[SHARE_EDGES] = BILL_LEFT_OUT_PREFIX "edges",
	};
	uint64_t refused[SHARE_KINDS];
	uint64_t names = 0;
	size_t position = 0;
	int ret = 0;
	shares_take_refused(&session->shares, refused);
	for (int i = 0; i < SHARE_KINDS && ret == 0; i++)
		if (items[i] && refused[i])
			ret = profile_add_bill(profile, 0, OPTIONAL_ABSENT, items[i], refused[i]);
	for (struct jit *jit; (jit = number_map_next(&session->jits.by_image, &position));) {
		names += jit->dropped;
		jit->dropped = 0;
	}
	if (ret == 0 && names)
		ret = profile_add_bill(profile, 0, OPTIONAL_ABSENT,
				       BILL_LEFT_OUT_PREFIX "runtime_names", names);
	return ret;
}

/* An epoch has ended, and nobody asks for names of what ended with it any more. */
static void begin_next(struct session *session)
{
	shares_begin_epoch(&session->shares);
	file_table_names_read(&session->files);
	jit_table_names_read(&session->jits);
}

int gather_nothing(struct session *session, struct tally_translation *translation, bool redact)
{
	struct left_out left_out = session->unread;
	session->unread = (struct left_out){ 0 };
	for (size_t i = 0; i < session->files.count; i++) {
		const struct file *file = session->files.files[i];
		const struct share *share = file->share ? file->share : file->through;
		if (file->unread && file->sampled && share)
			left_out_add(&left_out, file->path, share, file->unread_why,
				     LEFT_OUT_NAMES);
	}
	int ret = left_out_write(&left_out, redact, translation->to);
	if (ret == 0)
		ret = write_refused(session, translation->to);
	left_out_release(&left_out);
	begin_next(session);
	return ret;
}

int gather_stash(struct session *session, struct tally_translation *translation, bool redact)
{
	struct code_spots spots = { 0 };
	struct gathering gathering = { .session = session,
				       .left_out = session->unread,
				       .translation = translation,
				       .redact = redact };
	session->unread = (struct left_out){ 0 };
	size_t images = profile_table(session->profile, PROFILE_IMAGE)->count;
	gathering.file_of_image = calloc(images + 1, sizeof(uint32_t));
	int ret = gathering.file_of_image ? list_spots(session, &spots) : -ENOMEM;
	for (size_t i = 0; i < session->files.count && ret == 0; i++) {
		const struct file *file = session->files.files[i];
		uint32_t *known = &gathering.file_of_image[file->image];
		/* Of several files of one build, the one of which something is kept. */
		if (file->image && (!*known || file->fd >= 0))
			*known = (uint32_t)i + 1;
	}
	session->gathering = true;
	if (ret == 0)
		ret = gather_all(&gathering, &spots);
	session->gathering = false;
	tell_refused(&gathering);
	tell_left_out(&gathering);
	if (ret == 0)
		ret = left_out_write(&gathering.left_out, redact, translation->to);
	if (ret == 0)
		ret = write_refused(session, translation->to);
	left_out_release(&gathering.left_out);
	kallsyms_release(&gathering.kallsyms);
	buffer_release(&gathering.kernel_text);
	free(gathering.file_of_image);
	free(spots.list);
	for (size_t i = 0; i < session->tally.count && ret == 0; i++)
		session->tally.places[i].gathered = true;
	for (size_t i = 0; i < session->edges.tally.count && ret == 0; i++)
		session->edges.tally.rows[i].gathered = true;
	begin_next(session);
	if (ret == 0)
		session->nodes_gathered = session->tally.cells.node_count;
	return ret;
}
