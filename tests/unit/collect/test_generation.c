/* What was added up in an epoch goes with it, and names are asked for when code runs anew. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/growth.h"
#include "base/random.h"
#include "collect/collector_private.h"
#include "collect/gather.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "support/made_up_collector.h"
#include "support/test_profile.h"

#define RING_BYTES    (1u << 20)
#define EPOCHS	      20
#define SETTLED	      3 /* epochs, after which nothing more may be kept */
#define EPOCH_SAMPLES 4000u
#define EPOCH_NAMES   5000u
#define STRANGER      4242u

static struct collector *started(void)
{
	struct collector *collector = made_up_collector_new(RING_BYTES);
	struct error err = { 0 };
	if (collector_start(collector, &err) < 0)
		fail_msg("%s", err.text);
	return collector;
}

static uint64_t samples_of(const struct profile *profile)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	uint64_t sum = 0;
	for (size_t row = 0; row < flat->count; row++)
		sum += table_values(flat, row)[CELL_SAMPLES];
	return sum;
}

static uint64_t end_epoch(struct collector *collector)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	const struct timespec settle = { .tv_nsec = 1000000 };
	struct error err = { 0 };
	nanosleep(&settle, NULL); /* the last samples are handled no sooner */
	if (collector_end_epoch(collector, &delta, &err) < 0)
		fail_msg("%s", err.text);
	return samples_of(delta);
}

static void sample(struct collector *collector, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_true(made_up_collector_sample(collector));
}

/* Of epochs in which something else ran each time. */
static void memory_follows_what_runs_and_not_what_ran(void **state)
{
	(void)state;
	struct collector *collector = started();
	const struct session *session = &collector->session;
	size_t settled_bytes = 0, most_bytes = 0;
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		sample(collector, EPOCH_SAMPLES);
		assert_int_equal(end_epoch(collector), EPOCH_SAMPLES);
		assert_int_equal(session->tally.count, 0);
		assert_int_equal(session->tally.cells.node_count, 0);
		assert_int_equal(session->edges.tally.count, 0);
		assert_in_range(session->named.count, EPOCH_SAMPLES, 12 * EPOCH_SAMPLES);
		size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
		settled_bytes = epoch < SETTLED ? bytes : settled_bytes;
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	/* One epoch's places alone take half a megabyte; the ring's copy may move. */
	assert_in_range(most_bytes, 0, settled_bytes + 3 * RING_BYTES / 2);
	collector_free(collector);
}

/* ld --wrap: memory may run out for it. */
int __real_session_begin_generation(struct session *session);
int __wrap_session_begin_generation(struct session *session);
static bool no_memory;

int __wrap_session_begin_generation(struct session *session)
{
	return no_memory ? -ENOMEM : __real_session_begin_generation(session);
}

static void an_epoch_is_whole_though_nothing_can_be_forgotten(void **state)
{
	(void)state;
	struct collector *collector = started();
	sample(collector, 100);
	no_memory = true;
	assert_int_equal(end_epoch(collector), 100);
	assert_true(collector->session.tally.count > 0);
	sample(collector, 50);
	no_memory = false;
	assert_int_equal(end_epoch(collector), 50);
	assert_int_equal(collector->session.tally.count, 0);
	collector_free(collector);
}

static struct session *new_session(void)
{
	struct session *session = calloc(1, sizeof(*session));
	static const struct collect_options options = { 0 };
	assert_non_null(session);
	session->options = &options;
	session->profile = profile_new();
	assert_non_null(session->profile);
	assert_int_equal(tally_init(&session->tally, session->profile), 0);
	shares_init(&session->shares, &(struct share_limits){ 0 });
	return session;
}

static void free_session(struct session *session)
{
	tally_release(&session->tally);
	profile_free(session->profile);
	shares_release(&session->shares);
	free(session->named.list);
	free(session->owed.list);
	free(session);
}

