/*
 * What compilers make of switches, computed gotos, calls that do not come back and cold
 * code, at each level: all jumps resolved, and no block left that nothing leads to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/flow/cfg.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "support/byte_space.h"
#include "support/elf_space.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

static const char *const compilers[] = { "gcc", "clang", "aarch64-linux-gnu-gcc" };
static const char *const levels[] = { "-O0", "-O1", "-O2", "-O3", "-Os" };
static const char *const links[] = { "-fno-pic -no-pie -Wl,-e,f -Wl,--no-undefined",
				     "-fPIC -shared" };

struct subject {
	struct built_file file;
	struct elf_space elf;
	struct cfg cfg;
};

static void subject_release(struct subject *subject)
{
	cfg_release(&subject->cfg);
	elf_space_release(&subject->elf);
	built_file_release(&subject->file);
}

/* Builds s.c as told and the graph of its function f. */
static void subject_build(struct subject *subject, const char *folder, const char *compiler,
			  const char *options)
{
	toolchain_run(folder, "%s -w -nostdlib %s s.c -o s", compiler, options);
	subject->file = toolchain_read(folder, "s");
	elf_space_init(&subject->elf, subject->file.bytes, subject->file.size_bytes);
	const struct code_function *function = elf_space_find(&subject->elf, "f");
	assert_non_null(function);
	struct decoder *decoder = NULL;
	assert_int_equal(decoder_new(subject->elf.space.isa, ISA_SYNTAX_ATT, &decoder, NULL), 0);
	assert_int_equal(
		cfg_build(&subject->elf.space, decoder, function->first, &subject->cfg, NULL), 0);
	decoder_free(decoder);
	cfg_check(&subject->cfg);
}

static bool is_padding(const struct cfg *cfg, uint32_t block)
{
	for (uint32_t i = 0; i < cfg->blocks[block].count; i++)
		if (!cfg->instructions[cfg->blocks[block].first + i].pads)
			return false;
	return true;
}

/* Blocks of code that only outside is known to lead to, but for the function's start. */
static size_t loose_blocks(const struct cfg *cfg)
{
	size_t count = 0;
	for (size_t i = 0; i < cfg->graph.edge_count; i++) {
		const struct flow_edge *edge = &cfg->graph.edges[i];
		count += edge->kind == FLOW_OTHER_ENTRY && !is_padding(cfg, edge->to);
	}
	return count;
}

/* A switch over every `step`th number from `first`; its cases cannot be merged or tabulated. */
static void write_switch(const char *folder, const char *type, int first, int step, int cases)
{
	char text[8192];
	int used = snprintf(
		text, sizeof(text),
		"__attribute__((noinline)) int g(int a) { __asm__ volatile(\"\"); return a; }\n"
		"int f(%s a, int b) { int r = g(b); switch (a) {\n",
		type);
	for (int i = 0; i < cases; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "case %d: __asm__ volatile(\"# %d %%0\" : \"+r\"(r)); r = g(r) + "
				 "%d; break;\n",
				 first + i * step, i, i * 3);
	snprintf(text + used, sizeof(text) - (size_t)used, "} return g(r) + 1; }\n");
	toolchain_write(folder, "s.c", text);
}

static void check_switch(const char *folder, const char *compiler, const char *options, int cases,
			 size_t *tables)
{
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_build(&subject, folder, compiler, options);
	const struct cfg *cfg = &subject.cfg;
	bool sound = !cfg->graph.missing_edges && loose_blocks(cfg) == 0 && cfg->jump_count <= 1;
	if (cfg->jump_count == 1)
		sound &= cfg->jumps[0].fate == CFG_JUMP_TABLE && cfg->jumps[0].is_bounded &&
			 cfg->jumps[0].target_count >= (uint32_t)cases &&
			 cfg->jumps[0].target_count <= (uint32_t)cases + 1;
	*tables += cfg->jump_count;
	if (!sound)
		fail_msg("%s %s: %zu jumps, fate %d, %u targets for %d cases, bounded %d, %zu "
			 "loose blocks",
			 compiler, options, cfg->jump_count,
			 cfg->jump_count ? (int)cfg->jumps[0].fate : -1,
			 cfg->jump_count ? cfg->jumps[0].target_count : 0, cases,
			 cfg->jump_count ? cfg->jumps[0].is_bounded : 0, loose_blocks(cfg));
}

