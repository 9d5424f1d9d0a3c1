/*
 * Issue cycles of random blocks against llvm-mca (LLVM's model of in-order cores),
 * where it is installed; skipped, with the reason, where it is not.
 *
 * LLVM's figures differ from our tables in some classes, and its in-order model
 * does what these cores do not: results are written in the order of the program, so
 * a short operation waits behind a long one that it does not depend on. The test sets
 * LLVM's latencies on its copy of a table, and asks for full agreement of blocks where
 * writing in order delays nothing (each result is written no earlier than the ones
 * before it in our schedule), and for a bound elsewhere.
 */
#include "analyze/flow/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"

#define BLOCKS	  600
#define LONGEST	  14
#define VECTORS	  32
#define TOOL	  "llvm-mca-14"
#define PER_CLASS 8

struct block {
	struct instruction_effects ops[LONGEST];
	char text[LONGEST][40];
	size_t count;
	int llvm_cycle[LONGEST];
};

static struct pipelines *pipelines;
static struct block blocks[BLOCKS];

static void add(struct register_set *set, unsigned number)
{
	set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

static const struct {
	enum latency_class class;
	const char *text; /* %1$u: written, %2$u and %3$u: read */
	bool vector;
} kinds[] = {
	{ LATENCY_ALU, "add x%1$u, x%2$u, x%3$u", false },
	{ LATENCY_ALU, "eor x%1$u, x%2$u, x%3$u", false },
	{ LATENCY_ALU, "sub x%1$u, x%2$u, x%3$u", false },
	{ LATENCY_LOAD, "ldr x%1$u, [x%2$u]", false },
	{ LATENCY_LOAD, "ldr x%1$u, [x%2$u, #16]", false },
	{ LATENCY_STORE, "str x%2$u, [x%3$u]", false },
	{ LATENCY_MULTIPLY, "mul x%1$u, x%2$u, x%3$u", false },
	{ LATENCY_FP_ADD, "fadd d%1$u, d%2$u, d%3$u", true },
	{ LATENCY_FP_MULTIPLY, "fmul d%1$u, d%2$u, d%3$u", true },
};

static void random_op(struct random_state *seed, struct instruction_effects *op, char *text,
		      size_t size)
{
	size_t kind = random_below(seed, COUNT_OF(kinds));
	unsigned base = kinds[kind].vector ? VECTORS : 0;
	unsigned to = (unsigned)random_below(seed, PER_CLASS);
	unsigned a = (unsigned)random_below(seed, PER_CLASS);
	unsigned b = (unsigned)random_below(seed, PER_CLASS);
	*op = (struct instruction_effects){ .class = kinds[kind].class };
	snprintf(text, size, kinds[kind].text, to, a, b);
	add(&op->reads, base + a);
	if (op->class == LATENCY_STORE) {
		add(&op->reads, b);
		add(&op->address, b);
		op->writes_memory = true;
		return;
	}
	add(&op->writes, base + to);
	if (op->class == LATENCY_LOAD) {
		add(&op->address, a);
		op->reads_memory = true;
	} else {
		add(&op->reads, base + b);
	}
}

static void make_blocks(void)
{
	struct random_state seed = random_seed(7);
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i].count = 2 + random_below(&seed, LONGEST - 1);
		for (size_t k = 0; k < blocks[i].count; k++)
			random_op(&seed, &blocks[i].ops[k], blocks[i].text[k],
				  sizeof(blocks[i].text[k]));
	}
}

static void ask_llvm(const char *cpu)
{
	char path[] = "/tmp/culprit-oracle-XXXXXX", command[256], line[256];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *file = fdopen(fd, "w");
	for (size_t i = 0; i < BLOCKS; i++) {
		fprintf(file, "# LLVM-MCA-BEGIN b%zu\n", i);
		for (size_t k = 0; k < blocks[i].count; k++)
			fprintf(file, "%s\n", blocks[i].text[k]);
		fprintf(file, "# LLVM-MCA-END\n");
	}
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command),
		 TOOL " -mtriple=aarch64 -mcpu=%s -iterations=1 -timeline -json "
		      "-timeline-max-cycles=0 %s",
		 cpu, path);
	FILE *said = popen(command, "r");
	assert_non_null(said);
	size_t block = 0, at = 0;
	while (fgets(line, sizeof(line), said)) {
		int cycle;
		if (sscanf(line, " \"CycleIssued\": %d", &cycle) != 1)
			continue;
		assert_true(block < BLOCKS);
		blocks[block].llvm_cycle[at++] = cycle;
		if (at == blocks[block].count) {
			at = 0;
			block++;
		}
	}
	assert_int_equal(pclose(said), 0);
	unlink(path);
	assert_int_equal(block, BLOCKS);
}