/* Of one name, told apart by who can write them: 0, 1, ... */
static void add_images(struct profile *profile, uint32_t *ids, size_t count)
{
	struct profile_image image = { .kind = IMAGE_FILE, .name = span_of_text("/bin/a") };
	for (size_t i = 0; i < count; i++) {
		image.writer = i;
		assert_int_equal(profile_add_image(profile, &image, &ids[i]), 0);
		assert_int_equal(profile_add_path(profile, ids[i], image.name), 0);
	}
}

/* One epoch, in which that image's code at `vaddr` has a sample. Whether its names were asked for,
 * which its file refuses. */
static bool is_asked_by(struct session *session, uint32_t image, uint64_t vaddr, uint32_t asker)
{
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct tally_translation translation = { 0 };
	const struct tally_place place = { .image = image, .vaddr = vaddr, .asker = asker };
	uint32_t number;
	session->files.files[0]->sampled = true;
	assert_int_equal(tally_place(&session->tally, &place, &number), 0);
	assert_int_equal(tally_translation_init(&translation, session->profile, profile), 0);
	assert_int_equal(gather_stash(session, &translation, false), 0);
	tally_translation_release(&translation);
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(tally_fault(&session->tally));
	assert_null(profile_fault(session->profile));
	return test_billed(profile, "left_out_names_memory") == 1;
}

static bool is_asked(struct session *session, uint32_t image, uint64_t vaddr)
{
	return is_asked_by(session, image, vaddr, 0);
}

/* A stranger's program that was sampled and could not be read. */
static void make_unread(struct session *session, struct file *file, enum left_out_why why)
{
	static char path[] = "/their/program";
	const struct profile_image image = { .kind = IMAGE_FILE, .name = span_of_text(path) };
	*file = (struct file){ .path = path,
			       .unread = true,
			       .unread_why = why,
			       .through = shares_of_user(&session->shares, STRANGER) };
	assert_int_equal(profile_add_image(session->profile, &image, &file->image), 0);
}

static void names_are_asked_for_unless_the_last_epoch_had_them(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct file file;
	struct file *files[] = { &file };
	make_unread(session, &file, LEFT_OUT_MEMORY);
	session->files.files = files;
	session->files.count = 1;
	assert_true(is_asked(session, file.image, 16));
	assert_false(is_asked(session, file.image, 16));
	assert_false(is_asked(session, file.image, 16));
	assert_true(is_asked(session, file.image, 32));
	assert_true(is_asked(session, file.image, 16)); /* anew: the epoch before had none of it */
	assert_false(is_asked_by(session, file.image, 16, STRANGER)); /* they are there */
	assert_false(is_asked_by(session, file.image, 16, STRANGER + 1));
	assert_false(is_asked(session, file.image, 16));
	/* What a stranger alone asked for may not have been given him. */
	assert_true(is_asked_by(session, file.image, 48, STRANGER));
	assert_false(is_asked_by(session, file.image, 48, STRANGER));
	assert_true(is_asked_by(session, file.image, 48, STRANGER + 1));
	assert_true(is_asked(session, file.image, 48));
	assert_false(is_asked_by(session, file.image, 48, STRANGER));
	free_session(session);
}

/* What there was no time for is asked for in the next epoch, though the last one had it. */
static void what_is_owed_is_asked_for_again(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct code_spot *owed = calloc(1, sizeof(*owed));
	struct file file;
	struct file *files[] = { &file };
	make_unread(session, &file, LEFT_OUT_MEMORY);
	assert_non_null(owed);
	session->files.files = files;
	session->files.count = 1;
	assert_true(is_asked(session, file.image, 16));
	*owed = (struct code_spot){ .image = file.image, .vaddr = 16 };
	session->owed = (struct code_spots){ owed, 1, 1 };
	assert_true(is_asked(session, file.image, 16));
	assert_false(is_asked(session, file.image, 16));
	free_session(session);
}

