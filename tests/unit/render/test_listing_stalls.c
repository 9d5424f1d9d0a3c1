/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "analyze/culprits/culprits.h"
#include "base/buffer.h"
#include "render/listing_cycles.h"

#define INSTRUCTIONS 3

/* One block of three instructions at 1000, 1004, 1008, each executed 10 times. */
struct subject {
	struct cfg_instruction instructions[INSTRUCTIONS];
	struct cfg_part part;
	struct cfg_block block;
	struct cycles_cost costs[INSTRUCTIONS], block_cost;
	struct procedure_cycles procedure;
	struct stall stalls[INSTRUCTIONS];
	struct culprit list[4];
	struct culprits culprits;
	struct cycle_columns columns;
};

static void subject_init(struct subject *subject)
{
	*subject = (struct subject){ .block = { .count = INSTRUCTIONS },
				     .block_cost = { .cycles = 1000 },
				     .culprits = { .known = true } };
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		subject->instructions[i] =
			(struct cfg_instruction){ .vaddr = 0x1000 + 4 * i, .length_bytes = 4 };
		subject->costs[i].executed = 10;
		subject->stalls[i].static_instruction = CULPRIT_NO_INSTRUCTION;
		subject->stalls[i].static_register = REGISTER_NONE;
	}
	struct procedure_cycles *procedure = &subject->procedure;
	procedure->isa = ISA_AARCH64;
	procedure->scale = CYCLES_BY_CLOCK;
	procedure->instructions = subject->costs;
	procedure->blocks = &subject->block_cost;
	procedure->cfg.instructions = subject->instructions;
	procedure->cfg.instruction_count = INSTRUCTIONS;
	procedure->cfg.blocks = &subject->block;
	procedure->cfg.graph.block_count = 1;
	procedure->cfg.part_count = 1;
	procedure->cfg.parts[0] = (struct cfg_part){ .first = 0x1000,
						     .last = 0x1000 + 4 * INSTRUCTIONS - 1,
						     .instruction_count = INSTRUCTIONS };
	subject->culprits.procedure = procedure;
	subject->culprits.stalls = subject->stalls;
	subject->culprits.list = subject->list;
	subject->columns = (struct cycle_columns){ .procedure = procedure,
						   .culprits = &subject->culprits,
						   .whole = 1000,
						   .has_cpi = true,
						   .width = 24 };
}

static void expect(const struct subject *subject, uint32_t instruction, const char *expected)
{
	const struct listing_margins margins = { 2, 3 };
	struct buffer text = { 0 };
	cycle_columns_print_stalls(&subject->columns, instruction, &margins, &text);
	assert_string_equal(text.size ? buffer_text(&text) : "", expected);
	buffer_release(&text);
}

/* Of a dynamic stall of 100 cycles of instruction 1. */
static void expect_shares(const struct culprit *list, uint32_t count, double unexplained,
			  const char *expected)
{
	struct subject subject;
	subject_init(&subject);
	for (uint32_t i = 0; i < count; i++)
		subject.list[i] = list[i];
	subject.stalls[1].dynamic_cycles = subject.stalls[1].most_cycles = 100;
	subject.stalls[1].unexplained_cycles = unexplained;
	subject.stalls[1].culprit_count = count;
	expect(&subject, 1, expected);
}

static void causes_stand_with_who_is_to_blame_and_their_share(void **state)
{
	(void)state;
	expect_shares(
		(struct culprit[]){ { DYNAMIC_DCACHE, 0, 0, 100, false },
				    { DYNAMIC_WRITE_BUFFER, 1, 0, 30, false },
				    { DYNAMIC_ICACHE, CULPRIT_NO_INSTRUCTION, 0, 100, false } },
		3, 0,
		"           dwi     +10.0     D-cache miss of 1000; write buffer here at most "
		"30 %; I-cache miss\n");
	expect_shares((struct culprit[]){ { DYNAMIC_MISPREDICT, 0, 70, 100, false },
					  { DYNAMIC_DTLB, 0, 10, 30, false } },
		      2, 0,
		      "            pD     +10.0     branch mispredict of 1000 at least 70 %; DTLB "
		      "miss of 1000 10 to 30 %\n");
	expect_shares((struct culprit[]){ { DYNAMIC_DIVIDE, 1, 100, 100, false } }, 1, 0,
		      "             f     +10.0     divider busy here\n");
	expect_shares((struct culprit[]){ { DYNAMIC_DIVIDE, 1, 40, 40, false } }, 1, 60,
		      "             f     +10.0     divider busy here 40 %; 60 % unexplained\n");
	expect_shares(NULL, 0, 100, "             ?     +10.0     no cause known\n");
}