static void switches_lead_to_all_their_cases(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		int first, step, cases;
	} switches[] = {
		{ "int", 0, 1, 20 },	       { "unsigned", 100, 1, 24 },     { "int", -5, 2, 20 },
		{ "unsigned char", 3, 1, 22 }, { "unsigned char", 0, 1, 256 }, { "long", 0, 1, 20 }
	};
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	size_t tables = 0, built = 0;
	for (size_t i = 0; i < COUNT_OF(switches); i++) {
		write_switch(folder.path, switches[i].type, switches[i].first, switches[i].step,
			     switches[i].cases % 256 ? switches[i].cases : 100);
		for (size_t j = 0; j < COUNT_OF(compilers) * COUNT_OF(levels) * 2; j++) {
			const char *compiler = compilers[j % 3];
			char options[128];
			/* a third of all for each switch; together they cover all pairs */
			if (!toolchain_has(compiler) || (j / 3 + i) % 3)
				continue;
			snprintf(options, sizeof(options), "%s %s", levels[j / 3 % 5],
				 links[j / 15]);
			check_switch(folder.path, compiler, options,
				     switches[i].cases % 256 ? switches[i].cases : 100, &tables);
			built++;
		}
	}
	if (!built)
		SKIP("no compiler here");
	assert_true(tables * 10 >= built * 8); /* else compilers made something else of them */
}

static const char interpreter[] =
	"__attribute__((noinline)) int g(int a) { __asm__ volatile(\"\"); return a; }\n"
	"int f(const unsigned char *p) { int r = 0;\n"
	"static const void *const t[] = { &&a, &&b, &&c, &&d, &&e, &&end };\n"
	"#define NEXT goto *t[*p++]\n"
	"NEXT; a: r += g(r + 1); NEXT; b: r = g(r * 5); NEXT; c: r ^= g(7); NEXT;\n"
	"d: if (g(r)) p++; NEXT; e: r = g(r - 3); NEXT; end: return r; }\n";

static void computed_gotos_lead_to_all_labels(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	size_t built = 0;
	toolchain_write(folder.path, "s.c", interpreter);
	for (size_t j = 0; j < COUNT_OF(compilers) * COUNT_OF(levels) * 2; j++) {
		const char *compiler = compilers[j % 3];
		char options[128];
		if (!toolchain_has(compiler))
			continue;
		snprintf(options, sizeof(options), "%s %s", levels[j / 3 % 5], links[j / 15]);
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_build(&subject, folder.path, compiler, options);
		assert_true(subject.cfg.jump_count > 0);
		for (size_t i = 0; i < subject.cfg.jump_count; i++) {
			const struct cfg_jump *jump = &subject.cfg.jumps[i];
			if (jump->target_count != 6)
				fail_msg("%s %s: jump %zu has fate %d and %u targets", compiler,
					 options, i, (int)jump->fate, jump->target_count);
		}
		assert_int_equal(loose_blocks(&subject.cfg), 0);
		built++;
	}
	if (!built)
		SKIP("no compiler here");
}

static const char throwing[] = "void abort(void) __attribute__((noreturn, cold)); int g(int);\n"
			       "int f(int a) { int r = g(a); if (r < 0) { g(r + 1); abort(); } if "
			       "(g(a + 1) == 3) abort();\n"
			       "return g(r) + 2; }\n";

static void what_aborts_ends_and_cold_code_belongs(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "s.c", throwing);
	static const char *const options[] = { "-O2 -fPIC -shared", "-O2 -fPIC -shared -fno-plt",
					       "-O0 -fPIC -shared" };
	size_t parts = 0, built = 0;
	for (size_t i = 0; i < 9; i++) {
		if (!toolchain_has(compilers[i % 3]))
			continue;
		CLEANUP(subject_release) struct subject subject = { 0 };
		subject_build(&subject, folder.path, compilers[i % 3], options[i / 3]);
		size_t ends = 0;
		for (size_t j = 0; j < subject.cfg.graph.edge_count; j++)
			ends += subject.cfg.graph.edges[j].kind == FLOW_NO_RETURN &&
				!is_padding(&subject.cfg, subject.cfg.graph.edges[j].from);
		assert_true(ends >= 1 && ends <= 2);
		assert_int_equal(loose_blocks(&subject.cfg), 0);
		assert_int_equal(subject.cfg.jump_count, 0);
		parts += subject.cfg.part_count - 1;
		built++;
	}
	if (!built)
		SKIP("no compiler here");
	if (toolchain_has("gcc"))
		assert_true(parts > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_lead_to_all_their_cases),
		cmocka_unit_test(computed_gotos_lead_to_all_labels),
		cmocka_unit_test(what_aborts_ends_and_cold_code_belongs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