/* What was never opened has no names to come: a later sample gives the file another image. */
static void what_was_not_opened_is_not_owed(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct file file;
	struct file *files[] = { &file };
	make_unread(session, &file, LEFT_OUT_TIME);
	session->files.files = files;
	session->files.count = 1;
	for (int epoch = 0; epoch < 3; epoch++) {
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		struct tally_translation translation = { 0 };
		const struct tally_place place = { .image = file.image, .vaddr = 16 };
		uint32_t number;
		file.sampled = true;
		if (epoch == 0)
			assert_int_equal(tally_place(&session->tally, &place, &number), 0);
		assert_int_equal(tally_translation_init(&translation, session->profile, profile),
				 0);
		assert_int_equal(gather_stash(session, &translation, false), 0);
		tally_translation_release(&translation);
		assert_int_equal(test_billed(profile, "left_out_names_time"), epoch == 0 ? 1 : -1);
		assert_int_equal(session->owed.count, 0);
		assert_int_equal(session_begin_generation(session), 0);
	}
	free_session(session);
}

static void a_sample_without_a_weight_finds_its_place_in_the_next_epoch(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct lane lane = { 0 };
	struct sampler sampler = { .sampled = true };
	struct tally_place place = { .vaddr = 64, .stack = true };
	const struct profile_event event = { .name = span_of_text("cycles") };
	const struct profile_context context = { .comm = span_of_text("waits") };
	uint32_t images[4], other, number;
	add_images(session->profile, images, 4);
	assert_int_equal(profile_add_event(session->profile, &event, &place.event), 0);
	session->counters.samplers = &sampler;
	session->counters.sampler_count = session->counters.cpu_count = 1;
	session->counters.lanes = &lane;
	assert_int_equal(tally_place(&session->tally, &place, &other), 0);
	struct cells *cells = &session->tally.cells;
	assert_int_equal(cells_node(cells, 0, images[1], 7, FRAME_RETURN, &place.calls), 0);
	assert_int_equal(cells_node(cells, place.calls, images[3], 8, FRAME_RETURN, &place.calls),
			 0);
	place.image = images[1];
	place.vaddr = 80;
	assert_int_equal(profile_add_context(session->profile, &context, &place.context), 0);
	assert_int_equal(tally_place(&session->tally, &place, &number), 0);
	assert_int_equal(weight_sample(&lane.weight, SESSION_FILTERED_TARGET), 0);
	assert_int_equal(weight_sample(&lane.weight, number), 0);
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(tally_fault(&session->tally));
	assert_null(profile_fault(session->profile));

	assert_int_equal(session->tally.count, 1);
	assert_int_equal(lane.weight.targets[0], SESSION_FILTERED_TARGET);
	assert_int_equal(lane.weight.targets[1], 0);
	const struct tally_place *carried = &session->tally.places[0];
	assert_int_equal(carried->vaddr, 80);
	assert_int_equal(profile_image(session->profile, carried->image).writer, 1);
	assert_true(
		span_equal(profile_context(session->profile, carried->context).comm, context.comm));
	const struct cells_node *inner = &session->tally.cells.nodes[carried->calls - 1];
	const struct cells_node *outer = &session->tally.cells.nodes[inner->parent - 1];
	assert_int_equal(inner->vaddr, 8);
	assert_int_equal(inner->image_kind & 1, 1);
	assert_int_equal(profile_image(session->profile, inner->image_kind / 2).writer, 3);
	assert_int_equal(outer->vaddr, 7);
	assert_int_equal(outer->parent, 0);
	lane.advanced = 1000;
	assert_int_equal(session_settle(session, true), 0);
	assert_int_equal(carried->cell.samples, 1);
	assert_int_equal(carried->cell.estimate, 500);
	weight_release(&lane.weight);
	free_session(session);
}

static void a_user_has_room_again(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	const enum share_of kinds[] = { SHARE_PLACES, SHARE_STACKS, SHARE_EDGES, SHARE_CONTEXTS };
	for (size_t i = 0; i < 4; i++)
		assert_true(share_take(&session->shares, share, kinds[i], 1000));
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(tally_fault(&session->tally));
	assert_null(profile_fault(session->profile));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(share->held[kinds[i]], 0);
	assert_int_equal(share->held[SHARE_CONTEXTS], 1000); /* of control groups and the like */
	free_session(session);
}

