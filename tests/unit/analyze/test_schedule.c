#include "analyze/flow/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"

static struct pipelines *pipelines;

static int read_tables(void **state)
{
	struct error err;
	(void)state;
	return pipelines_new(&pipelines, &err);
}

static int free_tables(void **state)
{
	(void)state;
	pipelines_free(pipelines);
	return 0;
}

/* ---- blocks by hand */

#define NO_REGISTER -1
#define FLAGS	    100

static void add(struct register_set *set, int number)
{
	if (number != NO_REGISTER)
		set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

static struct instruction_effects work(enum latency_class class, int to, int a, int b)
{
	struct instruction_effects op = { .class = class };
	add(&op.writes, to);
	add(&op.reads, a);
	add(&op.reads, b);
	return op;
}

static struct instruction_effects alu(int to, int a, int b)
{
	return work(LATENCY_ALU, to, a, b);
}

static struct instruction_effects load(int to, int base)
{
	struct instruction_effects op = work(LATENCY_LOAD, to, base, NO_REGISTER);
	op.address = op.reads;
	op.reads_memory = true;
	return op;
}

static struct instruction_effects store(int data, int base)
{
	struct instruction_effects op = work(LATENCY_STORE, NO_REGISTER, base, NO_REGISTER);
	op.address = op.reads;
	op.writes_memory = true;
	add(&op.reads, data);
	return op;
}

static struct instruction_effects branch(int on)
{
	return work(LATENCY_BRANCH, NO_REGISTER, on, NO_REGISTER);
}

/* A machine of `width` with one-cycle everything and units for all. */
static struct pipeline plain_machine(uint32_t width)
{
	struct pipeline p = { .in_order = true, .issue_width = width, .retire_width = width };
	for (unsigned row = 0; row < PIPELINE_ROWS; row++)
		p.work[row] = (struct pipeline_work){ { 1, 1, 1, 1 }, 1, 0, false };
	p.address_update_cycles = 1;
	return p;
}

static uint32_t new_unit(struct pipeline *p)
{
	return 1u << p->unit_count++;
}

static void set_latency(struct pipeline *p, enum latency_class class, uint32_t cycles)
{
	for (unsigned use = 0; use < PIPELINE_USES; use++)
		p->work[class].latency_cycles[use] = cycles;
}

static void expect_heads(const struct scheduled *out, const double *heads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (out[i].head_cycles != heads[i])
			print_error("instruction %zu: M is %g, expected %g\n", i,
				    out[i].head_cycles, heads[i]);
		assert_true(out[i].head_cycles == heads[i]);
	}
}

static void expect_wait(const struct scheduled *out, enum schedule_wait wait, uint32_t wait_for)
{
	assert_int_equal(out->wait, wait);
	assert_int_equal(out->wait_for, wait_for);
}

/* ---- the paper's machine */

/*
 * The Alpha 21164 as far as DCPI's Figure 2 needs it (Digital, Alpha 21164
 * Microprocessor Hardware Reference Manual, EC-QP99, 2.3): four instructions a cycle,
 * two integer pipes E0 and E1; loads go to either, stores to E0, branches to E1; a
 * load's result is there after 2 cycles; no load issues two cycles after a store.
 */
static struct pipeline alpha_21164(void)
{
	struct pipeline p = plain_machine(4);
	uint32_t e0 = new_unit(&p), e1 = new_unit(&p);
	p.work[LATENCY_ALU].units = e0 | e1;
	p.work[LATENCY_LOAD].units = e0 | e1;
	p.work[LATENCY_STORE].units = e0;
	p.work[LATENCY_BRANCH].units = e1;
	set_latency(&p, LATENCY_LOAD, 2);
	p.store_load_gap_cycles = 2;
	return p;
}

enum { T0, T1, T2, T4, T5, T6, A0, V0 };

