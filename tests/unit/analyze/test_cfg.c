#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "analyze/flow/cfg.h"
#include "analyze/flow/cfg_no_return.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "cfg_subjects.h"
#include "support/byte_space.h"

#define START		   BYTE_SPACE_START
#define X86_CODE_BYTES	   166
#define AARCH64_CODE_BYTES 0x190

static struct cfg build(const struct byte_space *space, uint64_t vaddr)
{
	struct decoder *decoder = NULL;
	struct error err;
	struct cfg cfg;
	assert_int_equal(decoder_new(space->space.isa, ISA_SYNTAX_ATT, &decoder, &err), 0);
	if (cfg_build(&space->space, decoder, vaddr, &cfg, &err) < 0)
		fail_msg("%s", err.text);
	decoder_free(decoder);
	cfg_check(&cfg);
	return cfg;
}

/* The graph of x86-64 bytes that are one function. */
static struct cfg build_x86(const uint8_t *bytes, size_t size)
{
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, size);
	return build(&space, START);
}

#define BUILD_X86(...)                                                                             \
	build_x86((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static uint32_t at(const struct cfg *cfg, uint64_t vaddr)
{
	return vaddr ? cfg_block_at(cfg, vaddr) : FLOW_OUTSIDE;
}

/* Edges by address, 0 for outside. */
static void assert_edges(const struct cfg *cfg, const uint64_t (*expected)[3], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t from = at(cfg, expected[i][0]), to = at(cfg, expected[i][1]);
		bool found = false;
		for (size_t j = 0; j < cfg->graph.edge_count; j++)
			found |= cfg->graph.edges[j].from == from && cfg->graph.edges[j].to == to &&
				 cfg->graph.edges[j].kind == expected[i][2];
		if (!found)
			fail_msg("no edge %#lx to %#lx of kind %lu", (unsigned long)expected[i][0],
				 (unsigned long)expected[i][1], (unsigned long)expected[i][2]);
	}
	assert_int_equal(cfg->graph.edge_count, count);
}

#define ASSERT_EDGES(cfg, ...)                                                                     \
	do {                                                                                       \
		const uint64_t expected_edges[][3] = { __VA_ARGS__ };                              \
		assert_edges(cfg, expected_edges, COUNT_OF(expected_edges));                       \
	} while (0)

static void a_condition_goes_two_ways(void **state)
{
	(void)state;
	/* 0 test %edi,%edi; 2 je 6; 4 xor %eax,%eax; 6 ret */
	CLEANUP(cfg_release) struct cfg cfg = BUILD_X86(0x85, 0xff, 0x74, 0x02, 0x31, 0xc0, 0xc3);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, START + 4, FLOW_NEXT },
		     { START, START + 6, FLOW_BRANCH }, { START + 4, START + 6, FLOW_NEXT },
		     { START + 6, 0, FLOW_RETURN });
}

static void what_leaves_says_how(void **state)
{
	(void)state;
	/* 0 je far; 6 jmp start; 8 jmp far; d ud2; f jmp *0(%rip); 15 nop, off the end */
	CLEANUP(cfg_release)
	struct cfg cfg = BUILD_X86(0x0f, 0x84, 0, 1, 0, 0, 0xeb, 0xf8, 0xe9, 0, 1, 0, 0, 0x0f, 0x0b,
				   0xff, 0x25, 0, 0, 0, 0, 0x31, 0xc0);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, 0, FLOW_TAIL },
		     { START, START + 6, FLOW_NEXT }, { START + 6, START, FLOW_BRANCH },
		     { 0, START + 8, FLOW_OTHER_ENTRY }, { START + 8, 0, FLOW_TAIL },
		     { 0, START + 0xd, FLOW_OTHER_ENTRY }, { START + 0xd, 0, FLOW_NO_RETURN },
		     { 0, START + 0xf, FLOW_OTHER_ENTRY }, { START + 0xf, 0, FLOW_TAIL },
		     { 0, START + 0x15, FLOW_OTHER_ENTRY }, { START + 0x15, 0, FLOW_NO_RETURN });
	assert_false(cfg.graph.missing_edges);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TAIL);
}