/* More names of commands in each epoch than there is room for in two. */
static void names_of_commands_go_with_their_epoch(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_need(&session->processes, 1);
	uint32_t context = 0;
	struct share *share = shares_of_user(&session->shares, STRANGER);
	process->share = share;
	process->share_asked = process->asked = process->known = true;
	process->exit_ns = 1;
	for (unsigned i = 0; i < EPOCHS * EPOCH_NAMES; i++) {
		process->context = 0; /* a new name */
		snprintf(process->comm, sizeof(process->comm), "n%u", i);
		assert_int_equal(session_context(session, process, 1, 0, &context), 0);
		if ((i + 1) % EPOCH_NAMES == 0)
			assert_int_equal(session_begin_generation(session), 0);
	}
	assert_null(tally_fault(&session->tally));
	assert_null(profile_fault(session->profile));
	assert_int_equal(share->refused[SHARE_CONTEXTS], 0);
	assert_int_equal(share->held[SHARE_CONTEXTS], 0);
	assert_int_equal(profile_table(session->profile, PROFILE_CONTEXT)->count, 0);
	assert_true(session->profile->bytes.count < 10);
	/* It is called the same, and nobody looks into what was known before. */
	assert_int_equal(session_context(session, process, 1, 0, &context), 0);
	struct profile_context found = profile_context(session->profile, context);
	assert_true(span_equal(found.comm, span_of_text(process->comm)));
	process_table_release(&session->processes);
	free_session(session);
}

static void a_sample_that_waits_to_be_interpreted_keeps_its_context(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct edge_waiting waiting[2] = { { .sampler = 0 } };
	struct profile_context context = { .comm = span_of_text("gone") };
	uint32_t other;
	assert_int_equal(profile_add_context(session->profile, &context, &other), 0);
	context.comm = span_of_text("waits");
	assert_int_equal(profile_add_context(session->profile, &context, &waiting[1].context), 0);
	session->edges.strange.under_way = (struct edge_batch){ .waiting = waiting, .count = 2 };
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(tally_fault(&session->tally));
	assert_null(profile_fault(session->profile));
	assert_int_equal(waiting[0].context, 0);
	assert_int_equal(waiting[1].context, 1);
	assert_true(span_equal(profile_context(session->profile, 1).comm, context.comm));
	assert_int_equal(profile_table(session->profile, PROFILE_CONTEXT)->count, 1);
	free_session(session);
}

/* What each number of an image meant goes on under another one, with its paths. */
static void images_that_are_used_go_on(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_need(&session->processes, 1);
	uint32_t ids[8], number;
	add_images(session->profile, ids, 8);
	struct tally_place place = { .image = ids[6], .vaddr = 16 };
	const struct edge_row edge = { .from_image = ids[4], .to_image = ids[5] };
	struct code_spot *owed = calloc(1, sizeof(*owed)), *named = calloc(1, sizeof(*named));
	assert_true(process && owed && named);
	owed->image = ids[2];
	named->image = ids[1];
	session->owed = (struct code_spots){ owed, 1, 1 };
	session->named = (struct code_spots){ named, 1, 1 };
	process->runtime_image = ids[7];
	session->unknown_images[UNKNOWN_NO_MAPPING] = ids[6];
	session->unknown_images[UNKNOWN_NO_PROCESS] = ids[3];
	assert_int_equal(tally_place(&session->tally, &place, &number), 0);
	assert_int_equal(edge_tally_add(&session->edges.tally, &edge), 0);
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(profile_fault(session->profile));

	const struct profile *profile = session->profile;
	assert_int_equal(profile_table(profile, PROFILE_IMAGE)->count, 6);
	assert_int_equal(profile_table(profile, PROFILE_PATH)->count, 6);
	assert_int_equal(profile_image(profile, named->image).writer, 1);
	assert_int_equal(profile_image(profile, owed->image).writer, 2);
	assert_int_equal(profile_image(profile, process->runtime_image).writer, 7);
	uint32_t unknown = session->unknown_images[UNKNOWN_NO_MAPPING];
	assert_int_equal(profile_image(profile, unknown).writer, 6);
	assert_int_equal(session->unknown_images[UNKNOWN_NO_PROCESS], 0);

	/* In the next epoch none has samples: those of the process and of owed names are left. */
	session->named.count = 0;
	assert_int_equal(session_begin_generation(session), 0);
	assert_int_equal(profile_table(profile, PROFILE_IMAGE)->count, 2);
	assert_int_equal(profile_image(profile, owed->image).writer, 2);
	assert_int_equal(profile_image(profile, process->runtime_image).writer, 7);
	process_table_release(&session->processes);
	free_session(session);
}

