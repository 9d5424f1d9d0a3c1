#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/edges.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/address_space.h"
#include "machine/perf_record.h"
#include "machine/sample_memory.h"
#include "own_mappings.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "symbol/reader.h"

/* This process as the collector sees one. */
struct scene {
	struct profile *profile;
	struct reader *reader;
	struct file_table files;
	struct address_space *space;
	struct shares shares;
	struct helper_watch watch;
	struct edges edges;
	uint64_t registers[EDGE_REGISTERS];
	struct perf_sample sample;
	struct span blocks;
	struct share *share;
	unsigned looks;
};

/* What this process has mapped, as records and samples tell of it. */
static void map_all(struct scene *scene)
{
	struct own_mapping mappings[OWN_MAPPINGS];
	scene->space = address_space_new();
	size_t count = own_mappings_read(mappings);
	for (size_t i = 0; i < count; i++) {
		struct mapping mapping = mappings[i].mapping;
		struct file_hint hint = { .pid = (uint32_t)getpid(),
					  .start = mapping.start,
					  .end = mapping.end,
					  .major = mappings[i].major,
					  .minor = mappings[i].minor,
					  .inode = mappings[i].inode,
					  .path = span_of_text(mappings[i].path) };
		uint32_t image;
		assert_int_equal(file_table_find(&scene->files, &hint, &mapping.file), 0);
		/* As a sample in it does: of a file on another mount than ours a copy is kept. */
		assert_int_equal(file_table_image(&scene->files, mapping.file, &image), 0);
		assert_int_equal(address_space_add(&scene->space, &mapping), 0);
	}
}

static struct scene *scene_new(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	scene->profile = profile_new();
	assert_int_equal(reader_new(NULL, &scene->reader, NULL), 0);
	assert_int_equal(file_table_init(&scene->files, scene->profile, scene->reader, NULL), 0);
	shares_init(&scene->shares, &(struct share_limits){ 0 });
	scene->watch = (struct helper_watch){ .wake_fd = -1, .context = scene };
	const struct edges_options options = { &scene->files, &scene->shares, &scene->watch, 1 };
	assert_int_equal(edges_init(&scene->edges, &options, NULL), 0);
	map_all(scene);
	scene->registers[own_pc_at] = (uintptr_t)own_branch;
	scene->sample = (struct perf_sample){
		.ip = (uintptr_t)own_branch,
		.user_abi = PERF_SAMPLE_REGS_ABI_64,
		.user_registers = { (const uint8_t *)scene->registers,
				    (uint64_t)__builtin_popcountll(scene->edges.registers) },
	};
	return scene;
}

static void scene_free(struct scene *scene)
{
	edges_release(&scene->edges);
	address_space_drop(scene->space);
	file_table_release(&scene->files);
	reader_free(scene->reader);
	profile_free(scene->profile);
	shares_release(&scene->shares);
	free(scene);
}

static void take(struct scene *scene, uint64_t argument, double allowance_ns)
{
	const struct edge_waiting waiting = {
		.sampler = 0, .event = 1, .context = 2, .share = scene->share
	};
	scene->registers[own_argument_at] = argument;
	assert_int_equal(edges_add_sample(&scene->edges, &waiting, &scene->sample, scene->blocks,
					  scene->space, allowance_ns),
			 0);
}

static void serve(struct scene *scene, enum edges_patience patience)
{
	assert_int_equal(edges_service(&scene->edges, patience), 0);
}

/* How often the branch at `from` went to `to`. */
static uint64_t seen(const struct scene *scene, const char *from, const char *to)
{
	uint64_t count = 0;
	for (size_t i = 0; i < scene->edges.tally.count; i++) {
		const struct edge_row *row = &scene->edges.tally.rows[i];
		uint64_t first = 0;
		const struct mapping *mapping =
			address_space_find(scene->space, (uintptr_t)own_branch);
		const struct file *file = file_table_get(&scene->files, mapping->file);
		assert_true(identity_vaddr_of_offset(
			file->identity, (uintptr_t)own_branch - mapping->start + mapping->offset,
			&first));
		if (row->from_image == file->image && row->to_image == file->image &&
		    row->from_vaddr == first + (uint64_t)(from - own_branch) &&
		    row->to_vaddr == first + (uint64_t)(to - own_branch)) {
			assert_int_equal(row->event, 1);
			assert_int_equal(row->context, 2);
			count += row->count;
		}
	}
	return count;
}

