/* The helper that interprets samples: its time and who pays it, its failures and its lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/sample_memory.h"
#include "collect/edges.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "edge_scene.h"
#include "image/address_space.h"
#include "own_mappings.h"

static void samples_are_left_out_without_an_allowance(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	scene->edges.own.pace.saved_ns = 0;
	for (int i = 0; i < 100; i++)
		edge_scene_take(scene, 0, scene->edges.own.pace.cost_ns / 4);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 25);
	assert_int_equal(scene->edges.sums[0].thinned, 75);
	edge_scene_free(scene);
}

static void a_helper_that_dies_costs_its_batch(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	kill(scene->edges.own.helper.pid, SIGKILL);
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.failures, 1);
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 2);
	/* not for ever */
	for (int i = 0; i < 40; i++) {
		if (scene->edges.own.helper.pid) /* else the next one is about to start */
			kill(scene->edges.own.helper.pid, SIGKILL);
		edge_scene_take(scene, 0, GENEROUS);
		edge_scene_serve(scene, EDGES_WAIT);
	}
	assert_false(scene->edges.own.on);
	assert_int_equal(scene->edges.sums[0].interpreted, 8);
	assert_int_equal(scene->edges.sums[0].lost, 35);
	edge_scene_free(scene);
}

/* Numbers of files are given to others: the process that interprets must know none of before. */
static void a_file_that_was_forgotten_is_not_taken_for_another(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	CLEANUP(free_pointer) bool *in_use = calloc(scene->files.count + 1, sizeof(*in_use));
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
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
	edge_scene_map_all(scene);
	assert_int_not_equal(address_space_find(scene->space, (uintptr_t)own_branch)->file, number);
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, helper);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 0);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 2);
	edge_scene_free(scene);
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
	struct edge_scene *scene = edge_scene_new();
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	pid_t pid = scene->edges.own.helper.pid;
	hang(&scene->edges.own);
	for (int i = 0; i < 600; i++)
		edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	edge_scene_take(scene, 0, GENEROUS);
	scene->watch.look = give_up;
	uint64_t begin_ns = clock_monotonic_ns();
	edge_scene_serve(scene, EDGES_WAIT);
	assert_true(clock_monotonic_ns() - begin_ns < 1000000000);
	assert_int_equal(scene->edges.sums[0].lost, 601);
	assert_int_equal(scene->edges.failures, 0);
	scene->watch.look = NULL;
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, pid);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	edge_scene_free(scene);
}

static int give_up_later(void *context)
{
	struct edge_scene *scene = context;
	return ++scene->looks > 2 ? -ECANCELED : 0;
}

static void a_wait_that_has_begun_ends_as_well(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	hang(&scene->edges.own);
	edge_scene_take(scene, 0, GENEROUS);
	scene->watch.look = give_up_later;
	uint64_t begin_ns = clock_monotonic_ns();
	edge_scene_serve(scene, EDGES_WAIT);
	assert_true(clock_monotonic_ns() - begin_ns < 1000000000);
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.failures, 0);
	edge_scene_free(scene);
}

/* Recording is to end, and goes on all the same: numbers of files are others' by then. */
static void a_helper_that_was_not_asked_is_not_used_again(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	pid_t pid = scene->edges.own.helper.pid;
	scene->watch.look = give_up_later;
	scene->looks = 1; /* the second look says no */
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.failures, 0);
	scene->watch.look = NULL;
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_not_equal(scene->edges.own.helper.pid, pid);
	edge_scene_free(scene);
}

/* Recording ends soon: what is at hand is dealt with then. */
static void nothing_is_begun_when_it_is_not_wanted(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	for (int i = 0; i < 600; i++)
		edge_scene_take(scene, 0, GENEROUS);
	scene->watch.look = give_up;
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_false(scene->edges.own.asked);
	scene->watch.look = NULL;
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	assert_int_equal(scene->edges.sums[0].interpreted, 600);
	edge_scene_free(scene);
}

static void who_hangs_the_helper_pays_and_nobody_else(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	struct share *hostile = shares_of_user(&scene->shares, 4242);
	struct share *other = shares_of_user(&scene->shares, 4343);
	hang(&scene->edges.strange);
	scene->share = hostile;
	edge_scene_take(scene, 0, GENEROUS);
	scene->share = NULL;
	edge_scene_take(scene, 0, GENEROUS);
	uint64_t begin_ns = clock_monotonic_ns();
	edge_scene_serve(scene, EDGES_WAIT);
	uint64_t took_ns = clock_monotonic_ns() - begin_ns;
	assert_true(took_ns < 1500000000); /* its time and a start */
	assert_int_equal(scene->edges.sums[0].lost, 1);
	assert_int_equal(scene->edges.sums[0].interpreted, 1); /* the trusted one */
	assert_true(share_reading_left_ns(&scene->shares, hostile) < SHARE_LEAST_NS);
	/* What one can take of what all have together, which is half as much again. A machine that
	 * does something else meanwhile makes the wait longer. */
	uint64_t all_ns = SHARE_READ_NS + SHARE_READ_NS / 2;
	uint64_t left_ns = all_ns > took_ns ? all_ns - took_ns : 0;
	uint64_t other_ns = share_reading_left_ns(&scene->shares, other);
	assert_true(other_ns >= SHARE_LEAST_NS);
	assert_true(other_ns >= (left_ns < SHARE_READ_NS / 2 ? left_ns : SHARE_READ_NS / 2));
	/* Without time nothing is begun, and whoever has some goes on. */
	scene->share = hostile;
	edge_scene_take(scene, 0, GENEROUS);
	scene->share = other;
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].thinned, 1);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 1);
	edge_scene_free(scene);
}