/* A session that knows files by their records alone, and the code of no process. */
static struct session *new_session_of_files(void)
{
	struct session *session = new_session();
	assert_int_equal(file_table_init(&session->files, session->profile, NULL, &session->shares),
			 0);
	jit_table_init(&session->jits, NULL, &session->files, &session->shares);
	return session;
}

static void free_session_of_files(struct session *session)
{
	process_table_release(&session->processes);
	jit_table_release(&session->jits);
	file_table_release(&session->files);
	free_session(session);
}

static uint32_t map_file(struct session *session, uint32_t pid, uint64_t inode, struct share *share)
{
	char path[64];
	snprintf(path, sizeof(path), "/build/%u", (unsigned)inode);
	struct file_hint hint = { .pid = pid,
				  .inode = inode,
				  .share = share,
				  .payer = share,
				  .path = span_of_text(path) };
	struct mapping mapping = { .start = inode << 12, .end = (inode + 1) << 12 };
	assert_int_equal(file_table_find(&session->files, &hint, &mapping.file), 0);
	assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
	return mapping.file;
}

/* The image of the file, which has a sample. */
static uint32_t sample_file(struct session *session, uint32_t number)
{
	struct tally_place place = { .vaddr = 16 };
	uint32_t target;
	assert_int_equal(file_table_image(&session->files, number, &place.image), 0);
	assert_int_equal(tally_place(&session->tally, &place, &target), 0);
	return place.image;
}

static void sample_own_code(struct session *session, uint32_t pid, struct share *share)
{
	struct process *process = process_find(&session->processes, pid);
	struct located found;
	process->share = share;
	process->share_asked = true;
	uint32_t anonymous = session->files.anonymous;
	struct mapping mapping = { .start = 4096, .end = 8192, .file = anonymous };
	assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
	assert_int_equal(session_locate(session, process, CODE_USER, 4096, FRAME_IP, &found), 0);
	assert_int_equal(found.cause, UNKNOWN_NONE);
	struct tally_place place = { .image = found.image, .vaddr = found.vaddr };
	uint32_t target;
	assert_int_equal(tally_place(&session->tally, &place, &target), 0);
}

static void end_process(struct session *session, uint32_t pid)
{
	assert_int_equal(process_exit(&session->processes, pid, pid, 1), 0);
	process_reap(&session->processes, 2);
}

static void end_generation(struct session *session)
{
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct tally_translation translation = { 0 };
	assert_int_equal(tally_translation_init(&translation, session->profile, profile), 0);
	assert_int_equal(gather_nothing(session, &translation, false), 0);
	tally_translation_release(&translation);
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(profile_fault(session->profile));
}

#define NEW_FILES 1000u /* an epoch; a stranger has room for 4096 */