static uint64_t bill(const struct profile *profile, const char *item)
{
	const struct table *rows = profile_table(profile, PROFILE_BILL);
	for (size_t i = 0; i < rows->count; i++)
		if (span_equal(profile_bytes(profile, table_keys(rows, i)[BILL_ITEM]),
			       span_of_text(item)))
			return table_values(rows, i)[0];
	return UINT64_MAX;
}

#define GENEROUS 1e9
#ifdef __x86_64__
#define BRANCH (own_branch + 4) /* behind the comparison */
#define BEHIND (own_branch + 6)
#else
#define BRANCH own_branch
#define BEHIND (own_branch + 4)
#endif

static void branches_of_samples_are_counted_by_their_places(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	for (uint64_t i = 0; i < 300; i++)
		take(scene, i % 3, GENEROUS); /* 0, 1, 2 */
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 200);
	assert_int_equal(seen(scene, BRANCH, BEHIND), 100);
	assert_int_equal(seen(scene, own_branch_jump, own_branch_place_0), 200);
	assert_int_equal(seen(scene, own_branch_jump, own_branch_place_1), 100);
	assert_int_equal(scene->edges.tally.count, 4);
	assert_true(scene->edges.cpu_ns > 0);

	CLEANUP(profile_freep) struct profile *profile = profile_new();
	assert_int_equal(edges_write_bill(&scene->edges, 0, 0, profile), 0);
	assert_int_equal(bill(profile, BILL_INTERPRETED), 300);
	assert_int_equal(bill(profile, BILL_INTERPRET_OUTCOMES), 600);
	assert_int_equal(bill(profile, BILL_INTERPRET_SILENT), 0);
	assert_int_equal(bill(profile, BILL_INTERPRET_THINNED), 0);
	assert_int_equal(bill(profile, BILL_INTERPRET_LOST), 0);
	/* and once only */
	CLEANUP(profile_freep) struct profile *again = profile_new();
	assert_int_equal(edges_write_bill(&scene->edges, 0, 0, again), 0);
	assert_int_equal(bill(again, BILL_INTERPRETED), 0);
	scene_free(scene);
}

static void branches_that_their_user_has_no_room_for_are_counted_as_left_out(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct shares *shares = &scene->shares;
	uint64_t refused[SHARE_KINDS];
	scene->share = shares_of_user(shares, 4242);
	for (uint64_t i = 0; i < 30; i++)
		take(scene, 2, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 30);
	size_t known = scene->edges.tally.count;
	assert_int_equal(scene->share->held[SHARE_EDGES], known);
	while (share_has_room(shares, scene->share, SHARE_EDGES))
		assert_true(share_take(shares, scene->share, SHARE_EDGES, 1));
	/* What is known goes on being counted; what is new has no room. */
	for (uint64_t i = 0; i < 60; i++)
		take(scene, 1 + i % 2, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 60);
	assert_int_equal(seen(scene, BRANCH, BEHIND), 0);
	assert_int_equal(scene->edges.tally.count, known);
	shares_take_refused(shares, refused);
	assert_true(refused[SHARE_EDGES] >= 30);
	/* Another user has room. */
	scene->share = shares_of_user(shares, 4343);
	take(scene, 1, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_true(scene->edges.tally.count > known);
	scene_free(scene);
}

/* The process ended, or went on with a copy, while samples waited. */
static void the_room_of_mappings_that_only_samples_needed_is_given_back(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct share *share = shares_of_user(&scene->shares, 4242);
	scene->space->share = share;
	scene->space->held = scene->space->count;
	share_hold(&scene->shares, share, SHARE_MAPPINGS, scene->space->held);
	take(scene, 1, GENEROUS);
	struct address_space *fresh = address_space_new();
	address_space_drop(scene->space);
	scene->space = fresh;
	assert_true(share->held[SHARE_MAPPINGS] > 0);
	serve(scene, EDGES_WAIT);
	assert_int_equal(share->held[SHARE_MAPPINGS], 0);
	scene_free(scene);
}

static void batches_follow_each_other_without_waiting(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 600; i++)
			take(scene, 0, GENEROUS);
		serve(scene, EDGES_GO_ON);
		assert_true(scene->edges.own.asked);
	}
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 6000);
	/* a few wait for others, but not for long */
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_GO_ON);
	assert_false(scene->edges.own.asked);
	scene->edges.own.asked_ns -= 1000000000;
	serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 6001);
	scene_free(scene);
}