/* Figure 2: the copy loop, 009810 to 009840. Figure 7 has its M. */
#define COPY_LOOP                                                                                  \
	{                                                                                          \
		load(T4, T1), alu(T0, T0, NO_REGISTER), load(T5, T1), load(T6, T1), load(A0, T1),  \
			alu(T1, T1, NO_REGISTER), store(T4, T2), alu(T4, T0, V0), store(T5, T2),   \
			store(T6, T2), store(A0, T2), alu(T2, T2, NO_REGISTER), branch(T4)         \
	}
static const double copy_loop_heads[] = { 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1 };

static void the_copy_loop_is_scheduled_as_in_the_paper(void **state)
{
	(void)state;
	const struct pipeline p = alpha_21164();
	const struct instruction_effects loop[] = COPY_LOOP;
	struct scheduled out[COUNT_OF(loop)];
	double best = 0;
	schedule_block(&p, loop, COUNT_OF(loop), NULL, out, NULL, NULL);
	expect_heads(out, copy_loop_heads, COUNT_OF(loop));
	for (size_t i = 0; i < COUNT_OF(loop); i++)
		best += out[i].head_cycles;
	assert_true(best == 8); /* "Best-case 8/13 = 0.62CPI" */
	/* "the 21164 not being able to dual-issue adjacent stq instructions" */
	expect_wait(&out[9], SCHEDULE_SLOTTING, 8);
	expect_wait(&out[10], SCHEDULE_SLOTTING, 9);
}

/* 6.1.3: "M for the ldq at 009810 should be 2 ... two cycles after the stq at 009838". */
static void the_copy_loop_knows_its_last_round(void **state)
{
	(void)state;
	const struct pipeline p = alpha_21164();
	const struct instruction_effects loop[] = COPY_LOOP;
	struct scheduled out[COUNT_OF(loop)];
	struct schedule_state round;
	schedule_block(&p, loop, COUNT_OF(loop), NULL, out, NULL, &round);
	round.group_ended = true;
	schedule_block(&p, loop, COUNT_OF(loop), &round, out, NULL, &round);
	assert_true(out[0].head_cycles == 2);
	expect_wait(&out[0], SCHEDULE_UNIT, SCHEDULE_BEFORE);
	expect_heads(out + 1, copy_loop_heads + 1, COUNT_OF(loop) - 1);
}

/* ---- one thing at a time */

static void a_chain_waits_for_its_operands(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(4);
	const struct instruction_effects ops[] = { work(LATENCY_MULTIPLY, 1, 0, 0),
						   work(LATENCY_MULTIPLY, 2, 1, 0), alu(3, 5, 6),
						   alu(4, 2, 1) };
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_bounds bounds;
	set_latency(&p, LATENCY_MULTIPLY, 3);
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	expect_heads(out, (const double[]){ 1, 3, 0, 3 }, COUNT_OF(ops));
	expect_wait(&out[0], SCHEDULE_WAITS_NOT, SCHEDULE_BEFORE);
	expect_wait(&out[1], SCHEDULE_OPERAND, 0);
	assert_int_equal(out[1].wait_register, 1);
	expect_wait(&out[2], SCHEDULE_WAITS_NOT, SCHEDULE_BEFORE);
	expect_wait(&out[3], SCHEDULE_OPERAND, 1);
	assert_int_equal(out[3].wait_register, 2);
	assert_true(bounds.latency_cycles == 7);
	assert_true(bounds.width_cycles == 1);
	assert_true(bounds.unit_cycles == 0);
}

static void width_one_and_two(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(1);
	const struct instruction_effects ops[] = { alu(1, 0, 0), alu(2, 0, 0), alu(3, 0, 0),
						   alu(4, 0, 0) };
	struct scheduled out[COUNT_OF(ops)];
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 1, 1, 1 }, COUNT_OF(ops));
	expect_wait(&out[3], SCHEDULE_SLOTTING, 2);
	p.issue_width = 2;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 0, 1, 0 }, COUNT_OF(ops));
}