/* Of a stranger's programs, each of which is new, and of code that each makes itself. */
static void files_and_code_go_with_who_ran_them(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	uint32_t pid = 100;
	size_t settled_bytes = 0, most_bytes = 0;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		for (uint64_t i = 0; i < NEW_FILES; i++, pid++) {
			uint32_t number = map_file(session, pid, pid, share);
			assert_int_not_equal(number, session->files.beyond);
			sample_file(session, number);
			sample_own_code(session, pid, share);
			end_process(session, pid);
		}
		end_generation(session);
		assert_in_range(session->files.count, NEW_FILES, 2 * NEW_FILES + 8);
		assert_int_equal(session->jits.by_image.count, NEW_FILES);
		assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count,
				 2 * NEW_FILES);
		size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
		settled_bytes = epoch < SETTLED ? bytes : settled_bytes;
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	assert_in_range(most_bytes, 0, settled_bytes + settled_bytes / 8);
	assert_int_equal(share->refused[SHARE_FILES], 0);
	assert_int_equal(share->refused[SHARE_CONTEXTS], 0);
	assert_int_equal(share->held[SHARE_FILES], NEW_FILES);
	/* Another epoch, in which nothing runs. */
	end_generation(session);
	assert_int_equal(session->jits.by_image.count, 0);
	assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count, 0);
	assert_int_equal(share->held[SHARE_FILES], 0);
	assert_int_equal(share->held[SHARE_CONTEXTS], 0);
	assert_int_equal(session->files.count, session->files.beyond);
	free_session_of_files(session);
}

/* As if it had been read: all of these have the same content. */
static void make_program(struct session *session, uint32_t number)
{
	struct file *file = file_table_get(&session->files, number);
	file->identity = calloc(1, sizeof(*file->identity));
	assert_non_null(file->identity);
	file->identity->content = CONTENT_FILE;
	file->identity->hash.low = 1;
	file->state = FILE_IDENTIFIED;
}

/* A program runs all the time, and copies of it under ever other names. */
static void paths_of_an_image_go_with_the_files_that_had_them(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	uint32_t first = map_file(session, 1, 1, share);
	make_program(session, first);
	uint32_t image = sample_file(session, first);
	for (uint32_t pid = 100; pid < 100 + EPOCHS; pid++) {
		uint32_t number = map_file(session, pid, pid, share);
		make_program(session, number);
		assert_int_equal(sample_file(session, number), image);
		end_process(session, pid);
		end_generation(session);
		const struct table *paths = profile_table(session->profile, PROFILE_PATH);
		const char *copy = file_table_get(&session->files, number)->path;
		image = file_table_get(&session->files, first)->image;
		assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count, 1);
		assert_int_equal(paths->count, 2);
		for (size_t row = 0; row < 2; row++) {
			struct span path =
				profile_bytes(session->profile, table_keys(paths, row)[PATH_PATH]);
			assert_int_equal(table_keys(paths, row)[PATH_IMAGE], image);
			assert_true(span_equal(path, span_of_text(row ? copy : "/build/1")));
		}
	}
	free_session_of_files(session);
}

/* The number of one that goes is another's then, and nobody else's. */
static void a_file_stays_while_it_is_mapped_or_waited_for(void **state)
{
	(void)state;
	enum { RUNS, FORMER, WAITS, OWED, GOES, FILES };
	struct session *session = new_session_of_files();
	uint32_t numbers[FILES];
	struct file *files[FILES];
	for (uint32_t i = 0; i < FILES; i++) {
		numbers[i] = map_file(session, 100 + i, 1000 + i, NULL);
		files[i] = file_table_get(&session->files, numbers[i]);
	}
	struct process *process = process_find(&session->processes, 100 + FORMER);
	process->former = process->space;
	process->space = address_space_new();
	struct address_space *space =
		address_space_share(process_find(&session->processes, 100 + WAITS)->space);
	session->edges.own.under_way = (struct edge_batch){ .spaces = &space, .space_count = 1 };
	struct code_spot *owed = calloc(1, sizeof(*owed));
	assert_non_null(owed);
	owed->image = sample_file(session, numbers[OWED]);
	session->owed = (struct code_spots){ owed, 1, 1 };
	for (uint32_t i = WAITS; i < FILES; i++)
		end_process(session, 100 + i);
	sample_file(session, numbers[RUNS]);
	end_generation(session);
	end_generation(session);
	for (size_t i = 0; i < GOES; i++)
		assert_ptr_equal(file_table_get(&session->files, numbers[i]), files[i]);
	assert_int_equal(files[OWED]->image, owed->image);
	assert_int_equal(files[RUNS]->image, 0); /* without samples in the last epoch */
	struct profile_image image = profile_image(session->profile, owed->image);
	assert_true(span_equal(image.name, span_of_text("/build/1003")));

	assert_int_equal(map_file(session, 200, 2000, NULL), numbers[GOES]);
	const struct file *file = file_table_get(&session->files, numbers[GOES]);
	assert_string_equal(file->path, "/build/2000");
	assert_int_not_equal(sample_file(session, numbers[GOES]), owed->image);
	address_space_drop(space);
	free_session_of_files(session);
}