static void what_cannot_be_interpreted_is_unfit(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct perf_sample good = scene->sample;
	scene->sample.user_abi = PERF_SAMPLE_REGS_ABI_32;
	take(scene, 0, GENEROUS);
	scene->sample = good;
	scene->sample.user_registers.count--;
	take(scene, 0, GENEROUS);
	scene->sample = good;
	scene->sample.ip = (uintptr_t)&good; /* the stack is no code */
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].unfit, 3);
	assert_int_equal(scene->edges.sums[0].interpreted, 0);
	scene_free(scene);
}

static void samples_are_left_out_without_an_allowance(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	scene->edges.own.pace.saved_ns = 0;
	for (int i = 0; i < 100; i++)
		take(scene, 0, scene->edges.own.pace.cost_ns / 4);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 25);
	assert_int_equal(scene->edges.sums[0].thinned, 75);
	scene_free(scene);
}

static void a_helper_that_dies_costs_its_batch(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	kill(scene->edges.own.helper.pid, SIGKILL);
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.failures, 1);
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 2);
	/* not for ever */
	for (int i = 0; i < 40; i++) {
		if (scene->edges.own.helper.pid) /* else the next one is about to start */
			kill(scene->edges.own.helper.pid, SIGKILL);
		take(scene, 0, GENEROUS);
		serve(scene, EDGES_WAIT);
	}
	assert_false(scene->edges.own.on);
	assert_int_equal(scene->edges.sums[0].interpreted, 8);
	assert_int_equal(scene->edges.sums[0].lost, 35);
	scene_free(scene);
}

/* Numbers of files are given to others: the process that interprets must know none of before. */
static void a_file_that_was_forgotten_is_not_taken_for_another(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	CLEANUP(free_pointer) bool *in_use = calloc(scene->files.count + 1, sizeof(*in_use));
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	pid_t helper = scene->edges.own.helper.pid;
	uint32_t number = address_space_find(scene->space, (uintptr_t)own_branch)->file;
	address_space_drop(scene->space);
	assert_non_null(in_use);
	for (uint32_t own = 1; own <= scene->files.beyond; own++)
		in_use[own] = true;
	edges_forget_files(&scene->edges, in_use);
	file_table_forget(&scene->files, in_use);
	assert_int_equal(scene->edges.own.file_states[number], EDGE_FILE_UNSENT);

	/* Another one has the first number that is free. */
	const struct file_hint hint = { .pid = INT32_MAX, .path = span_of_text("/nowhere") };
	uint32_t first;
	assert_int_equal(file_table_find(&scene->files, &hint, &first), 0);
	assert_int_equal(first, scene->files.beyond + 1);
	map_all(scene);
	assert_int_not_equal(address_space_find(scene->space, (uintptr_t)own_branch)->file, number);
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, helper);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 0);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 2);
	scene_free(scene);
}

static int give_up(void *context)
{
	(void)context;
	return -ECANCELED;
}

static void hang(struct edge_worker *worker)
{
	assert_int_equal(kill(worker->helper.pid, SIGSTOP), 0);
}

static void a_wait_ends_when_its_owner_gives_it_up(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	pid_t pid = scene->edges.own.helper.pid;
	hang(&scene->edges.own);
	for (int i = 0; i < 600; i++)
		take(scene, 0, GENEROUS);
	serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	take(scene, 0, GENEROUS);
	scene->watch.look = give_up;
	uint64_t begin_ns = clock_monotonic_ns();
	serve(scene, EDGES_WAIT);
	assert_true(clock_monotonic_ns() - begin_ns < 1000000000);
	assert_int_equal(scene->edges.sums[0].lost, 601);
	assert_int_equal(scene->edges.failures, 0);
	scene->watch.look = NULL;
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, pid);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	scene_free(scene);
}

static int give_up_later(void *context)
{
	struct scene *scene = context;
	return ++scene->looks > 2 ? -ECANCELED : 0;
}