static void what_cpus_read_differently_ends_what_is_known(void **state)
{
	(void)state;
	/* 0 66 jmp: 4 bytes long on AMD, 6 on Intel; the rest is one of both */
	CLEANUP(cfg_release)
	struct cfg cfg = BUILD_X86(0x66, 0xe9, 0, 0, 0, 0, 0xc3);
	assert_true(cfg.graph.missing_edges);
	assert_int_equal(cfg.jump_count, 1);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_UNKNOWN);
	assert_int_equal(cfg.jumps[0].missing, CFG_MISSING_CPU);
	assert_string_equal(cfg_missing_text(CFG_MISSING_CPU),
			    "CPUs of different vendors read it differently");
	CLEANUP(cfg_release) struct cfg conditional = BUILD_X86(0x66, 0x74, 0, 0xc3);
	assert_int_equal(conditional.jumps[0].missing, CFG_MISSING_CPU);
	CLEANUP(cfg_release) /* REX.W: 64 bits everywhere */
	struct cfg wide = BUILD_X86(0x66, 0x48, 0xe9, 0, 0, 0, 0, 0xc3);
	assert_false(wide.graph.missing_edges);
	assert_int_equal(wide.jump_count, 0);
	CLEANUP(cfg_release) struct cfg undefined = BUILD_X86(0x0f, 0xff, 0xc0);
	ASSERT_EDGES(&undefined, { 0, START, FLOW_ENTRY }, { START, 0, FLOW_NO_RETURN },
		     { 0, START + 2, FLOW_OTHER_ENTRY }, { START + 2, 0, FLOW_NO_RETURN });
}

static void calls_lie_inside_blocks(void **state)
{
	(void)state;
	/* call itself; call far; ret */
	CLEANUP(cfg_release)
	struct cfg cfg = BUILD_X86(0xe8, 0xfb, 0xff, 0xff, 0xff, 0xe8, 0, 1, 0, 0, 0xc3);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, 0, FLOW_RETURN });
}

static void calls_that_do_not_come_back_end_a_block(void **state)
{
	(void)state;
	/* 0 call abort; 5 ret; 6 call far; b nop */
	static const uint8_t bytes[] = { 0xe8, 0x3b, 0, 0, 0, 0xc3, 0xe8, 0, 1, 0, 0, 0x90 };
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.no_return = START + 0x40;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	/* the nop behind the last call is padding: nothing leads to it, and it leads nowhere */
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, 0, FLOW_NO_RETURN },
		     { 0, START + 5, FLOW_OTHER_ENTRY }, { START + 5, 0, FLOW_RETURN },
		     { 0, START + 6, FLOW_OTHER_ENTRY }, { START + 6, 0, FLOW_NO_RETURN },
		     { 0, START + 0xb, FLOW_OTHER_ENTRY }, { START + 0xb, 0, FLOW_NO_RETURN });
}

static void a_call_through_the_got_is_known_too(void **state)
{
	(void)state;
	/* call *0x3a(%rip): the slot at 0x40; ret */
	static const uint8_t bytes[] = { 0xff, 0x15, 0x3a, 0, 0, 0, 0xc3 };
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.no_return = START + 0x40;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.graph.block_count, 2);
	assert_true(cfg.instructions[0].no_return);
}

static void padding_that_nothing_reaches_leads_nowhere(void **state)
{
	(void)state;
	/* 0 jmp 5; 2 nopl; 5 dec %eax; 7 jne 5; 9 ret */
	CLEANUP(cfg_release)
	struct cfg cfg = BUILD_X86(0xeb, 0x03, 0x0f, 0x1f, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, START + 5, FLOW_BRANCH },
		     { 0, START + 2, FLOW_OTHER_ENTRY }, { START + 2, 0, FLOW_NO_RETURN },
		     { START + 5, START + 5, FLOW_BRANCH }, { START + 5, START + 9, FLOW_NEXT },
		     { START + 9, 0, FLOW_RETURN });
}