/* How long LLVM's in-order model takes from issue to writing; nothing may be written earlier after
 * it. */
static int llvm_written(bool a53, enum latency_class class)
{
	switch (class) {
	case LATENCY_ALU:
		return 3;
	case LATENCY_LOAD:
		return a53 ? 4 : 3;
	case LATENCY_STORE:
		return a53 ? 4 : 0; /* Cortex-A55's are marked as free of the order */
	case LATENCY_MULTIPLY:
		return 4;
	default:
		return a53 ? 6 : 4;
	}
}

/* Our table with what LLVM 14 has otherwise. */
static struct pipeline as_llvm(const char *cpu)
{
	struct pipeline p = *pipelines_by_name(pipelines, cpu);
	if (strcmp(cpu, "cortex-a53") == 0) {
		for (unsigned use = 0; use < PIPELINE_USES; use++) {
			p.work[LATENCY_FP_ADD].latency_cycles[use] = 6;
			p.work[LATENCY_FP_MULTIPLY].latency_cycles[use] = 6;
		}
		return p;
	}
	/* no forwarding to addresses and to what is stored, which later versions have */
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_ADDRESS] = 3;
	p.work[LATENCY_ALU].latency_cycles[PIPELINE_STORE_DATA] = 3;
	p.work[LATENCY_LOAD].latency_cycles[PIPELINE_ADDRESS] = 3;
	p.work[LATENCY_LOAD].latency_cycles[PIPELINE_STORE_DATA] = 3;
	p.work[LATENCY_MULTIPLY].latency_cycles[PIPELINE_ADDRESS] = 4;
	p.work[LATENCY_MULTIPLY].latency_cycles[PIPELINE_STORE_DATA] = 4;
	return p;
}

static bool writes_in_order(bool a53, const struct block *block, const struct scheduled *out)
{
	int last = 0;
	for (size_t k = 0; k < block->count; k++) {
		int takes = llvm_written(a53, block->ops[k].class);
		if (!takes)
			continue;
		if (out[k].issue_cycle + takes < last)
			return false;
		last = out[k].issue_cycle + takes;
	}
	return true;
}

static void print_block(size_t number, const struct scheduled *out)
{
	const struct block *block = &blocks[number];
	print_error("block %zu\n", number);
	for (size_t k = 0; k < block->count; k++)
		print_error("  %-24s ours %d, LLVM's %d\n", block->text[k], out[k].issue_cycle,
			    block->llvm_cycle[k]);
}

/*
 * Where writing in order delays nothing, every cycle is LLVM's. Elsewhere LLVM's may
 * be later, never earlier, and over all blocks by at most a quarter (Cortex-A53: an
 * addition behind a floating-point one waits three cycles for its turn to write).
 */
static void agrees_with_llvm(const char *cpu)
{
	bool a53 = strcmp(cpu, "cortex-a53") == 0;
	struct pipeline p = as_llvm(cpu);
	struct scheduled out[LONGEST];
	size_t same = 0;
	long ours = 0, llvms = 0;
	make_blocks();
	ask_llvm(cpu);
	for (size_t i = 0; i < BLOCKS; i++) {
		const struct block *block = &blocks[i];
		schedule_block(&p, block->ops, block->count, NULL, out, NULL, NULL);
		bool ordered = writes_in_order(a53, block, out);
		for (size_t k = 0; k < block->count; k++) {
			bool right = ordered ? out[k].issue_cycle == block->llvm_cycle[k]
					     : out[k].issue_cycle <= block->llvm_cycle[k];
			if (!right)
				print_block(i, out);
			assert_true(right);
		}
		same += ordered;
		ours += out[block->count - 1].issue_cycle + 1;
		llvms += block->llvm_cycle[block->count - 1] + 1;
	}
	print_message(
		"%s: %zu blocks of %d where all cycles must be LLVM's, and are; cycles of all "
		"blocks %ld, LLVM's %ld\n",
		cpu, same, BLOCKS, ours, llvms);
	assert_true(same >= 60);
	assert_true(4 * llvms <= 5 * ours);
}

static void cortex_a53_issues_as_in_llvm(void **state)
{
	(void)state;
	agrees_with_llvm("cortex-a53");
}

static void cortex_a55_issues_as_in_llvm(void **state)
{
	(void)state;
	agrees_with_llvm("cortex-a55");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cortex_a53_issues_as_in_llvm),
		cmocka_unit_test(cortex_a55_issues_as_in_llvm),
	};
	if (system(TOOL " --version >/dev/null 2>&1") != 0) {
		printf("skipped: no " TOOL " here, whose in-order models are compared with\n");
		return 77;
	}
	struct error err;
	if (pipelines_new(&pipelines, &err) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	pipelines_free(pipelines);
	return failed;
}