#define RUNNING	     24u
#define RANDOM_ACTS  20000u
#define INODES	     16u /* which files have in turn */
#define FIRST_PID    1000u
#define OWED_AT_ONCE 8u

/* A process that runs, and the file that it maps; pid 0: none. */
struct running {
	uint32_t pid, file;
	struct file_hint hint;
	char path[64];
	bool compiles;
};

static void run_one(struct session *session, struct random_state *random, struct share *share,
		    struct running *running)
{
	static uint32_t last_pid = FIRST_PID;
	*running = (struct running){ .pid = ++last_pid, .compiles = random_below(random, 4) == 0 };
	const struct file_hint hint = { .pid = running->pid,
					.inode = 1 + random_below(random, INODES),
					.generation = 1 + random_below(random, 4),
					.generation_known = true,
					.share = share,
					.payer = share };
	snprintf(running->path, sizeof(running->path), "/file/%u/%u", (unsigned)hint.inode,
		 (unsigned)hint.generation);
	running->hint = hint;
	running->hint.path = span_of_text(running->path);
	struct mapping mapping = { .start = 1u << 20, .end = 2u << 20 };
	assert_int_equal(file_table_find(&session->files, &running->hint, &mapping.file), 0);
	assert_int_equal(process_map(&session->processes, running->pid, &mapping), 0);
	running->file = mapping.file;
	process_find(&session->processes, running->pid)->share = share;
	if (running->compiles)
		sample_own_code(session, running->pid, share);
}

static bool is_named(const struct session *session, uint32_t image, const char *name)
{
	return span_equal(profile_image(session->profile, image).name, span_of_text(name));
}

static void expect_file(struct session *session, const struct running *running)
{
	uint32_t number;
	const struct file *file = file_table_get(&session->files, running->file);
	assert_non_null(file);
	assert_string_equal(file->path, running->path);
	assert_true(!file->image || is_named(session, file->image, running->path));
	assert_int_equal(file_table_find(&session->files, &running->hint, &number), 0);
	assert_int_equal(number, running->file);
	const struct process *process = process_find(&session->processes, running->pid);
	const struct jit *jit = number_map_find(&session->jits.by_image, process->runtime_image);
	assert_int_equal(jit ? jit->pid : 0, running->compiles ? running->pid : 0);
	assert_int_equal(jit ? jit->image : 0, process->runtime_image);
}

/* What each user holds is there, once. */
static void expect_shares(const struct session *session, struct share *const *shares, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t files = 0, contexts = 0;
		size_t position = 0;
		for (uint32_t number = 1; number <= session->files.count; number++) {
			const struct file *file = file_table_get(&session->files, number);
			files += file && file->first_share == shares[i];
		}
		for (const struct jit *jit;
		     (jit = number_map_next(&session->jits.by_image, &position));)
			contexts += jit->share == shares[i] ? JIT_CONTEXTS : 0;
		assert_int_equal(shares[i]->held[SHARE_FILES], files);
		assert_int_equal(shares[i]->held[SHARE_CONTEXTS], contexts);
	}
}