static void a_jump_over_a_lock_prefix_stays_in_step(void **state)
{
	(void)state;
	/* 0 je 3; 2 lock incl (%rdi), with its prefix or without; 5 ret */
	CLEANUP(cfg_release) struct cfg cfg = BUILD_X86(0x74, 0x01, 0xf0, 0xff, 0x07, 0xc3);
	assert_int_equal(cfg.instruction_count, 3);
	assert_int_equal(cfg.graph.block_count, 2);
}

/* 0 jne 0x10; 2 ret, then data; the cold part at 0x10: xor; jmp 2 */
static const uint8_t split_bytes[] = { 0x75, 0x0e, 0xc3, 0, 0, 0, 0,	0,    0,    0,
				       0,    0,	   0,	 0, 0, 0, 0x31, 0xc0, 0xeb, 0xee };

static void split_space(struct byte_space *space)
{
	byte_space_init(space, ISA_X86_64, split_bytes, sizeof(split_bytes));
	space->functions[0].last = START + 2;
	space->functions[1] =
		(struct code_function){ START + 0x10, START + 0x13, false, true, START, { 0 } };
}

static void a_cold_part_is_of_the_graph(void **state)
{
	(void)state;
	struct byte_space space;
	split_space(&space);
	/* as who scans for jumps reports them: both come from the function's other part */
	space.entries[0] = (struct code_entry){ START + 2, CODE_ENTRY_JUMP };
	space.entry_count = 1;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, START + 2, FLOW_NEXT },
		     { START, START + 0x10, FLOW_BRANCH }, { START + 2, 0, FLOW_RETURN },
		     { START + 0x10, START + 2, FLOW_BRANCH });
	assert_int_equal(cfg.part_count, 2);
	assert_true(cfg.parts[1].is_cold);
	assert_int_equal(cfg_block_at(&cfg, START + 8), CFG_NO_BLOCK);

	CLEANUP(cfg_release) struct cfg same = build(&space, START + 0x12);
	assert_int_equal(same.first, START);
	assert_int_equal(same.graph.edge_count, cfg.graph.edge_count);
}

static void entries_from_elsewhere_start_blocks(void **state)
{
	(void)state;
	/* 0 nop...; 8 ret */
	static const uint8_t bytes[] = { 0x31, 0xc0, 0x31, 0xc9, 0x31, 0xd2, 0x31, 0xf6, 0xc3 };
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.entries[0] = (struct code_entry){ START + 2, CODE_ENTRY_JUMP };
	space.entries[1] = (struct code_entry){ START + 4, CODE_ENTRY_LANDING };
	space.entries[2] = (struct code_entry){ START + 6, CODE_ENTRY_POINTER };
	space.entry_count = 3;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { 0, START + 2, FLOW_OTHER_ENTRY },
		     { 0, START + 4, FLOW_LANDING }, { START, START + 2, FLOW_NEXT },
		     { START + 2, START + 4, FLOW_NEXT }, { START + 4, START + 6, FLOW_NEXT },
		     { START + 6, 0, FLOW_RETURN });
}

static void an_unknown_table_goes_wherever_pointers_do(void **state)
{
	(void)state;
	/* 0 jmp *(%rdi,%rsi,8); 3 ret; 4 xor %eax,%eax; 6 ret */
	static const uint8_t bytes[] = { 0xff, 0x24, 0xf7, 0xc3, 0x31, 0xc0, 0xc3 };
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	CLEANUP(cfg_release) struct cfg missing = build(&space, START);
	assert_int_equal(missing.jumps[0].fate, CFG_JUMP_UNKNOWN);
	assert_int_equal(missing.jumps[0].missing, CFG_MISSING_BASE);
	assert_true(missing.graph.missing_edges);
	assert_string_equal(cfg_missing_text(CFG_MISSING_BASE),
			    "where its table starts is not known");

	space.entries[0] = (struct code_entry){ START + 3, CODE_ENTRY_POINTER };
	space.entries[1] = (struct code_entry){ START + 4, CODE_ENTRY_POINTER };
	space.entry_count = 2;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_POINTERS);
	ASSERT_EDGES(&cfg, { 0, START, FLOW_ENTRY }, { START, START + 3, FLOW_INDIRECT },
		     { START, START + 4, FLOW_INDIRECT }, { START + 3, 0, FLOW_RETURN },
		     { START + 4, 0, FLOW_RETURN });
}

