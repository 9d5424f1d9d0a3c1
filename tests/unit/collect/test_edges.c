#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "bpf/sample_memory.h"
#include "collect/edges.h"
#include "collect/shares.h"
#include "edge_scene.h"
#include "image/address_space.h"
#include "machine/perf_record.h"
#include "own_mappings.h"
#include "profile/bill.h"
#include "profile/profile.h"

static uint64_t bill(const struct profile *profile, const char *item)
{
	const struct table *rows = profile_table(profile, PROFILE_BILL);
	for (size_t i = 0; i < rows->count; i++)
		if (span_equal(profile_bytes(profile, table_keys(rows, i)[BILL_ITEM]),
			       span_of_text(item)))
			return table_values(rows, i)[0];
	return UINT64_MAX;
}

static void branches_of_samples_are_counted_by_their_places(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	for (uint64_t i = 0; i < 300; i++)
		edge_scene_take(scene, i % 3, GENEROUS); /* 0, 1, 2 */
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 200);
	assert_int_equal(edge_scene_seen(scene, BRANCH, BEHIND), 100);
	assert_int_equal(edge_scene_seen(scene, own_branch_jump, own_branch_place_0), 200);
	assert_int_equal(edge_scene_seen(scene, own_branch_jump, own_branch_place_1), 100);
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
	edge_scene_free(scene);
}

static void branches_that_their_user_has_no_room_for_are_counted_as_left_out(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	struct shares *shares = &scene->shares;
	uint64_t refused[SHARE_KINDS];
	scene->share = shares_of_user(shares, 4242);
	for (uint64_t i = 0; i < 30; i++)
		edge_scene_take(scene, 2, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 30);
	size_t known = scene->edges.tally.count;
	assert_int_equal(scene->share->held[SHARE_EDGES], known);
	while (share_has_room(shares, scene->share, SHARE_EDGES))
		assert_true(share_take(shares, scene->share, SHARE_EDGES, 1));
	/* What is known goes on being counted; what is new has no room. */
	for (uint64_t i = 0; i < 60; i++)
		edge_scene_take(scene, 1 + i % 2, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 60);
	assert_int_equal(edge_scene_seen(scene, BRANCH, BEHIND), 0);
	assert_int_equal(scene->edges.tally.count, known);
	shares_take_refused(shares, refused);
	assert_true(refused[SHARE_EDGES] >= 30);
	/* Another user has room. */
	scene->share = shares_of_user(shares, 4343);
	edge_scene_take(scene, 1, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_true(scene->edges.tally.count > known);
	edge_scene_free(scene);
}

/* The process ended, or went on with a copy, while samples waited. */
static void the_room_of_mappings_that_only_samples_needed_is_given_back(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	struct share *share = shares_of_user(&scene->shares, 4242);
	scene->space->share = share;
	scene->space->held = scene->space->count;
	share_hold(&scene->shares, share, SHARE_MAPPINGS, scene->space->held);
	edge_scene_take(scene, 1, GENEROUS);
	struct address_space *fresh = address_space_new();
	address_space_drop(scene->space);
	scene->space = fresh;
	assert_true(share->held[SHARE_MAPPINGS] > 0);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(share->held[SHARE_MAPPINGS], 0);
	edge_scene_free(scene);
}

static void batches_follow_each_other_without_waiting(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 600; i++)
			edge_scene_take(scene, 0, GENEROUS);
		edge_scene_serve(scene, EDGES_GO_ON);
		assert_true(scene->edges.own.asked);
	}
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 6000);
	/* a few wait for others, but not for long */
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_false(scene->edges.own.asked);
	scene->edges.own.asked_ns -= 1000000000;
	edge_scene_serve(scene, EDGES_GO_ON);
	assert_true(scene->edges.own.asked);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, BRANCH, own_branch_taken), 6001);
	edge_scene_free(scene);
}

static void what_cannot_be_interpreted_is_unfit(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	struct perf_sample good = scene->sample;
	scene->sample.user_abi = PERF_SAMPLE_REGS_ABI_32;
	edge_scene_take(scene, 0, GENEROUS);
	scene->sample = good;
	scene->sample.user_registers.count--;
	edge_scene_take(scene, 0, GENEROUS);
	scene->sample = good;
	scene->sample.ip = (uintptr_t)&good; /* the stack is no code */
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].unfit, 3);
	assert_int_equal(scene->edges.sums[0].interpreted, 0);
	edge_scene_free(scene);
}