static void a_wait_that_has_begun_ends_as_well(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	hang(&scene->edges.own);
	take(scene, 0, GENEROUS);
	scene->watch.look = give_up_later;
	uint64_t begin_ns = clock_monotonic_ns();
	serve(scene, EDGES_WAIT);
	assert_true(clock_monotonic_ns() - begin_ns < 1000000000);
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.failures, 0);
	scene_free(scene);
}

/* Recording ends soon: what is at hand is dealt with then. */
static void nothing_is_begun_when_it_is_not_wanted(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	for (int i = 0; i < 600; i++)
		take(scene, 0, GENEROUS);
	scene->watch.look = give_up;
	serve(scene, EDGES_GO_ON);
	assert_false(scene->edges.own.asked);
	scene->watch.look = NULL;
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	assert_int_equal(scene->edges.sums[0].interpreted, 600);
	scene_free(scene);
}

static void who_hangs_the_helper_pays_and_nobody_else(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct share *hostile = shares_of_user(&scene->shares, 4242);
	struct share *other = shares_of_user(&scene->shares, 4343);
	hang(&scene->edges.strange);
	scene->share = hostile;
	take(scene, 0, GENEROUS);
	scene->share = NULL;
	take(scene, 0, GENEROUS);
	uint64_t begin_ns = clock_monotonic_ns();
	serve(scene, EDGES_WAIT);
	assert_true(clock_monotonic_ns() - begin_ns < 1500000000); /* its time and a start */
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.sums[0].interpreted, 1); /* the trusted one */
	assert_true(share_reading_left_ns(&scene->shares, hostile) < SHARE_LEAST_NS);
	/* What one can take of what all have together. */
	assert_true(share_reading_left_ns(&scene->shares, other) >= SHARE_READ_NS / 2);
	/* Without time nothing is begun, and whoever has some goes on. */
	scene->share = hostile;
	take(scene, 0, GENEROUS);
	scene->share = other;
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].thinned, 1);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 1);
	scene_free(scene);
}

/* What interpreting so many samples takes of a stranger's time, by a helper that knows no file. */
static uint64_t usual_cost_ns(int samples)
{
	struct scene *scene = scene_new();
	scene->share = shares_of_user(&scene->shares, 4343);
	uint64_t had_ns = share_reading_left_ns(&scene->shares, scene->share);
	for (int i = 0; i < samples; i++)
		take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	uint64_t left_ns = share_reading_left_ns(&scene->shares, scene->share);
	scene_free(scene);
	return had_ns - left_ns;
}

/* What a stranger pays when a helper fails him that another one had before. */
static uint64_t cost_of_a_failure_of_others_ns(void)
{
	struct scene *scene = scene_new();
	struct share *share = shares_of_user(&scene->shares, 4343);
	scene->share = shares_of_user(&scene->shares, 4242);
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	uint64_t had_ns = share_reading_left_ns(&scene->shares, share);
	hang(&scene->edges.strange);
	scene->share = share;
	for (int i = 0; i < 600; i++)
		take(scene, 0, GENEROUS);
	serve(scene, EDGES_GO_ON);
	kill(scene->edges.strange.helper.pid, SIGKILL);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.failures, 1);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	assert_int_equal(scene->edges.sums[0].interpreted, 601);
	uint64_t left_ns = share_reading_left_ns(&scene->shares, share);
	scene_free(scene);
	return had_ns - left_ns;
}

#define FAILURE_NS 100000000 /* the least that one costs */

/* A helper that others had may be what they made of it. Beside what its own samples took it costs
 * less than a failure does; on a machine that does something else in between, at another try. */
static void a_failure_that_may_be_others_is_not_paid(void **state)
{
	(void)state;
	uint64_t cost_ns = UINT64_MAX;
	uint64_t usual_ns = usual_cost_ns(600);
	for (int tries = 0; tries < 5 && cost_ns >= usual_ns + FAILURE_NS; tries++)
		cost_ns = cost_of_a_failure_of_others_ns();
	assert_true(cost_ns < usual_ns + FAILURE_NS);
}