static size_t count_edges(const struct cfg *cfg, enum flow_edge_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < cfg->graph.edge_count; i++)
		count += cfg->graph.edges[i].kind == kind;
	return count;
}

static bool has_edge(const struct cfg *cfg, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < cfg->graph.edge_count; i++)
		if (cfg->graph.edges[i].from == cfg_block_at(cfg, from) &&
		    cfg->graph.edges[i].to == cfg_block_at(cfg, to))
			return true;
	return false;
}

static void a_table_of_differences_is_read_within_its_limit(void **state)
{
	(void)state;
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, x86_switch, sizeof(x86_switch));
	space.functions[0].last = START + X86_CODE_BYTES - 1;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jump_count, 1);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TABLE);
	assert_true(cfg.jumps[0].is_bounded);
	assert_int_equal(cfg.jumps[0].table, START + 168);
	assert_int_equal(cfg.jumps[0].target_count, 8);
	assert_int_equal(count_edges(&cfg, FLOW_INDIRECT), 8);
}

static void a_table_of_bytes_counts_in_instructions(void **state)
{
	(void)state;
	struct byte_space space;
	byte_space_init(&space, ISA_AARCH64, aarch64_switch, sizeof(aarch64_switch));
	space.functions[0].last = START + AARCH64_CODE_BYTES - 1;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jump_count, 1);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TABLE);
	assert_true(cfg.jumps[0].is_bounded);
	assert_int_equal(cfg.jumps[0].table, START + AARCH64_CODE_BYTES);
	assert_int_equal(cfg.jumps[0].target_count, 20);
	assert_int_equal(count_edges(&cfg, FLOW_OTHER_ENTRY), 0);

	uint8_t bytes[sizeof(aarch64_switch)];
	memcpy(bytes, aarch64_switch, sizeof(bytes));
	bytes[AARCH64_CODE_BYTES] = 0xff; /* minus one: before the label, the branch itself */
	space.bytes.data = bytes;
	CLEANUP(cfg_release) struct cfg back = build(&space, START);
	assert_int_equal(back.jumps[0].target_count, 20);
	assert_true(has_edge(&back, START + 0x30, START + 0x30));
}

/* The switch with room for more entries behind its table. */
#define MORE_ENTRIES 4

static void longer_table(uint8_t *bytes, const int32_t *more)
{
	memcpy(bytes, x86_switch, sizeof(x86_switch));
	memcpy(bytes + sizeof(x86_switch), more, MORE_ENTRIES * sizeof(*more));
}

static void without_a_limit_a_table_ends_at_what_is_no_code(void **state)
{
	(void)state;
	uint8_t bytes[sizeof(x86_switch) + 4 * MORE_ENTRIES];
	/* one that is no code, then one that would be: the function's start */
	longer_table(bytes, (const int32_t[]){ 0x7fffffff, -168, -168, -168 });
	bytes[13] = 0x74; /* je for ja: no limit follows from it */
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.functions[0].last = START + X86_CODE_BYTES - 1;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TABLE);
	assert_false(cfg.jumps[0].is_bounded);
	assert_int_equal(cfg.jumps[0].target_count, 8);
}

static void a_comparison_of_sixteen_bits_limits_a_table_of_addresses(void **state)
{
	(void)state;
	/* 0 cmp $1,%ax; 4 ja 10; 6 movzwl %ax,%eax; 9 jmp *T(,%rax,8); 10 ret; 11 ret; 12 pad;
	 * 18 T: two entries within the limit, and one of another table */
	static const uint8_t bytes[] = {
		0x66, 0x3d, 0x01, 0x00, 0x77, 0x0a, 0x0f, 0xb7, 0xc0, 0xff, 0x24, 0xc5,
		0x18, 0,    1,	  0,	0xc3, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x10, 0,    1,	  0,	0,    0,    0,	  0,	0x11, 0,    1,	  0,
		0,    0,    0,	  0,	0,    0,    1,	  0,	0,    0,    0,	  0,
	};
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.functions[0].last = START + 0x17;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_true(cfg.jumps[0].is_bounded);
	assert_int_equal(cfg.jumps[0].table, START + 0x18);
	assert_int_equal(cfg.jumps[0].target_count, 2);
}