static void operands_are_named_before_slots(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(2);
	const struct instruction_effects ops[] = { alu(1, 0, 0), alu(2, 0, 0), alu(3, 2, 1) };
	struct scheduled out[COUNT_OF(ops)];
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_wait(&out[2], SCHEDULE_OPERAND, 0); /* register 1, the first of two that decide */
	assert_int_equal(out[2].wait_register, 1);
}

static void a_busy_unit_is_waited_for(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(2);
	const struct instruction_effects ops[] = { work(LATENCY_DIVIDE, 1, 0, 0), alu(2, 0, 0),
						   work(LATENCY_DIVIDE, 3, 0, 0), alu(4, 0, 0) };
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_bounds bounds;
	p.work[LATENCY_DIVIDE].units = new_unit(&p);
	p.work[LATENCY_DIVIDE].busy_cycles = 10;
	set_latency(&p, LATENCY_DIVIDE, 12);
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	expect_heads(out, (const double[]){ 1, 0, 10, 0 }, COUNT_OF(ops));
	expect_wait(&out[2], SCHEDULE_UNIT, 0);
	assert_true(bounds.unit_cycles == 20);
}

/* The ALU operation gives way to the shift, whichever comes first. */
static void units_are_given_out_by_matching(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(3);
	const struct instruction_effects ops[] = { alu(1, 0, 0), work(LATENCY_SHIFT, 2, 0, 0),
						   alu(3, 0, 0) };
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_bounds bounds;
	uint32_t first = new_unit(&p), second = new_unit(&p);
	p.work[LATENCY_ALU].units = first | second;
	p.work[LATENCY_SHIFT].units = first;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	expect_heads(out, (const double[]){ 1, 0, 1 }, COUNT_OF(ops));
	expect_wait(&out[2], SCHEDULE_SLOTTING, 1);
	assert_true(bounds.unit_cycles == 1.5);
}

static void memory_operands_need_a_memory_unit(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(4);
	struct instruction_effects ops[] = { alu(1, 1, 2), alu(3, 3, 2), alu(4, 1, 1),
					     alu(5, 5, 2) };
	struct schedule_bounds bounds;
	struct scheduled out[COUNT_OF(ops)];
	p.work[LATENCY_LOAD].units = p.work[LATENCY_STORE].units = new_unit(&p);
	p.load_operand_cycles = 3;
	ops[0].reads_memory = true;
	ops[1].reads_memory = ops[1].writes_memory = true; /* in place: one access */
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	expect_heads(out, (const double[]){ 1, 1, 3, 0 }, COUNT_OF(ops));
	assert_true(bounds.unit_cycles == 2);
	expect_wait(&out[1], SCHEDULE_SLOTTING, 0);
	expect_wait(&out[2], SCHEDULE_OPERAND, 0);
}

static void memory_without_a_unit_is_not_waited_for(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(4);
	struct instruction_effects ops[] = { alu(1, 2, 2), alu(3, 2, 2), store(1, 2), load(5, 2) };
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_bounds bounds;
	ops[0].reads_memory = ops[1].reads_memory = ops[1].writes_memory = true;
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_STORE_DATA] = 0;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	expect_heads(out, (const double[]){ 1, 0, 0, 0 }, COUNT_OF(ops));
	assert_true(bounds.unit_cycles == 0);
}

static void a_group_ends_behind_a_branch(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(4);
	const struct instruction_effects ops[] = { alu(1, 0, 0), branch(FLAGS), alu(2, 0, 0) };
	struct scheduled out[COUNT_OF(ops)];
	p.work[LATENCY_BRANCH].ends_group = true;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 0, 1 }, COUNT_OF(ops));
	expect_wait(&out[2], SCHEDULE_SLOTTING, 1);
}