/* Where no scale shows that one stalled, what may have made it is told when it had much. */
static void what_may_be_a_stall_is_told_as_that(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject);
	subject.list[0] = (struct culprit){ DYNAMIC_DCACHE, 1, 0, 500, false };
	subject.stalls[1].most_cycles = 500;
	subject.stalls[1].culprit_count = 1;
	expect(&subject, 1,
	       "             d        +?     not shown, but may be: D-cache miss here\n");
	subject.list[0].high = 250;
	expect(&subject, 1,
	       "             d        +?     not shown, but may be: D-cache miss here at most 50 "
	       "%\n");
	subject.stalls[1].most_cycles = 99; /* of 1000: below 10 % */
	expect(&subject, 1, "");
	subject.stalls[1].most_cycles = 500;
	subject.stalls[1].culprit_count = 0; /* all causes are cleared */
	expect(&subject, 1, "");
}

static void a_letter_stands_once_for_neighbours_of_one_cause(void **state)
{
	(void)state;
	expect_shares((struct culprit[]){ { DYNAMIC_DCACHE, 0, 0, 100, false },
					  { DYNAMIC_DCACHE, 2, 0, 100, false } },
		      2, 0,
		      "             d     +10.0     D-cache miss of 1000; D-cache miss of 1008\n");
}

static void static_stalls_name_the_register_and_whose_it_is(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject);
	subject.stalls[2].static_cause = STATIC_RA;
	subject.stalls[2].static_cycles = 15;
	subject.stalls[2].static_register = 4;
	subject.stalls[2].static_instruction = 1;
	expect(&subject, 2, "             a     +1.50     Ra dependency (a value): x4 of 1004\n");
	subject.stalls[2].static_cause = STATIC_SLOTTING;
	subject.stalls[2].static_register = REGISTER_NONE;
	subject.stalls[2].static_instruction = CULPRIT_NO_INSTRUCTION;
	expect(&subject, 2, "             s     +1.50     slotting\n");
}

static void a_gain_that_matters_is_shown_as_unexplained(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject);
	subject.stalls[0].dynamic_cycles = -10;
	expect(&subject, 0,
	       "             g     -1.00     gain: less than the best case, unexplained\n");
	subject.procedure.scale = CYCLES_RELATIVE; /* the best case is a bound */
	expect(&subject, 0, "");
}

static void what_does_not_matter_or_is_not_known_says_nothing(void **state)
{
	(void)state;
	struct subject subject;
	subject_init(&subject);
	expect(&subject, CFG_NO_INSTRUCTION, "");
	subject.stalls[0].dynamic_cycles = 9; /* of 1000: below 1 % */
	expect(&subject, 0, "");
	subject.stalls[0].dynamic_cycles = -9; /* a gain, below that too */
	expect(&subject, 0, "");
	subject.stalls[0].dynamic_cycles = NAN;
	expect(&subject, 0, "");
	subject.stalls[0].dynamic_cycles = 100;
	subject.culprits.known = false;
	expect(&subject, 0, "");
	subject.culprits.known = true;
	subject.costs[0].executed = NAN;
	expect(&subject, 0, "");
	subject.costs[0].executed = 10;
	subject.stalls[0].dynamic_cycles = 0;
	subject.stalls[0].static_cause = STATIC_UNIT;
	subject.stalls[0].static_cycles = 5;
	subject.block_cost.cycles = 9; /* the block does not matter */
	expect(&subject, 0, "");
	subject.columns.culprits = NULL;
	expect(&subject, 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_stand_with_who_is_to_blame_and_their_share),
		cmocka_unit_test(what_may_be_a_stall_is_told_as_that),
		cmocka_unit_test(a_letter_stands_once_for_neighbours_of_one_cause),
		cmocka_unit_test(static_stalls_name_the_register_and_whose_it_is),
		cmocka_unit_test(a_gain_that_matters_is_shown_as_unexplained),
		cmocka_unit_test(what_does_not_matter_or_is_not_known_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