static void a_table_may_lead_to_other_code(void **state)
{
	(void)state;
	uint8_t bytes[sizeof(x86_switch) + 4 * MORE_ENTRIES];
	/* within the limit: a place that nothing is known of, and one in another function */
	longer_table(bytes, (const int32_t[]){ 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff });
	bytes[12] = 8; /* cmp $8,%edi: nine entries */
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.functions[0].last = START + X86_CODE_BYTES - 1;
	CLEANUP(cfg_release) struct cfg never = build(&space, START);
	assert_int_equal(never.jumps[0].target_count, 8);
	uint32_t block = cfg_block_at(&never, never.instructions[never.jumps[0].instruction].vaddr);
	assert_int_equal(flow_graph_out_of(&never.graph, block).count, 8);

	memcpy(bytes + sizeof(x86_switch), &(int32_t){ 1000 }, 4);
	space.functions[2].first = START + 168 + 1000;
	space.functions[2].last = START + 168 + 1007;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	struct flow_ends out = flow_graph_out_of(&cfg.graph, block);
	assert_int_equal(out.count, 9);
	assert_int_equal(cfg.graph.edges[out.list[8]].kind, FLOW_TAIL);
}

/*
 * 0 lea T(%rip),%rdx; 7 test; 9 jne 0xd; b xor %edx,%edx (and a call that does not come
 * back, unknown); d cmp $1,%edi; 10 ja 0x1d; 12 mov %edi,%eax; 14 movslq (%rdx,%rax,4),%rax;
 * 18 add %rdx,%rax; 1b jmp *%rax; 1d ret; 1e ret; 1f ret; 20 T: 1e - T, 1f - T
 */
static const uint8_t guess_bytes[] = {
	0x48, 0x8d, 0x15, 0x19, 0,    0,    0,	  0x85, 0xf6, 0x75, 0x02, 0x31, 0xd2, 0x83,
	0xff, 0x01, 0x77, 0x0b, 0x89, 0xf8, 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff,
	0xe0, 0xc3, 0xc3, 0xc3, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

static void a_base_is_believed_against_a_definition_that_cannot_be(void **state)
{
	(void)state;
	uint8_t bytes[sizeof(guess_bytes)];
	memcpy(bytes, guess_bytes, sizeof(bytes));
	bytes[11] = 0x5a; /* pop %rdx; nop: not a constant */
	bytes[12] = 0x90;
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.functions[0].last = START + 0x1f;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TABLE);
	assert_int_equal(cfg.jumps[0].target_count, 2);

	/* an entry within the limit that is no code: the guess was wrong */
	bytes[0x27] = 0x7f;
	CLEANUP(cfg_release) struct cfg wrong = build(&space, START);
	assert_int_equal(wrong.jumps[0].fate, CFG_JUMP_UNKNOWN);

	/* two constants: neither is believed */
	CLEANUP(cfg_release) struct cfg two = build_x86(guess_bytes, sizeof(guess_bytes));
	assert_int_equal(two.jumps[0].fate, CFG_JUMP_UNKNOWN);
	assert_int_equal(two.jumps[0].missing, CFG_MISSING_BASE);
}

static void an_index_that_starts_from_zero_is_no_constant(void **state)
{
	(void)state;
	/* 0 xor %eax,%eax; 2 lea T(%rip),%rdx; 9 movslq (%rdx,%rax,4),%rcx; d inc %eax;
	 * f add %rdx,%rcx; 12 jmp *%rcx; 14 jmp 9; 16 ret; 17 pad; 18 T: 14 - T, 16 - T, end */
	CLEANUP(free_pointer) uint8_t *bytes = malloc(0x24);
	static const uint8_t code[0x24] = {
		0x31, 0xc0, 0x48, 0x8d, 0x15, 0x0f, 0,	  0,	0,    0x48, 0x63, 0x0c,
		0x82, 0xff, 0xc0, 0x48, 0x01, 0xd1, 0xff, 0xe1, 0xeb, 0xf3, 0xc3, 0x90,
		0xfc, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
	};
	assert_non_null(bytes);
	memcpy(bytes, code, sizeof(code));
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(code));
	space.functions[0].last = START + 0x17;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_TABLE);
	assert_int_equal(cfg.jumps[0].target_count, 2);
}