/* Inodes and numbers are given away again and again, by chance; what runs keeps what it has. */
static void nothing_is_taken_for_another_whatever_comes_and_goes(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *shares[] = { shares_of_user(&session->shares, STRANGER),
				   shares_of_user(&session->shares, STRANGER + 1) };
	struct running running[RUNNING] = { { 0 } };
	struct random_state random = random_seed(1);
	char owed[OWED_AT_ONCE][64];
	session->owed.list = calloc(OWED_AT_ONCE, sizeof(struct code_spot));
	assert_non_null(session->owed.list);
	for (unsigned act = 0; act < RANDOM_ACTS; act++) {
		struct running *one = &running[random_below(&random, RUNNING)];
		uint64_t what = random_below(&random, 16);
		size_t *owed_count = &session->owed.count;
		if (!one->pid) {
			run_one(session, &random, shares[random_below(&random, 2)], one);
		} else if (what < 6) {
			assert_true(is_named(session, sample_file(session, one->file), one->path));
		} else if (what < 12) {
			end_process(session, one->pid);
			one->pid = 0;
		} else if (what < 14 && *owed_count < OWED_AT_ONCE) {
			uint32_t image = sample_file(session, one->file);
			session->owed.list[*owed_count] = (struct code_spot){ .image = image };
			memcpy(owed[(*owed_count)++], one->path, sizeof(one->path));
		} else if (what == 15) {
			end_generation(session);
			for (size_t i = 0; i < RUNNING; i++)
				if (running[i].pid)
					expect_file(session, &running[i]);
			for (size_t i = 0; i < *owed_count; i++)
				assert_true(
					is_named(session, session->owed.list[i].image, owed[i]));
			expect_shares(session, shares, 2);
			*owed_count = random_below(&random, 2) ? 0 : *owed_count;
			assert_in_range(session->files.count, session->files.beyond, 200);
		}
	}
	free_session_of_files(session);
}

/* In each epoch containers come and go, more than there is room for names of in two. */
static void control_groups_go_with_their_processes(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	struct process *lives = process_need(&session->processes, 1);
	const struct span home = span_of_text("/home");
	uint32_t pid = 100;
	assert_int_equal(groups_add(&session->groups, &session->shares, share,
				    span_of_text("/gone"), &lives->group),
			 0);
	assert_int_equal(groups_add(&session->groups, &session->shares, share, home, &lives->group),
			 0);
	for (unsigned i = 0; i < EPOCHS * EPOCH_NAMES; i++, pid++) {
		char path[64];
		struct process *process = process_need(&session->processes, pid);
		snprintf(path, sizeof(path), "/container/%u", i);
		assert_int_equal(groups_add(&session->groups, &session->shares, share,
					    span_of_text(path), &process->group),
				 0);
		assert_true(span_equal(groups_path(&session->groups, process->group),
				       span_of_text(path)));
		end_process(session, pid);
		if ((i + 1) % EPOCH_NAMES != 0)
			continue;
		assert_int_equal(session_begin_generation(session), 0);
		assert_int_equal(session->groups.paths.count, 1);
		assert_int_equal(lives->group, 1);
		assert_true(span_equal(groups_path(&session->groups, 1), home));
		assert_int_equal(share->held[SHARE_CONTEXTS], 1);
	}
	assert_int_equal(share->refused[SHARE_CONTEXTS], 0);
	groups_release(&session->groups);
	process_table_release(&session->processes);
	free_session(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_follows_what_runs_and_not_what_ran),
		cmocka_unit_test(an_epoch_is_whole_though_nothing_can_be_forgotten),
		cmocka_unit_test(names_are_asked_for_unless_the_last_epoch_had_them),
		cmocka_unit_test(what_is_owed_is_asked_for_again),
		cmocka_unit_test(what_was_not_opened_is_not_owed),
		cmocka_unit_test(a_sample_without_a_weight_finds_its_place_in_the_next_epoch),
		cmocka_unit_test(a_user_has_room_again),
		cmocka_unit_test(names_of_commands_go_with_their_epoch),
		cmocka_unit_test(a_sample_that_waits_to_be_interpreted_keeps_its_context),
		cmocka_unit_test(images_that_are_used_go_on),
		cmocka_unit_test(files_and_code_go_with_who_ran_them),
		cmocka_unit_test(paths_of_an_image_go_with_the_files_that_had_them),
		cmocka_unit_test(a_file_stays_while_it_is_mapped_or_waited_for),
		cmocka_unit_test(nothing_is_taken_for_another_whatever_comes_and_goes),
		cmocka_unit_test(control_groups_go_with_their_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