static void uses_have_latencies_of_their_own(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(8);
	const struct instruction_effects ops[] = { alu(1, 0, 0), alu(2, 1, 0), store(1, 5),
						   work(LATENCY_MULTIPLY, 4, 1, 0), load(3, 1) };
	struct scheduled out[COUNT_OF(ops)];
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_STORE_DATA] = 2;
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_FACTOR] = 4;
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_ADDRESS] = 5;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 1, 1, 2, 1 }, COUNT_OF(ops));
}

static void a_moved_address_is_there_before_the_data(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(8);
	struct instruction_effects ops[] = { load(1, 0), alu(2, 0, 0), alu(3, 1, 1) };
	struct scheduled out[COUNT_OF(ops)];
	set_latency(&p, LATENCY_LOAD, 4);
	add(&ops[0].writes, 0); /* ldr x1, [x0], #8 */
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 1, 3 }, COUNT_OF(ops));

	const struct instruction_effects chase[] = { load(0, 0), load(0, 0) }; /* ldr x0, [x0] */
	schedule_block(&p, chase, COUNT_OF(chase), NULL, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 4 }, COUNT_OF(chase));
}

/* ---- what ran before */

static void the_block_before_is_remembered(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(2);
	struct instruction_effects before[] = { work(LATENCY_MULTIPLY, 1, 0, 0), alu(2, 0, 0),
						alu(3, 0, 0) };
	const struct instruction_effects after[] = { alu(4, 0, 0), alu(5, 1, 0) };
	struct scheduled out[COUNT_OF(before)];
	struct schedule_state edge;
	set_latency(&p, LATENCY_MULTIPLY, 4);
	schedule_block(&p, before, COUNT_OF(before), NULL, out, NULL, &edge);
	assert_int_equal(edge.pending_count, 2); /* 1 in 3 cycles less one; 3 in the next */
	assert_int_equal(edge.issued, 1);
	assert_int_equal(edge.left_out, 0);

	/* falls through: issues with the last one, cycle -1; the product is there in cycle 2 */
	schedule_block(&p, after, COUNT_OF(after), &edge, out, NULL, NULL);
	assert_int_equal(out[0].issue_cycle, -1);
	expect_heads(out, (const double[]){ 0, 3 }, COUNT_OF(after));
	expect_wait(&out[1], SCHEDULE_OPERAND, SCHEDULE_BEFORE);

	edge.group_ended = true; /* jumps there */
	schedule_block(&p, after, COUNT_OF(after), &edge, out, NULL, NULL);
	expect_heads(out, (const double[]){ 1, 2 }, COUNT_OF(after));
}

static void a_unit_stays_busy_over_the_edge(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(2);
	const struct instruction_effects ops[] = { work(LATENCY_DIVIDE, 1, 0, 0) };
	struct scheduled out[1];
	struct schedule_state edge;
	p.work[LATENCY_DIVIDE].units = new_unit(&p);
	p.work[LATENCY_DIVIDE].busy_cycles = 10;
	schedule_block(&p, ops, 1, NULL, out, NULL, &edge);
	schedule_block(&p, ops, 1, &edge, out, NULL, NULL);
	assert_int_equal(out[0].issue_cycle, 9);
	expect_wait(&out[0], SCHEDULE_UNIT, SCHEDULE_BEFORE);
	/* through a block of nothing, the same */
	schedule_block(&p, ops, 0, &edge, out, NULL, &edge);
	schedule_block(&p, ops, 1, &edge, out, NULL, NULL);
	assert_int_equal(out[0].issue_cycle, 9);
}

