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
#include "collect/collector_private.h"
#include "collect/gather.h"
#include "profile/profile.h"
#include "made_up_session.h"
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
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

/* What there was no time for is asked for in the next epoch, though the last one had it. */
static void what_is_owed_is_asked_for_again(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

/* What was never opened has no names to come: a later sample gives the file another image. */
static void what_was_not_opened_is_not_owed(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

static void a_sample_without_a_weight_finds_its_place_in_the_next_epoch(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	assert_int_equal(session_settle(session, SETTLE_REST), 0);
	assert_int_equal(carried->cell.samples, 1);
	assert_int_equal(carried->cell.estimate, 500);
	weight_release(&lane.weight);
	made_up_session_free(session);
}

static void a_user_has_room_again(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

/* More names of commands in each epoch than there is room for in two. */
static void names_of_commands_go_with_their_epoch(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

static void a_sample_that_waits_to_be_interpreted_keeps_its_context(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
}

/* What each number of an image meant goes on under another one, with its paths. */
static void images_that_are_used_go_on(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
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
	made_up_session_free(session);
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