static void strangers_have_a_batch_each(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct sample_memory_block blocks[2] = { { .address = 0x7000 }, { .address = 0x9000 } };
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_load;
	blocks[1].bytes[4] = 1;
	for (uint32_t i = 0; i < 90; i++) {
		scene->share = shares_of_user(&scene->shares, 4242 + i % 3);
		/* blocks go with their samples */
		scene->blocks = (struct span){ blocks, i % 3 * sizeof(blocks[0]) };
		take(scene, 0x9004, GENEROUS);
	}
	scene->edges.strange.asked_ns -= 1000000000;
	serve(scene, EDGES_GO_ON);
	assert_int_equal(scene->edges.strange.under_way.count, 30);
	assert_int_equal(scene->edges.strange.gathering.count, 60);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 90);
	assert_int_equal(scene->edges.sums[0].silent, 60);
	assert_int_equal(seen(scene, own_load_branch, own_load_taken) +
				 seen(scene, own_load_branch, own_load_behind),
			 30);
	scene_free(scene);
}

#define NO_FILE (1u << 30)

static int tell_lies(void *context, const struct message *request, struct message *answer,
		     struct error *err)
{
	(void)context;
	(void)err;
	const struct edge_answer told = { 0 };
	const struct edge_path path = { .edges = 1 };
	const struct edge_found found = { .from_file = NO_FILE, .to_file = NO_FILE };
	if (request->header.operation == EDGE_SET_FILE)
		return 0;
	buffer_append(&answer->payload, &told, sizeof(told));
	buffer_append(&answer->payload, &path, sizeof(path));
	buffer_append(&answer->payload, &found, sizeof(found));
	return 0;
}

static void run_liar(int socket)
{
	helper_serve(&(struct helper_service){ .name = "liar", .serve = tell_lies }, socket);
}

static void a_helper_is_not_believed_about_files_that_it_was_not_told(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	size_t files = scene->files.count;
	helper_stop(&scene->edges.own.helper);
	scene->edges.own.helper.run = run_liar;
	for (int i = 0; i < 600; i++)
		take(scene, 0, GENEROUS);
	serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	scene->files.count = UINT32_MAX; /* so many have come meanwhile */
	serve(scene, EDGES_WAIT);
	scene->files.count = files;
	assert_int_equal(scene->edges.failures, 1);
	assert_string_equal(scene->edges.failure, "the helper's answer makes no sense");
	assert_int_equal(scene->edges.sums[0].lost, 600);
	assert_int_equal(scene->edges.tally.count, 0);
	scene_free(scene);
}

static void a_helper_of_many_files_starts_anew_and_is_told_again(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	pid_t first = scene->edges.own.helper.pid;
	size_t told = scene->edges.own.files_sent;
	assert_true(told > 0);
	scene->edges.own.files_sent = 5000;
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, first);
	assert_int_equal(scene->edges.own.files_sent, told);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 0);
	assert_int_equal(seen(scene, BRANCH, own_branch_taken), 2);
	scene_free(scene);
}

static void processes_are_told_apart_and_their_mappings_stay(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	take(scene, 0, GENEROUS);
	/* what is mapped later takes the place of the code that was sampled */
	struct address_space *before = scene->space;
	struct mapping over = *address_space_find(before, (uintptr_t)own_branch);
	over.file = scene->files.anonymous;
	assert_int_equal(address_space_add(&scene->space, &over), 0);
	assert_ptr_not_equal(scene->space, before);
	take(scene, 0, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 1);
	assert_int_equal(scene->edges.sums[0].outcomes, 2);
	assert_int_equal(scene->edges.sums[0].unfit, 1);
	scene_free(scene);
}

static void memory_that_comes_with_samples_is_known(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct sample_memory_block blocks[3] = { { .address = 0x7000 }, { .address = 0x9000 } };
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_load;
	take(scene, 0x9004, GENEROUS); /* without */
	scene->blocks = (struct span){ blocks, 2 * sizeof(blocks[0]) };
	blocks[1].bytes[4] = 1;
	take(scene, 0x9004, GENEROUS);
	blocks[1].bytes[4] = 2;
	take(scene, 0x9004, GENEROUS);
	take(scene, 0x9000 + SAMPLE_MEMORY_BYTES - 1, GENEROUS);
	take(scene, 0x9000 + SAMPLE_MEMORY_BYTES, GENEROUS); /* behind it */
	scene->blocks.size = 0;
	take(scene, 0x9004, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 6);
	assert_int_equal(scene->edges.sums[0].silent, 3);
	assert_int_equal(seen(scene, own_load_branch, own_load_behind), 1);
	assert_int_equal(seen(scene, own_load_branch, own_load_taken), 2);
	/* each batch has its own */
	scene->blocks.size = 2 * sizeof(blocks[0]);
	for (int batch = 0; batch < 4; batch++) {
		take(scene, 0x9004, GENEROUS);
		serve(scene, EDGES_WAIT);
	}
	assert_int_equal(seen(scene, own_load_branch, own_load_taken), 6);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	scene_free(scene);
}