static void registers_that_do_not_fit_the_state_are_counted(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(16);
	struct instruction_effects ops[SCHEDULE_PENDING + 3];
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_state edge;
	set_latency(&p, LATENCY_LOAD, 50);
	set_latency(&p, LATENCY_MULTIPLY, 90);
	for (size_t i = 0; i < COUNT_OF(ops); i++)
		ops[i] = work(i % 2 ? LATENCY_MULTIPLY : LATENCY_ALU, (int)i, NO_REGISTER,
			      NO_REGISTER);
	for (size_t i = 0; i < COUNT_OF(ops); i += 2)
		ops[i].class = LATENCY_LOAD;
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, NULL, &edge);
	assert_int_equal(edge.pending_count, SCHEDULE_PENDING);
	assert_int_equal(edge.left_out, 3);
	size_t late = 0;
	for (size_t i = 0; i < SCHEDULE_PENDING; i++)
		late += edge.pending[i].number % 2;
	assert_int_equal(late, COUNT_OF(ops) / 2); /* none of the long ones is missing */
}

/* ---- out of order */

static void out_of_order_costs_are_of_the_width(void **state)
{
	(void)state;
	struct pipeline p = plain_machine(4);
	const struct instruction_effects ops[] = { load(1, 0),	 alu(2, 1, 1), alu(3, 0, 0),
						   alu(4, 2, 3), alu(5, 0, 0), alu(6, 0, 0),
						   alu(7, 0, 0), alu(8, 0, 0) };
	struct scheduled out[COUNT_OF(ops)];
	struct schedule_bounds bounds;
	double sum = 0;
	p.in_order = false;
	p.work[LATENCY_ALU].units = new_unit(&p) | new_unit(&p);
	p.work[LATENCY_LOAD].units = new_unit(&p);
	set_latency(&p, LATENCY_LOAD, 4);
	schedule_block(&p, ops, COUNT_OF(ops), NULL, out, &bounds, NULL);
	for (size_t i = 0; i < COUNT_OF(ops); i++)
		sum += out[i].head_cycles;
	assert_true(sum == 2);
	assert_int_equal(out[1].issue_cycle, 4);
	expect_wait(&out[1], SCHEDULE_OPERAND, 0);
	assert_int_equal(out[2].issue_cycle, 0); /* passes the one that waits */
	assert_int_equal(out[3].issue_cycle, 5);
	assert_int_equal(out[4].issue_cycle, 1);
	assert_true(bounds.width_cycles == 2);
	assert_true(bounds.unit_cycles == 3.5);
	assert_true(bounds.latency_cycles == 6);
}

/* ---- properties */

#define LONGEST_BLOCK 24

static size_t random_block(struct random_state *seed, struct instruction_effects *ops)
{
	static const enum latency_class classes[] = {
		LATENCY_MOVE, LATENCY_ALU,    LATENCY_ALU,     LATENCY_SHIFT,	 LATENCY_LEA,
		LATENCY_LOAD, LATENCY_LOAD,   LATENCY_STORE,   LATENCY_MULTIPLY, LATENCY_FP_ADD,
		LATENCY_CALL, LATENCY_DIVIDE, LATENCY_FP_ROOT, LATENCY_BRANCH,
	};
	size_t count = 1 + random_below(seed, LONGEST_BLOCK);
	for (size_t i = 0; i < count; i++) {
		enum latency_class class = classes[random_below(seed, COUNT_OF(classes))];
		int to = (int)(random_below(seed, 12)), a = (int)(random_below(seed, 12)),
		    b = (int)(random_below(seed, 12));
		switch (class) {
		case LATENCY_LOAD:
			ops[i] = load(to, a);
			break;
		case LATENCY_STORE:
			ops[i] = store(a, b);
			break;
		case LATENCY_BRANCH:
		case LATENCY_CALL:
			ops[i] = work(class, NO_REGISTER, a, NO_REGISTER);
			break;
		default:
			ops[i] = work(class, to, a, b);
			ops[i].reads_memory = random_below(seed, 6) == 0;
		}
	}
	return count;
}

static int32_t last_cycle(const struct pipeline *p, const struct instruction_effects *ops,
			  size_t count, const struct schedule_state *entry)
{
	struct scheduled out[LONGEST_BLOCK];
	schedule_block(p, ops, count, entry, out, NULL, NULL);
	return out[count - 1].issue_cycle;
}