static void a_limit_cuts_a_table(void **state)
{
	(void)state;
	uint8_t bytes[sizeof(x86_switch)];
	memcpy(bytes, x86_switch, sizeof(x86_switch));
	bytes[12] = 2; /* cmp $2,%edi */
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, sizeof(bytes));
	space.functions[0].last = START + X86_CODE_BYTES - 1;
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].target_count, 3);
}

static void a_table_that_cannot_be_read_is_missing(void **state)
{
	(void)state;
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, x86_switch, X86_CODE_BYTES);
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_int_equal(cfg.jumps[0].fate, CFG_JUMP_UNKNOWN);
	assert_int_equal(cfg.jumps[0].missing, CFG_MISSING_TABLE);
	assert_true(cfg.graph.missing_edges);
}

static void code_that_is_not_known_is_an_error(void **state)
{
	(void)state;
	struct byte_space space;
	struct decoder *decoder = NULL;
	struct error err;
	struct cfg cfg;
	assert_int_equal(decoder_new(ISA_X86_64, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	byte_space_init(&space, ISA_X86_64, split_bytes, sizeof(split_bytes));
	space.functions[0] = (struct code_function){ .first = 0x500, .last = 0x5ff };
	assert_int_equal(cfg_build(&space.space, decoder, START, &cfg, &err), -ENOENT);
	assert_string_equal(err.text, "no function is known at 0x10000");
	assert_int_equal(cfg_build(&space.space, decoder, 0x510, &cfg, &err), -ENODATA);
	assert_string_equal(err.text, "the code of the function at 0x500 is not known");
	decoder_free(decoder);
}

static void names_that_do_not_return(void **state)
{
	(void)state;
	static const char *const yes[] = {
		"abort",
		"exit@plt",
		"__stack_chk_fail@plt",
		"_exit@GLIBC_2.2.5",
		"longjmp@@GLIBC_2.2.5",
		"_ZSt17__throw_bad_allocv",
		"_ZSt20__throw_length_errorPKc",
		"__cxa_throw",
		"_ZN4core9panicking5panic17h0123456789abcdefE",
		"_RNvNtCs1_4core9panicking5panic",
		"panic",
		"xen_start_kernel",
		"GOMP_PLUGIN_fatal",
	};
	static const char *const no[] = {
		"",	      "abort2",
		"aborts@plt", "exi",
		"malloc",     "_ZSt4cout",
		"_ZSt",	      "_ZN4core5slice5index74_$LT$impl",
		"@plt",	      "__cxa_begin_catch",
	};
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		if (!cfg_is_no_return(span_of_text(yes[i])))
			fail_msg("%s should not return", yes[i]);
	for (size_t i = 0; i < COUNT_OF(no); i++)
		if (cfg_is_no_return(span_of_text(no[i])))
			fail_msg("%s should return", no[i]);
}

/* Pieces of switches, jumps and noise, so that the search for tables has something to follow. */
static size_t random_code(struct random_state *random, enum isa isa, uint8_t *out, size_t size)
{
	size_t at = 0;
	while (at + 200 < size) {
		size_t first = (size_t)random_below(random, 160),
		       count = 1 + random_below(random, 40);
		const uint8_t *piece = isa == ISA_AARCH64 ? aarch64_switch : x86_switch;
		first -= isa == ISA_AARCH64 ? first % 4 : 0;
		if (random_below(random, 3))
			memcpy(out + at, piece + first, count);
		else
			for (size_t i = 0; i < count; i++)
				out[at + i] = (uint8_t)random_u64(random);
		at += isa == ISA_AARCH64 ? (count + 3) / 4 * 4 : count;
	}
	return at;
}

static void holds_for_random_bytes(void **state)
{
	(void)state;
	static const enum isa isas[] = { ISA_X86_64, ISA_AARCH64, ISA_I386 };
	struct random_state random = random_seed(5);
	static uint8_t bytes[1600];
	size_t tables = 0;
	for (size_t round = 0; round < 1500; round++) {
		struct byte_space space;
		enum isa isa = isas[round % 3];
		memset(bytes, 0, sizeof(bytes));
		size_t size = random_code(&random, isa, bytes, 300 + random_below(&random, 1200));
		byte_space_init(&space, isa, bytes, size);
		uint64_t vaddr = START;
		while (space.entry_count < 8)
			space.entries[space.entry_count++] =
				(struct code_entry){ vaddr += 1 + random_below(&random, 90),
						     (enum code_entry_kind)random_below(&random,
											3) };
		if (round & 4) {
			space.functions[0].last = START + size / 2;
			space.functions[1] = (struct code_function){
				START + size / 2 + 1, START + size - 20, false, true, START, { 0 }
			};
		}
		struct cfg cfg = build(&space, START);
		for (size_t i = 0; i < cfg.jump_count; i++)
			tables += cfg.jumps[i].fate == CFG_JUMP_TABLE;
		cfg_release(&cfg);
	}
	assert_true(tables > 20); /* else nothing of the search was tried */
}

/* Every byte an indirect jump through memory that nobody knows, and data that points everywhere. */
static void a_hostile_function_costs_what_its_size_allows(void **state)
{
	(void)state;
	size_t size = 3 << 20;
	CLEANUP(free_pointer) uint8_t *bytes = malloc(size);
	assert_non_null(bytes);
	for (size_t i = 0; i + 6 <= size; i += 6)
		memcpy(bytes + i, (const uint8_t[]){ 0xff, 0x24, 0xf7, 0x75, 0xf0, 0x90 }, 6);
	struct byte_space space;
	byte_space_init(&space, ISA_X86_64, bytes, size);
	for (; space.entry_count < BYTE_SPACE_ENTRIES; space.entry_count++)
		space.entries[space.entry_count] =
			(struct code_entry){ START + 6 * (space.entry_count + 1),
					     CODE_ENTRY_POINTER };
	CLEANUP(cfg_release) struct cfg cfg = build(&space, START);
	assert_true(cfg.graph.missing_edges);
	assert_true(cfg.graph.edge_count < 16 * (size_t)cfg.instruction_count);
	assert_int_equal(cfg.jumps[cfg.jump_count - 1].missing, CFG_MISSING_EFFORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_goes_two_ways),
		cmocka_unit_test(what_leaves_says_how),
		cmocka_unit_test(what_cpus_read_differently_ends_what_is_known),
		cmocka_unit_test(calls_lie_inside_blocks),
		cmocka_unit_test(calls_that_do_not_come_back_end_a_block),
		cmocka_unit_test(a_call_through_the_got_is_known_too),
		cmocka_unit_test(padding_that_nothing_reaches_leads_nowhere),
		cmocka_unit_test(a_jump_over_a_lock_prefix_stays_in_step),
		cmocka_unit_test(a_cold_part_is_of_the_graph),
		cmocka_unit_test(entries_from_elsewhere_start_blocks),
		cmocka_unit_test(an_unknown_table_goes_wherever_pointers_do),
		cmocka_unit_test(a_table_of_differences_is_read_within_its_limit),
		cmocka_unit_test(a_table_of_bytes_counts_in_instructions),
		cmocka_unit_test(without_a_limit_a_table_ends_at_what_is_no_code),
		cmocka_unit_test(a_comparison_of_sixteen_bits_limits_a_table_of_addresses),
		cmocka_unit_test(a_table_may_lead_to_other_code),
		cmocka_unit_test(a_base_is_believed_against_a_definition_that_cannot_be),
		cmocka_unit_test(an_index_that_starts_from_zero_is_no_constant),
		cmocka_unit_test(a_limit_cuts_a_table),
		cmocka_unit_test(a_table_that_cannot_be_read_is_missing),
		cmocka_unit_test(code_that_is_not_known_is_an_error),
		cmocka_unit_test(names_that_do_not_return),
		cmocka_unit_test(holds_for_random_bytes),
		cmocka_unit_test(a_hostile_function_costs_what_its_size_allows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
