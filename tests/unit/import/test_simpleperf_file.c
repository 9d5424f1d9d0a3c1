#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "import/perf_data/simpleperf.h"
#include "perf_data_fixture.h"
#include "profile/profile.h"
#include "profile/stash.h"

#define ELF 2
#define DEX 3

static void put_dso(struct perf_file *file, uint64_t type, uint64_t number, uint64_t min_vaddr,
		    const char *path)
{
	perf_record_begin(file, SIMPLEPERF_DSO, 0);
	perf_put_u64(file, type);
	perf_put_u64(file, number);
	perf_put_u64(file, min_vaddr);
	perf_put_text(file, path);
	perf_record_end(file);
}

static void put_symbol(struct perf_file *file, uint64_t number, uint64_t vaddr, uint64_t size,
		       const char *name)
{
	perf_record_begin(file, SIMPLEPERF_SYMBOL, 0);
	perf_put_u64(file, vaddr);
	perf_put_u64(file, size);
	perf_put_u64(file, number);
	perf_put_text(file, name);
	perf_record_end(file);
}

static void put_sample_at(struct perf_file *file, uint64_t ip, uint64_t caller)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, ip, caller };
	put_sample(file, USUAL_TYPE,
		   &(struct sample){ .ip = ip,
				     .time = 20,
				     .period = 1000,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_USER,
				     .chain = chain,
				     .depth = 3 });
}

/* The name of the one node at that vaddr, NULL without; fails when there is no such node. */
static void assert_node(const struct profile *profile, uint64_t vaddr, enum frame_kind kind,
			const char *name)
{
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	const struct table *nodes = profile_table(profile, PROFILE_NODE);
	size_t found = 0;
	assert_int_equal(stash_index_new(profile, &index), 0);
	for (size_t row = 0; row < nodes->count; row++) {
		const uint64_t *keys = table_keys(nodes, row);
		struct stash_function function;
		if (keys[NODE_VADDR] != vaddr)
			continue;
		found++;
		assert_int_equal(keys[NODE_KIND], kind);
		bool named = stash_find_function(index, (uint32_t)keys[NODE_IMAGE],
						 vaddr - (kind == FRAME_RETURN), &function);
		assert_int_equal(named, name != NULL);
		if (named && name)
			assert_true(span_equal(function.function.name, span_of_text(name)));
	}
	assert_int_equal(found, 1);
}

/* Dalvik's frames are of instructions that call: the first one of a method is in it. */
static void callers_in_dex_files_have_the_addresses_of_calls(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	begin_usual(&file);
	perf_put_mmap(&file, 7, 0x500000, 0x10000, 0, "/app/base.vdex", 12, 0);
	put_dso(&file, DEX, 1, 0, "/app/base.vdex");
	put_symbol(&file, 1, 0x100, 0x100, "App.before");
	put_symbol(&file, 1, 0x200, 0x40, "App.run");
	put_dso(&file, ELF, 2, 0x1000, "/bin/worker");
	put_symbol(&file, 2, 0x1080, 0x80, "interpret");
	put_symbol(&file, 2, 0x1100, 0x80, "after");
	put_sample_at(&file, TEXT + 0x30, 0x500200);
	put_sample_at(&file, 0x500200, TEXT + 0x100);
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	const struct table *nodes = profile_table(outcome.profile, PROFILE_NODE);
	assert_int_equal(nodes->count, 4);
	for (size_t row = 0; row < nodes->count; row++) {
		const uint64_t *keys = table_keys(nodes, row);
		if (keys[NODE_VADDR] == 0x200) /* as caller and as leaf */
			assert_int_equal(keys[NODE_KIND], FRAME_IP);
	}
	assert_node(outcome.profile, 0x1100, FRAME_RETURN, "interpret");
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	struct stash_function function;
	assert_int_equal(stash_index_new(outcome.profile, &index), 0);
	for (size_t row = 0; row < nodes->count; row++) {
		const uint64_t *keys = table_keys(nodes, row);
		if (keys[NODE_VADDR] != 0x200)
			continue;
		assert_true(
			stash_find_function(index, (uint32_t)keys[NODE_IMAGE], 0x200, &function));
		assert_true(span_equal(function.function.name, span_of_text("App.run")));
		assert_false(
			stash_find_function(index, (uint32_t)keys[NODE_IMAGE], 0x1ff, &function));
	}
}

/* One place is one node, whether it was sampled or called from. */
static void a_leaf_and_a_caller_of_dex_are_one_node(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	const uint64_t deep[] = { PERF_CONTEXT_USER, TEXT + 0x30, 0x500200 };
	const uint64_t leaf[] = { PERF_CONTEXT_USER, 0x500200 };
	begin_usual(&file);
	perf_put_mmap(&file, 7, 0x500000, 0x10000, 0, "/app/base.vdex", 12, 0);
	put_dso(&file, DEX, 1, 0, "/app/base.vdex");
	struct sample sample = { .ip = TEXT + 0x30,
				 .time = 20,
				 .period = 1000,
				 .pid = 7,
				 .mode = PERF_RECORD_MISC_USER,
				 .chain = deep,
				 .depth = 3 };
	put_sample(&file, USUAL_TYPE, &sample);
	sample.ip = 0x500200;
	sample.chain = leaf;
	sample.depth = 2;
	put_sample(&file, USUAL_TYPE, &sample);
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_node(outcome.profile, 0x200, FRAME_IP, NULL);
}

/* Tables of old versions have no offset of the text in its file: the mapping has. */
static void what_is_mapped_behind_its_files_start_is_named(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	begin_usual(&file);
	perf_put_mmap(&file, 7, 0x710000, 0x1000, 0x19000, "/app/base.oat", 12, 0);
	perf_put_mmap(&file, 7, 0x700000, 0x10000, 0x9000, "/app/base.oat", 12, 0);
	perf_put_mmap(&file, 7, 0x7fff0000, 0x2000, 0, "[vdso]", 13, 0);
	put_dso(&file, ELF, 1, 0x4000, "/app/base.oat");
	put_symbol(&file, 1, 0x4200, 0x40, "App.compiled");
	put_dso(&file, ELF, 2, 0, "[vdso]");
	put_symbol(&file, 2, 0x5a0, 0x20, "__kernel_gettimeofday");
	put_sample_at(&file, 0x7fff05a4, 0x700204);
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_node(outcome.profile, 0x9204, FRAME_RETURN, "App.compiled");
	assert_node(outcome.profile, 0x5a4, FRAME_IP, "__kernel_gettimeofday");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_in_dex_files_have_the_addresses_of_calls),
		cmocka_unit_test(a_leaf_and_a_caller_of_dex_are_one_node),
		cmocka_unit_test(what_is_mapped_behind_its_files_start_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
