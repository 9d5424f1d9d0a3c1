#include "collect/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/gather_private.h"
#include "collect/session.h"
#include "profile/bill.h"

#define OWED_MOST 65536u	      /* spots that the next epoch is told of */
#define HURRY_NS  UINT64_C(150000000) /* for what is being gathered when we are to end soon */

static int add_spot(struct code_spots *spots, uint32_t image, uint32_t asker, uint64_t vaddr)
{
	int ret = array_reserve(&spots->list, &spots->capacity, spots->count, sizeof(*spots->list));
	if (ret == 0 && image)
		spots->list[spots->count++] = (struct code_spot){ image, asker, vaddr };
	return ret;
}

static int compare_spots(const void *a, const void *b)
{
	const struct code_spot *left = a;
	const struct code_spot *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->asker > right->asker) - (left->asker < right->asker);
}

static int compare_askers(const void *a, const void *b)
{
	const struct code_spot *left = a;
	const struct code_spot *right = b;
	if (left->asker != right->asker)
		return left->asker < right->asker ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* `other` has samples in the same place: *asker stays a stranger only where he alone has. */
static void ask_too(uint32_t *asker, uint32_t other)
{
	if (!other || *asker == SHARE_USER_UNKNOWN)
		*asker = other;
}

/* By number - 1 of each call: the stranger who alone has samples in places that it leads to, else
 * 0. The caller frees it; NULL: out of memory. */
static uint32_t *askers_of_calls(const struct tally *tally)
{
	const struct cells *cells = &tally->cells;
	uint32_t *askers = malloc((cells->node_count + 1) * sizeof(*askers));
	if (!askers)
		return NULL;
	for (size_t i = 0; i < cells->node_count; i++)
		askers[i] = SHARE_USER_UNKNOWN;
	for (size_t i = 0; i < tally->count; i++)
		if (tally->places[i].calls)
			ask_too(&askers[tally->places[i].calls - 1], tally->places[i].asker);
	/* Callers have lower numbers than what they call. */
	for (size_t i = cells->node_count; i > 0; i--)
		if (cells->nodes[i - 1].parent)
			ask_too(&askers[cells->nodes[i - 1].parent - 1], askers[i - 1]);
	return askers;
}

static int list_calls(const struct session *session, struct code_spots *spots)
{
	const struct cells *cells = &session->tally.cells;
	CLEANUP(free_pointer) uint32_t *askers = askers_of_calls(&session->tally);
	int ret = askers ? 0 : -ENOMEM;
	for (size_t i = 0; i < cells->node_count && ret == 0; i++) {
		const struct cells_node *node = &cells->nodes[i];
		bool returns = node->image_kind & 1 && node->vaddr;
		ret = add_spot(spots, node->image_kind / 2, askers[i], node->vaddr - returns);
	}
	return ret;
}

/* Where code was sampled, leaves and callers, and branches seen. */
static int list_all(const struct session *session, struct code_spots *spots)
{
	const struct tally *tally = &session->tally;
	int ret = 0;
	for (size_t i = 0; i < tally->count && ret == 0; i++) {
		const struct tally_place *place = &tally->places[i];
		ret = add_spot(spots, place->image, place->asker, place->vaddr);
	}
	const struct edge_tally *edges = &session->edges.tally;
	for (size_t i = 0; i < edges->count && ret == 0; i++) {
		const struct edge_row *edge = &edges->rows[i];
		ret = add_spot(spots, edge->from_image, edge->asker, edge->from_vaddr);
		if (ret == 0)
			ret = add_spot(spots, edge->to_image, edge->asker, edge->to_vaddr);
	}
	return ret < 0 ? ret : list_calls(session, spots);
}

/* Whether the one who alone has samples in the image pays for it. Strangers' files, and code made
 * at run time, count for their own users, and the kernel's for nobody.
 */
static bool asker_matters(const struct gathering *gathering, uint32_t image)
{
	const struct session *session = gathering->session;
	const struct file *file = file_table_get(&session->files, gathering->file_of_image[image]);
	return file && file->kind != FILE_VDSO && !(file->share && file->share->strange) &&
	       profile_image(session->profile, image).kind == IMAGE_FILE;
}

/* Sorts those of each image by who asks. */
static void sort_by_asker(struct code_spots *spots)
{
	for (size_t from = 0, to; from < spots->count; from = to) {
		bool one = true;
		for (to = from;
		     to < spots->count && spots->list[to].image == spots->list[from].image; to++)
			one = one && spots->list[to].asker == spots->list[from].asker;
		if (!one)
			qsort(&spots->list[from], to - from, sizeof(*spots->list), compare_askers);
	}
}

/* The same place, whoever asks. */
static bool is_same(const struct code_spot *a, const struct code_spot *b)
{
	return a->image == b->image && a->vaddr == b->vaddr;
}

/* By image and address, each place once. */
static void put_in_order(struct code_spots *spots)
{
	size_t kept = 0;
	if (spots->count)
		qsort(spots->list, spots->count, sizeof(*spots->list), compare_spots);
	for (size_t i = 0; i < spots->count; i++)
		if (!kept || !is_same(&spots->list[kept - 1], &spots->list[i]))
			spots->list[kept++] = spots->list[i];
	spots->count = kept;
}

/* Whether the last epoch named the place. What it named for a stranger alone counts only for him:
 * he may have had no room for it. */
static bool is_named(const struct code_spot *before, const struct code_spot *now)
{
	return is_same(before, now) && (!before->asker || before->asker == now->asker);
}

/* Appends those of `now` that the last epoch did not name, and what an earlier one left for this
 * one. All are in order. */
static int list_wanted(const struct session *session, struct code_spots *now,
		       struct code_spots *wanted)
{
	const struct code_spots *before = &session->named;
	size_t at = 0;
	int ret = 0;
	for (size_t i = 0; i < now->count && ret == 0; i++) {
		struct code_spot *spot = &now->list[i];
		struct code_spot lowest = *spot;
		lowest.asker = 0;
		while (at < before->count && compare_spots(&before->list[at], &lowest) < 0)
			at++;
		if (at < before->count && is_named(&before->list[at], spot))
			spot->asker = before->list[at].asker; /* for the epoch after this one */
		else
			ret = add_spot(wanted, spot->image, spot->asker, spot->vaddr);
	}
	for (size_t i = 0; i < session->owed.count && ret == 0; i++) {
		const struct code_spot *owed = &session->owed.list[i];
		ret = add_spot(wanted, owed->image, owed->asker, owed->vaddr);
	}
	if (ret == 0)
		put_in_order(wanted);
	return ret;
}

/* What is to be gathered, by image, asker and address; `now` is all that has samples. */
static int list_spots(const struct gathering *gathering, struct code_spots *now,
		      struct code_spots *wanted)
{
	bool matters = false;
	int ret = list_all(gathering->session, now);
	if (ret < 0)
		return ret;
	put_in_order(now);
	ret = list_wanted(gathering->session, now, wanted);
	for (size_t i = 0; i < wanted->count && ret == 0; i++) {
		struct code_spot *spot = &wanted->list[i];
		if (!i || spot->image != spot[-1].image)
			matters = asker_matters(gathering, spot->image);
		spot->asker = matters ? spot->asker : 0;
	}
	sort_by_asker(wanted);
	return ret;
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

static struct job job_of(const struct gathering *gathering, const struct code_spot *spot,
			 uint64_t *vaddrs)
{
	uint32_t image = spot->image;
	struct session *session = gathering->session;
	struct job job = { .image = image,
			   .kind = profile_image(session->profile, image).kind,
			   .vaddrs = vaddrs,
			   .share = &session->shares.own };
	uint32_t number = gathering->file_of_image[image];
	job.file = file_table_get(&session->files, number);
	job.jit = number_map_find(&session->jits.by_image, image);
	if (job.file && job.file->share)
		job.share = job.file->share;
	else if (job.jit && job.jit->share)
		job.share = job.jit->share;
	if (spot->asker) {
		job.share = shares_of_user(&session->shares, spot->asker);
		job.guest = job.share->strange;
	}
	return job;
}

/* Leaves it to the next epoch if there was no time; what takes too much memory would then, too. */
static int owe(struct session *session, const struct job *job)
{
	int ret = 0;
	for (size_t i = 0; job->owed && i < job->count && ret == 0; i++)
		if (session->owed.count < OWED_MOST)
			ret = add_spot(&session->owed, job->image,
				       job->guest ? job->share->user : 0, job->vaddrs[i]);
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
		const struct code_spot *spot = &spots->list[i];
		vaddrs[i] = spot->vaddr;
		if (i && spot->image == spot[-1].image && spot->asker == spot[-1].asker) {
			jobs[count - 1].count++;
			continue;
		}
		if (array_reserve(&jobs, &capacity, count, sizeof(*jobs)) < 0)
			return -ENOMEM;
		jobs[count++] = job_of(gathering, spot, &vaddrs[i]);
		jobs[count - 1].count = 1;
	}
	gathering->jobs_end = jobs + count;
	int ret = gather_in_turns(gathering, jobs, count);
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

/* Bills what users' shares had no room for; nothing where that is 0, or nobody is limited. */
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

/* An epoch has ended: names of what ended with it are not asked for any more. */
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
		const struct share *share = !file	  ? NULL
					    : file->share ? file->share
							  : file->through;
		if (share && file->unread && file->sampled)
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
	struct code_spots now = { 0 }, wanted = { 0 };
	struct gathering gathering = { .session = session,
				       .left_out = session->unread,
				       .translation = translation,
				       .redact = redact };
	session->unread = (struct left_out){ 0 };
	size_t images = profile_table(session->profile, PROFILE_IMAGE)->count;
	gathering.file_of_image = calloc(images + 1, sizeof(uint32_t));
	int ret = gathering.file_of_image ? 0 : -ENOMEM;
	for (size_t i = 0; i < session->files.count && ret == 0; i++) {
		const struct file *file = session->files.files[i];
		uint32_t *known = file ? &gathering.file_of_image[file->image] : NULL;
		/* Of several files of one build, the one of which something is kept. */
		if (file && file->image && (!*known || file->fd >= 0))
			*known = (uint32_t)i + 1;
	}
	session->gathering = true;
	if (ret == 0)
		ret = list_spots(&gathering, &now, &wanted);
	if (ret == 0)
		ret = gather_all(&gathering, &wanted);
	session->gathering = false;
	tell_refused(&gathering);
	tell_left_out(&gathering);
	if (ret == 0)
		ret = left_out_write(&gathering.left_out, redact, translation->to);
	if (ret == 0)
		ret = write_refused(session, translation->to);
	left_out_release(&gathering.left_out);
	gather_forget_kernel(&gathering);
	free(gathering.file_of_image);
	free(wanted.list);
	begin_next(session);
	free(ret == 0 ? session->named.list : now.list);
	if (ret == 0)
		session->named = now;
	return ret;
}