static void rounds_that_paths_start_in_count_no_more_than_others(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_loop;
	for (int i = 0; i < 400; i++) /* as where all time is spent in the round before 4003 */
		take(scene, 4003, GENEROUS);
	serve(scene, EDGES_WAIT);
	uint64_t taken = seen(scene, own_loop_branch, own_loop_taken);
	uint64_t all = taken + seen(scene, own_loop_branch, own_loop_behind);
	assert_in_range(all, 6 * 400, 7 * 400); /* 30 instructions of a path */
	assert_in_range(1000 * taken / all, 245, 255);
	assert_int_equal(scene->edges.sums[0].ends[INTERPRET_END_LIMIT], 400);
	/* One that ends a little later counts from its start. */
	take(scene, 8, GENEROUS);
	serve(scene, EDGES_WAIT);
	assert_int_equal(seen(scene, own_loop_branch, own_loop_taken), taken + 2);
	assert_int_equal(scene->edges.sums[0].ends[INTERPRET_END_LIMIT], 401);
	scene_free(scene);
}

static const struct perf_layout output_layout = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

/* As the kernel writes it: the size of the raw data fills the record up to a multiple of 8. */
static void put_memory(struct buffer *out, uint64_t ip, uint32_t tid, uint32_t count)
{
	uint32_t raw = count * (uint32_t)sizeof(struct sample_memory_block) + 4;
	buffer_append_u32(out, PERF_RECORD_SAMPLE);
	buffer_append_u32(out, (8 + 4 * 8 + 4 + raw) << 16);
	buffer_append_u64(out, 7);
	buffer_append_u64(out, ip);
	buffer_append_u32(out, 1);
	buffer_append_u32(out, tid);
	buffer_append_u64(out, 1000);
	buffer_append_u32(out, raw);
	for (uint32_t i = 0; i < raw; i++)
		buffer_append_u8(out, (uint8_t)i);
}

static void memory_of_another_moment_or_damaged_is_not_taken(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct perf_record record = { .type = PERF_RECORD_SAMPLE,
				      .identity = { .tid = 5 },
				      .sample = { .ip = 0x1234 } };
	put_memory(&bytes, 0x1234, 5, 3);
	struct span whole = { bytes.data, bytes.size };
	struct span blocks = edges_blocks(whole, &output_layout, &record);
	assert_int_equal(blocks.size, 3 * sizeof(struct sample_memory_block));
	assert_ptr_equal(blocks.data, bytes.data + 8 + 4 * 8 + 4);
	for (size_t size = 0; size < whole.size; size++)
		assert_int_equal(
			edges_blocks((struct span){ bytes.data, size }, &output_layout, &record)
				.size,
			0);
	record.identity.tid = 6;
	assert_int_equal(edges_blocks(whole, &output_layout, &record).size, 0);
	record.identity.tid = 5;
	record.sample.ip++;
	assert_int_equal(edges_blocks(whole, &output_layout, &record).size, 0);
	record.sample.ip--;
	/* raw data that claim to be longer than the record */
	bytes.data[8 + 4 * 8] = 0xff;
	bytes.data[8 + 4 * 8 + 1] = 0xff;
	assert_int_equal(edges_blocks(whole, &output_layout, &record).size, 0);
	/* and shorter than a block */
	bytes.data[8 + 4 * 8] = (uint8_t)sizeof(struct sample_memory_block) - 1;
	bytes.data[8 + 4 * 8 + 1] = 0;
	assert_int_equal(edges_blocks(whole, &output_layout, &record).size, 0);
}

/* A request of one space and one sample, as the collector makes it. */
static void make_request(struct message *request, const struct scene *scene)
{
	struct edge_request header = { scene->edges.registers, 1, 1 };
	struct edge_space_request space = { scene->space->count };
	struct edge_sample sample = { .blocks = 2 };
	struct sample_memory_block blocks[2] = { { 0 } };
	memcpy(sample.registers, scene->registers, sizeof(sample.registers));
	*request = (struct message){ .header.operation = EDGE_RUN };
	buffer_append(&request->payload, &header, sizeof(header));
	buffer_append(&request->payload, &space, sizeof(space));
	assert_int_equal(scene->space->block_count, 1);
	buffer_append(&request->payload, scene->space->blocks->list,
		      scene->space->count * sizeof(struct mapping));
	buffer_append(&request->payload, &sample, sizeof(sample));
	buffer_append(&request->payload, blocks, sizeof(blocks));
}