static void heads_are_never_negative_and_add_up(void **state)
{
	(void)state;
	struct random_state seed = random_seed(1);
	struct instruction_effects ops[LONGEST_BLOCK];
	struct scheduled out[LONGEST_BLOCK];
	for (int round = 0; round < 3000; round++) {
		const struct pipeline *p =
			pipelines_at(pipelines, random_below(&seed, pipelines_count(pipelines)));
		struct schedule_state edge;
		struct schedule_bounds bounds;
		schedule_block(p, ops, random_block(&seed, ops), NULL, out, NULL, &edge);
		edge.group_ended |= round % 2;
		size_t count = random_block(&seed, ops);
		const struct schedule_state *entry = round % 3 ? &edge : NULL;
		schedule_block(p, ops, count, entry, out, &bounds, &edge);
		double sum = 0;
		for (size_t i = 0; i < count; i++) {
			assert_true(out[i].head_cycles >= 0);
			sum += out[i].head_cycles;
			assert_true(out[i].wait == SCHEDULE_WAITS_NOT ||
				    out[i].wait_for == SCHEDULE_BEFORE || out[i].wait_for < i);
			if (p->in_order && out[i].head_cycles == 0)
				assert_int_equal(out[i].wait, SCHEDULE_WAITS_NOT);
			if (p->in_order && out[i].head_cycles > (i == 0))
				assert_int_not_equal(out[i].wait, SCHEDULE_WAITS_NOT);
			if (p->in_order && i)
				assert_true(out[i].issue_cycle >= out[i - 1].issue_cycle);
		}
		if (!p->in_order)
			continue;
		assert_true(sum == out[count - 1].issue_cycle + 1);
		if (!entry) {
			assert_true(sum >= bounds.width_cycles);
			assert_true(out[0].head_cycles == 1);
		}
	}
}

static void longer_latencies_never_shorten_a_block(void **state)
{
	(void)state;
	struct random_state seed = random_seed(2);
	struct instruction_effects ops[LONGEST_BLOCK];
	for (int round = 0; round < 4000; round++) {
		struct pipeline p = *pipelines_by_name(pipelines, round % 2 ? "cortex-a55"
									    : "generic-in-order");
		size_t count = random_block(&seed, ops);
		int32_t before = last_cycle(&p, ops, count, NULL);
		unsigned row = (unsigned)(random_below(&seed, PIPELINE_ROWS));
		for (unsigned use = 0; use < PIPELINE_USES; use++)
			p.work[row].latency_cycles[use] += 1 + (uint32_t)(random_below(&seed, 5));
		assert_true(last_cycle(&p, ops, count, NULL) >= before);
	}
}

static void a_wider_machine_is_never_slower(void **state)
{
	(void)state;
	struct random_state seed = random_seed(3);
	struct instruction_effects ops[LONGEST_BLOCK];
	for (int round = 0; round < 4000; round++) {
		struct pipeline p = *pipelines_by_name(pipelines, "cortex-a53");
		size_t count = random_block(&seed, ops);
		p.issue_width = 1;
		int32_t one = last_cycle(&p, ops, count, NULL);
		p.issue_width = 2;
		int32_t two = last_cycle(&p, ops, count, NULL);
		assert_true(two <= one);
		assert_true(one + 1 >= (int32_t)count);
	}
}

/* A block cut in two, with the state handed over, is the block. */
static void a_cut_block_is_the_whole_one(void **state)
{
	(void)state;
	struct random_state seed = random_seed(4);
	struct instruction_effects ops[LONGEST_BLOCK];
	struct scheduled whole[LONGEST_BLOCK], parts[LONGEST_BLOCK];
	for (int round = 0; round < 4000; round++) {
		const struct pipeline *p =
			pipelines_at(pipelines, random_below(&seed, pipelines_count(pipelines)));
		size_t count = random_block(&seed, ops), cut = random_below(&seed, count + 1);
		struct schedule_state edge;
		schedule_block(p, ops, count, NULL, whole, NULL, NULL);
		schedule_block(p, ops, cut, NULL, parts, NULL, &edge);
		schedule_block(p, ops + cut, count - cut, &edge, parts + cut, NULL, NULL);
		for (size_t i = 0; i < count; i++)
			assert_true(parts[i].head_cycles == whole[i].head_cycles);
	}
}