/* What interpreting so many samples takes of a stranger's time, by a helper that knows no file. */
static uint64_t usual_cost_ns(int samples)
{
	struct edge_scene *scene = edge_scene_new();
	scene->share = shares_of_user(&scene->shares, 4343);
	uint64_t had_ns = share_reading_left_ns(&scene->shares, scene->share);
	for (int i = 0; i < samples; i++)
		edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	uint64_t left_ns = share_reading_left_ns(&scene->shares, scene->share);
	edge_scene_free(scene);
	return had_ns - left_ns;
}

/* What a stranger pays when a helper fails him that another one had before. */
static uint64_t cost_of_a_failure_of_others_ns(void)
{
	struct edge_scene *scene = edge_scene_new();
	struct share *share = shares_of_user(&scene->shares, 4343);
	scene->share = shares_of_user(&scene->shares, 4242);
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	uint64_t had_ns = share_reading_left_ns(&scene->shares, share);
	hang(&scene->edges.strange);
	scene->share = share;
	for (int i = 0; i < 600; i++)
		edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_GO_ON);
	kill(scene->edges.strange.helper.pid, SIGKILL);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.failures, 1);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	assert_int_equal(scene->edges.sums[0].interpreted, 601);
	uint64_t left_ns = share_reading_left_ns(&scene->shares, share);
	edge_scene_free(scene);
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
	struct edge_scene *scene = edge_scene_new();
	struct sample_memory_block blocks[2] = { { .address = 0x7000 }, { .address = 0x9000 } };
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_load;
	blocks[1].bytes[4] = 1;
	for (uint32_t i = 0; i < 90; i++) {
		scene->share = shares_of_user(&scene->shares, 4242 + i % 3);
		/* blocks go with their samples */
		scene->blocks = (struct span){ blocks, i % 3 * sizeof(blocks[0]) };
		edge_scene_take(scene, 0x9004, GENEROUS);
	}
	scene->edges.strange.asked_ns -= 1000000000;
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_int_equal(scene->edges.strange.under_way.count, 30);
	assert_int_equal(scene->edges.strange.gathering.count, 60);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 90);
	assert_int_equal(scene->edges.sums[0].silent, 60);
	assert_int_equal(edge_scene_seen(scene, own_load_branch, own_load_taken) +
				 edge_scene_seen(scene, own_load_branch, own_load_behind),
			 30);
	edge_scene_free(scene);
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
	struct edge_scene *scene = edge_scene_new();
	size_t files = scene->files.count;
	helper_stop(&scene->edges.own.helper);
	scene->edges.own.helper.run = run_liar;
	for (int i = 0; i < 600; i++)
		edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	scene->files.count = UINT32_MAX; /* so many have come meanwhile */
	edge_scene_serve(scene, EDGES_WAIT);
	scene->files.count = files;
	assert_int_equal(scene->edges.failures, 1);
	assert_string_equal(scene->edges.failure, "the helper's answer makes no sense");
	assert_int_equal(scene->edges.sums[0].lost, 600);
	assert_int_equal(scene->edges.tally.count, 0);
	edge_scene_free(scene);
}

static void a_helper_of_many_files_starts_anew_and_is_told_again(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	pid_t first = scene->edges.own.helper.pid;
	size_t told = scene->edges.own.files_sent;
	assert_true(told > 0);
	scene->edges.own.files_sent = 5000;
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_not_equal(scene->edges.own.helper.pid, first);
	assert_int_equal(scene->edges.own.files_sent, told);
	assert_int_equal(scene->edges.sums[0].interpreted, 2);
	assert_int_equal(scene->edges.failures, 0);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 2);
	edge_scene_free(scene);
}

int main(void)
{
	if (!edge_registers()) {
		puts("samples of this machine cannot be interpreted");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_left_out_without_an_allowance),
		cmocka_unit_test(a_helper_that_dies_costs_its_batch),
		cmocka_unit_test(a_file_that_was_forgotten_is_not_taken_for_another),
		cmocka_unit_test(a_wait_ends_when_its_owner_gives_it_up),
		cmocka_unit_test(a_wait_that_has_begun_ends_as_well),
		cmocka_unit_test(a_helper_that_was_not_asked_is_not_used_again),
		cmocka_unit_test(nothing_is_begun_when_it_is_not_wanted),
		cmocka_unit_test(who_hangs_the_helper_pays_and_nobody_else),
		cmocka_unit_test(a_failure_that_may_be_others_is_not_paid),
		cmocka_unit_test(strangers_have_a_batch_each),
		cmocka_unit_test(a_helper_is_not_believed_about_files_that_it_was_not_told),
		cmocka_unit_test(a_helper_of_many_files_starts_anew_and_is_told_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