static void requests_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	struct scene *scene = scene_new();
	struct edge_engine *engine;
	struct message request;
	struct message answer = { 0 };
	assert_int_equal(edge_engine_new(&engine, NULL), 0);
	make_request(&request, scene);
	assert_int_equal(edge_engine_serve(engine, &request, &answer, NULL), 0);
	struct edge_path path; /* no file was told: no code */
	memcpy(&path, answer.payload.data + sizeof(struct edge_answer), sizeof(path));
	assert_int_equal(path.end, INTERPRET_END_CODE);
	assert_int_equal(answer.payload.size, sizeof(struct edge_answer) + sizeof(path));
	message_release(&answer);
	size_t whole = request.payload.size;
	for (request.payload.size = 0; request.payload.size < whole; request.payload.size++) {
		assert_int_equal(edge_engine_serve(engine, &request, &answer, NULL), -EBADMSG);
		message_release(&answer);
	}
	request.payload.size = whole;
	buffer_append_u8(&request.payload, 0); /* more than was announced */
	assert_int_equal(edge_engine_serve(engine, &request, &answer, NULL), -EBADMSG);
	message_release(&answer);
	/* more blocks than there are registers, though they are there */
	struct buffer *payload = &request.payload;
	uint32_t many = SAMPLE_MEMORY_BLOCKS + 1;
	payload->size = whole;
	memcpy(payload->data + whole - 2 * sizeof(struct sample_memory_block) -
		       sizeof(struct edge_sample) + offsetof(struct edge_sample, blocks),
	       &many, sizeof(many));
	for (uint32_t i = 2; i < many; i++)
		memset(buffer_extend(payload, sizeof(struct sample_memory_block)), 0,
		       sizeof(struct sample_memory_block));
	assert_int_equal(edge_engine_serve(engine, &request, &answer, NULL), -EBADMSG);
	message_release(&answer);
	request.header.operation = 77;
	assert_int_equal(edge_engine_serve(engine, &request, &answer, NULL), -EBADMSG);
	buffer_release(&request.payload);
	edge_engine_free(engine);
	scene_free(scene);
}

int main(void)
{
	if (!edge_registers()) {
		puts("samples of this machine cannot be interpreted");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_of_samples_are_counted_by_their_places),
		cmocka_unit_test(branches_that_their_user_has_no_room_for_are_counted_as_left_out),
		cmocka_unit_test(the_room_of_mappings_that_only_samples_needed_is_given_back),
		cmocka_unit_test(batches_follow_each_other_without_waiting),
		cmocka_unit_test(what_cannot_be_interpreted_is_unfit),
		cmocka_unit_test(samples_are_left_out_without_an_allowance),
		cmocka_unit_test(a_helper_that_dies_costs_its_batch),
		cmocka_unit_test(a_file_that_was_forgotten_is_not_taken_for_another),
		cmocka_unit_test(a_wait_ends_when_its_owner_gives_it_up),
		cmocka_unit_test(a_wait_that_has_begun_ends_as_well),
		cmocka_unit_test(nothing_is_begun_when_it_is_not_wanted),
		cmocka_unit_test(who_hangs_the_helper_pays_and_nobody_else),
		cmocka_unit_test(a_failure_that_may_be_others_is_not_paid),
		cmocka_unit_test(strangers_have_a_batch_each),
		cmocka_unit_test(a_helper_is_not_believed_about_files_that_it_was_not_told),
		cmocka_unit_test(a_helper_of_many_files_starts_anew_and_is_told_again),
		cmocka_unit_test(processes_are_told_apart_and_their_mappings_stay),
		cmocka_unit_test(memory_that_comes_with_samples_is_known),
		cmocka_unit_test(rounds_that_paths_start_in_count_no_more_than_others),
		cmocka_unit_test(memory_of_another_moment_or_damaged_is_not_taken),
		cmocka_unit_test(requests_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