/*
 * The simulated machine, told again in other words: two a cycle, one of them to
 * memory, nothing behind a branch; operands alone are waited for.
 */
static void the_simulated_machine_is_the_generic_in_order_one(void **state)
{
	(void)state;
	struct random_state seed = random_seed(5);
	struct instruction_effects ops[LONGEST_BLOCK];
	struct scheduled out[LONGEST_BLOCK];
	const struct pipeline *p = pipelines_by_name(pipelines, "generic-in-order");
	for (int round = 0; round < 4000; round++) {
		size_t count = random_block(&seed, ops);
		int ready[16] = { 0 }, t = 0, issued = 0, memory = 0;
		schedule_block(p, ops, count, NULL, out, NULL, NULL);
		for (size_t i = 0; i < count; i++) {
			const struct instruction_effects *op = &ops[i];
			bool access = op->reads_memory || op->writes_memory;
			int latency = op->class == LATENCY_DIVIDE     ? 20
				      : op->class == LATENCY_MULTIPLY ? 3
				      : op->class == LATENCY_FP_ROOT  ? 18
				      : op->class == LATENCY_FP_ADD   ? 4
								      : 1;
			int earliest = t;
			for (int r = 0; r < 16; r++)
				if (op->reads.bits[0] >> r & 1 && ready[r] > earliest)
					earliest = ready[r];
			if (earliest > t || issued >= 2 || (access && memory)) {
				t = earliest > t ? earliest : t + 1;
				issued = memory = 0;
			}
			issued++;
			memory += access;
			assert_int_equal(out[i].issue_cycle, t);
			for (int r = 0; r < 16; r++)
				if (op->writes.bits[0] >> r & 1)
					ready[r] = t + latency + (op->reads_memory ? 3 : 0);
			if (op->class == LATENCY_BRANCH || op->class == LATENCY_CALL) {
				t++;
				issued = memory = 0;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_loop_is_scheduled_as_in_the_paper),
		cmocka_unit_test(the_copy_loop_knows_its_last_round),
		cmocka_unit_test(a_chain_waits_for_its_operands),
		cmocka_unit_test(width_one_and_two),
		cmocka_unit_test(operands_are_named_before_slots),
		cmocka_unit_test(a_busy_unit_is_waited_for),
		cmocka_unit_test(units_are_given_out_by_matching),
		cmocka_unit_test(memory_operands_need_a_memory_unit),
		cmocka_unit_test(memory_without_a_unit_is_not_waited_for),
		cmocka_unit_test(a_group_ends_behind_a_branch),
		cmocka_unit_test(uses_have_latencies_of_their_own),
		cmocka_unit_test(a_moved_address_is_there_before_the_data),
		cmocka_unit_test(the_block_before_is_remembered),
		cmocka_unit_test(a_unit_stays_busy_over_the_edge),
		cmocka_unit_test(registers_that_do_not_fit_the_state_are_counted),
		cmocka_unit_test(out_of_order_costs_are_of_the_width),
		cmocka_unit_test(heads_are_never_negative_and_add_up),
		cmocka_unit_test(longer_latencies_never_shorten_a_block),
		cmocka_unit_test(a_wider_machine_is_never_slower),
		cmocka_unit_test(a_cut_block_is_the_whole_one),
		cmocka_unit_test(the_simulated_machine_is_the_generic_in_order_one),
	};
	return cmocka_run_group_tests(tests, read_tables, free_tables);
}
