#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/step_path.h"
#include "isa/decode.h"
#include "symbol/reader_message.h"
#include "support/skip.h"

struct walk {
	struct steps steps;
	struct step_flow flow[STEP_LIMIT];
	struct step_path path;
};

static void execute(struct walk *walk, uint64_t address, enum instruction_kind kind, uint8_t length)
{
	walk->steps.places[walk->steps.count].address = address;
	walk->flow[walk->steps.count++] = (struct step_flow){ length, (uint8_t)kind };
}

static void end_at(struct walk *walk, uint64_t address)
{
	walk->steps.places[walk->steps.count].address = address;
	step_path_make(&walk->steps, walk->flow, &walk->path);
}

#define assert_edge(walk, number, from_, to_)                                                      \
	do {                                                                                       \
		assert_true((number) < (walk).path.edge_count);                                    \
		assert_int_equal((walk).path.edges[number].from, from_);                           \
		assert_int_equal((walk).path.edges[number].to, to_);                               \
	} while (0)
#define assert_run(walk, number, first_, last_)                                                    \
	do {                                                                                       \
		assert_true((number) < (walk).path.run_count);                                     \
		assert_int_equal((walk).path.runs[number].first, first_);                          \
		assert_int_equal((walk).path.runs[number].last, last_);                            \
	} while (0)

static void a_taken_branch_ends_a_run_and_one_not_taken_does_not(void **state)
{
	(void)state;
	static struct walk walk;
	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_OTHER, 3);
	execute(&walk, 103, INSTRUCTION_CONDITIONAL, 2); /* not taken */
	execute(&walk, 105, INSTRUCTION_OTHER, 1);
	execute(&walk, 106, INSTRUCTION_CONDITIONAL, 2); /* taken */
	execute(&walk, 100, INSTRUCTION_OTHER, 3);
	execute(&walk, 103, INSTRUCTION_CALL, 5);
	execute(&walk, 900, INSTRUCTION_RETURN, 1);
	execute(&walk, 108, INSTRUCTION_OTHER, 4);
	end_at(&walk, 112);
	assert_int_equal(walk.path.instructions, 8);
	assert_int_equal(walk.path.edge_count, 4);
	assert_edge(walk, 0, 103, 105);
	assert_edge(walk, 1, 106, 100);
	assert_edge(walk, 2, 103, 900);
	assert_edge(walk, 3, 900, 108);
	assert_int_equal(walk.path.run_count, 4);
	assert_run(walk, 0, 100, 106);
	assert_run(walk, 1, 100, 103);
	assert_run(walk, 2, 900, 900);
	assert_run(walk, 3, 108, 108);
}

static void a_jump_to_the_next_instruction_ends_a_run_all_the_same(void **state)
{
	(void)state;
	static struct walk walk;
	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_CALL, 5); /* as code does that asks where it is */
	execute(&walk, 105, INSTRUCTION_OTHER, 1);
	end_at(&walk, 106);
	assert_int_equal(walk.path.edge_count, 1);
	assert_edge(walk, 0, 100, 105);
	assert_int_equal(walk.path.run_count, 2);
	assert_run(walk, 0, 100, 100);
	assert_run(walk, 1, 105, 105);
}

static void a_string_instruction_counts_once_and_a_loop_to_itself_each_time(void **state)
{
	(void)state;
	static struct walk walk;
	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_OTHER, 2);
	execute(&walk, 102, INSTRUCTION_OTHER, 2);
	execute(&walk, 102, INSTRUCTION_OTHER, 2);
	execute(&walk, 102, INSTRUCTION_OTHER, 2);
	execute(&walk, 104, INSTRUCTION_JUMP, 2);
	execute(&walk, 104, INSTRUCTION_JUMP, 2);
	end_at(&walk, 104);
	assert_int_equal(walk.path.instructions, 4);
	assert_int_equal(walk.path.edge_count, 2);
	assert_edge(walk, 0, 104, 104);
	assert_int_equal(walk.path.run_count, 2);
	assert_run(walk, 0, 100, 104);
	assert_run(walk, 1, 104, 104);

	/* One that the end cuts was not executed to its end. */
	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_OTHER, 2);
	execute(&walk, 102, INSTRUCTION_OTHER, 2);
	end_at(&walk, 102);
	assert_int_equal(walk.path.instructions, 1);
	assert_int_equal(walk.path.run_count, 1);
	assert_run(walk, 0, 100, 100);

	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_OTHER, 2);
	end_at(&walk, 100);
	assert_int_equal(walk.path.run_count, 0);
}

static void unknown_code_goes_on_straight_where_it_seems_to(void **state)
{
	(void)state;
	static struct walk walk;
	memset(&walk, 0, sizeof(walk));
	execute(&walk, 100, INSTRUCTION_DATA, 1);
	execute(&walk, 106, INSTRUCTION_DATA, 1);
	end_at(&walk, 50);
	assert_int_equal(walk.path.edge_count, 1);
	assert_edge(walk, 0, 106, 50);
	assert_int_equal(walk.path.run_count, 1);
	assert_run(walk, 0, 100, 106);
}

static void nothing_executed_is_nothing(void **state)
{
	(void)state;
	static struct walk walk;
	memset(&walk, 0, sizeof(walk));
	end_at(&walk, 100);
	assert_int_equal(walk.path.edge_count, 0);
	assert_int_equal(walk.path.run_count, 0);
}

static void code_is_decoded_by_the_place(void **state)
{
	(void)state;
	CLEANUP(decoder_freep) struct decoder *decoder = NULL;
	if (decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		SKIP("Capstone here decodes no x86");
	struct step_place places[] = {
		{ 100, { 0x75, 0xf0 } },	  /* jne */
		{ 200, { 0xc3 } },		  /* ret */
		{ 300, { 0x48, 0x83, 0xc0, 1 } }, /* add */
	};
	struct message request = { 0 };
	struct message answer = { 0 };
	buffer_append(&request.payload, places, sizeof(places));
	assert_int_equal(step_decoder_serve(decoder, &request, &answer, NULL), 0);
	struct step_flow flow[3];
	assert_int_equal(answer.payload.size, sizeof(flow));
	memcpy(flow, answer.payload.data, sizeof(flow));
	assert_int_equal(flow[0].kind, INSTRUCTION_CONDITIONAL);
	assert_int_equal(flow[0].length_bytes, 2);
	assert_int_equal(flow[1].kind, INSTRUCTION_RETURN);
	assert_int_equal(flow[2].kind, INSTRUCTION_OTHER);
	assert_int_equal(flow[2].length_bytes, 4);
	buffer_append_u8(&request.payload, 0);
	assert_int_equal(step_decoder_serve(decoder, &request, &answer, NULL), -EBADMSG);
	buffer_release(&request.payload);
	buffer_release(&answer.payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_taken_branch_ends_a_run_and_one_not_taken_does_not),
		cmocka_unit_test(a_jump_to_the_next_instruction_ends_a_run_all_the_same),
		cmocka_unit_test(a_string_instruction_counts_once_and_a_loop_to_itself_each_time),
		cmocka_unit_test(unknown_code_goes_on_straight_where_it_seems_to),
		cmocka_unit_test(nothing_executed_is_nothing),
		cmocka_unit_test(code_is_decoded_by_the_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