static void processes_are_told_apart_and_their_mappings_stay(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	edge_scene_take(scene, 0, GENEROUS);
	/* what is mapped later takes the place of the code that was sampled */
	struct address_space *before = scene->space;
	struct mapping over = *address_space_find(before, (uintptr_t)own_branch);
	over.file = scene->files.anonymous;
	assert_int_equal(address_space_add(&scene->space, &over), 0);
	assert_ptr_not_equal(scene->space, before);
	edge_scene_take(scene, 0, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 1);
	assert_int_equal(scene->edges.sums[0].outcomes, 2);
	assert_int_equal(scene->edges.sums[0].unfit, 1);
	edge_scene_free(scene);
}

static void memory_that_comes_with_samples_is_known(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	struct sample_memory_block blocks[3] = { { .address = 0x7000 }, { .address = 0x9000 } };
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_load;
	edge_scene_take(scene, 0x9004, GENEROUS); /* without */
	scene->blocks = (struct span){ blocks, 2 * sizeof(blocks[0]) };
	blocks[1].bytes[4] = 1;
	edge_scene_take(scene, 0x9004, GENEROUS);
	blocks[1].bytes[4] = 2;
	edge_scene_take(scene, 0x9004, GENEROUS);
	edge_scene_take(scene, 0x9000 + SAMPLE_MEMORY_BYTES - 1, GENEROUS);
	edge_scene_take(scene, 0x9000 + SAMPLE_MEMORY_BYTES, GENEROUS); /* behind it */
	scene->blocks.size = 0;
	edge_scene_take(scene, 0x9004, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(scene->edges.sums[0].interpreted, 6);
	assert_int_equal(scene->edges.sums[0].silent, 3);
	assert_int_equal(edge_scene_seen(scene, own_load_branch, own_load_behind), 1);
	assert_int_equal(edge_scene_seen(scene, own_load_branch, own_load_taken), 2);
	/* each batch has its own */
	scene->blocks.size = 2 * sizeof(blocks[0]);
	for (int batch = 0; batch < 4; batch++) {
		edge_scene_take(scene, 0x9004, GENEROUS);
		edge_scene_serve(scene, EDGES_WAIT);
	}
	assert_int_equal(edge_scene_seen(scene, own_load_branch, own_load_taken), 6);
	assert_int_equal(scene->edges.sums[0].lost, 0);
	edge_scene_free(scene);
}

static void rounds_that_paths_start_in_count_no_more_than_others(void **state)
{
	(void)state;
	struct edge_scene *scene = edge_scene_new();
	scene->registers[own_pc_at] = scene->sample.ip = (uintptr_t)own_loop;
	for (int i = 0; i < 400; i++) /* as where all time is spent in the round before 4003 */
		edge_scene_take(scene, 4003, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	uint64_t taken = edge_scene_seen(scene, own_loop_branch, own_loop_taken);
	uint64_t all = taken + edge_scene_seen(scene, own_loop_branch, own_loop_behind);
	assert_in_range(all, 6 * 400, 7 * 400); /* 30 instructions of a path */
	assert_in_range(1000 * taken / all, 245, 255);
	assert_int_equal(scene->edges.sums[0].ends[INTERPRET_END_LIMIT], 400);
	/* One that ends a little later counts from its start. */
	edge_scene_take(scene, 8, GENEROUS);
	edge_scene_serve(scene, EDGES_WAIT);
	assert_int_equal(edge_scene_seen(scene, own_loop_branch, own_loop_taken), taken + 2);
	assert_int_equal(scene->edges.sums[0].ends[INTERPRET_END_LIMIT], 401);
	edge_scene_free(scene);
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
static void make_request(struct message *request, const struct edge_scene *scene)
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
	struct edge_scene *scene = edge_scene_new();
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
	edge_scene_free(scene);
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
		cmocka_unit_test(processes_are_told_apart_and_their_mappings_stay),
		cmocka_unit_test(memory_that_comes_with_samples_is_known),
		cmocka_unit_test(rounds_that_paths_start_in_count_no_more_than_others),
		cmocka_unit_test(memory_of_another_moment_or_damaged_is_not_taken),
		cmocka_unit_test(requests_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
