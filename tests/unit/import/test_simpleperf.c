#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "import/perf_data/simpleperf.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "support/test_profile.h"

struct symbol {
	uint64_t vaddr;
	uint32_t size;
	const char *name;
};

static const struct simpleperf_bases nowhere = { 0 };

static void put_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text) + 1);
}

/* One entry of FILE; the offset is left out by old versions. */
static void put_file(struct buffer *out, const char *path, uint32_t type, uint64_t min_vaddr,
		     const uint64_t *offset, const struct symbol *symbols, uint32_t count)
{
	CLEANUP(buffer_release) struct buffer entry = { 0 };
	put_text(&entry, path);
	buffer_append_u32(&entry, type);
	buffer_append_u64(&entry, min_vaddr);
	buffer_append_u32(&entry, count);
	for (uint32_t i = 0; i < count; i++) {
		buffer_append_u64(&entry, symbols[i].vaddr);
		buffer_append_u32(&entry, symbols[i].size);
		put_text(&entry, symbols[i].name);
	}
	if (type == 3) {
		buffer_append_u32(&entry, 1);
		buffer_append_u64(&entry, 0x2c);
	}
	if (offset)
		buffer_append_u64(&entry, *offset);
	buffer_append_u32(out, (uint32_t)entry.size);
	buffer_append(out, entry.data, entry.size);
}

static void put_bytes_field(struct buffer *out, unsigned number, const void *bytes, size_t size)
{
	buffer_append_varint(out, number << 3 | 2);
	buffer_append_varint(out, size);
	buffer_append(out, bytes, size);
}

static void put_number_field(struct buffer *out, unsigned number, uint64_t value)
{
	buffer_append_varint(out, number << 3);
	buffer_append_varint(out, value);
}

static void put_file2(struct buffer *out, const char *path, uint64_t min_vaddr, uint64_t offset,
		      const struct symbol *symbols, uint32_t count)
{
	CLEANUP(buffer_release) struct buffer entry = { 0 };
	CLEANUP(buffer_release) struct buffer elf = { 0 };
	put_bytes_field(&entry, 1, path, strlen(path));
	put_number_field(&entry, 2, 2);
	put_number_field(&entry, 3, min_vaddr);
	for (uint32_t i = 0; i < count; i++) {
		CLEANUP(buffer_release) struct buffer symbol = { 0 };
		put_number_field(&symbol, 1, symbols[i].vaddr);
		put_number_field(&symbol, 2, symbols[i].size);
		put_bytes_field(&symbol, 3, symbols[i].name, strlen(symbols[i].name));
		put_bytes_field(&entry, 4, symbol.data, symbol.size);
	}
	put_number_field(&elf, 1, offset);
	put_bytes_field(&entry, 6, elf.data, elf.size);
	put_number_field(&entry, 99, 7); /* of a later version */
	buffer_append_u32(out, (uint32_t)entry.size);
	buffer_append(out, entry.data, entry.size);
}

static uint32_t add_image(struct test_profile *test, enum image_kind kind, enum vaddr_space space,
			  const char *path, uint64_t vaddr)
{
	const struct profile_image image = { .kind = kind,
					     .space = space,
					     .name = span_of_text(path) };
	test_image_full(test, &image);
	test_address(test, vaddr, 1, 1);
	return test->image;
}

static struct test_profile new_profile(void)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("app") });
	return test;
}

static void assert_name(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			const char *name)
{
	struct stash_function function;
	bool found = stash_find_function(index, image, vaddr, &function);
	assert_int_equal(found, name != NULL);
	if (found && name)
		assert_true(span_equal(function.function.name, span_of_text(name)));
}

static struct span span_of(const struct buffer *buffer)
{
	return (struct span){ buffer->data, buffer->size };
}

static void functions_are_named_where_the_image_has_them(void **state)
{
	(void)state;
	static const struct symbol work[] = { { 0x2010, 0x10, "_Z4workv" }, { 0x2080, 8, "cold" } };
	static const struct symbol kernel[] = { { 0xffff000000001000, 0x100, "schedule" } };
	static const struct symbol clock[] = { { 0x5a0, 0x20, "__kernel_gettimeofday" } };
	static const struct symbol dex[] = { { 0x6a2, 46, "java.lang.Thread.run" } };
	static const struct symbol jitted[] = { { 0x9c9eb7f0, 332, "App.run" } };
	const uint64_t offset = 0x800;
	CLEANUP(buffer_release) struct buffer files = { 0 };
	CLEANUP(buffer_release) struct buffer files2 = { 0 };
	CLEANUP(simpleperf_release) struct simpleperf simpleperf = { 0 };
	put_file(&files, "[kernel.kallsyms]", 0, 0, NULL, kernel, 1);
	put_file(&files, "/lib/new.so", 2, 0x2000, &offset, work, 2);
	put_file(&files, "/lib/old.so", 2, 0x2000, NULL, work, 2);
	put_file(&files, "/app/base.oat", 2, 0x2000, NULL, work, 2);
	put_file(&files, "[vdso]", 2, 0, NULL, clock, 1);
	put_file(&files, "/app/base.vdex", 3, 0, NULL, dex, 1);
	put_file(&files, "perf.data_jit_app_cache:0-784", 2, 0, &(uint64_t){ 0 }, jitted, 1);
	put_file2(&files2, "/lib/newest.so", 0x2000, 0x1000, work, 2);
	assert_int_equal(simpleperf_take_feature(&simpleperf, SIMPLEPERF_FILE, span_of(&files)), 0);
	assert_int_equal(simpleperf_take_feature(&simpleperf, SIMPLEPERF_FILE2, span_of(&files2)),
			 0);

	struct test_profile test = new_profile();
	uint32_t core = add_image(&test, IMAGE_KERNEL, SPACE_TEXT, "", 0x1010);
	uint32_t new = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/lib/new.so", 0x81f);
	uint32_t old = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/lib/old.so", 0x10);
	uint32_t oat = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/app/base.oat", 0x7010);
	uint32_t vdso = add_image(&test, IMAGE_VDSO, SPACE_ELF, "[vdso]", 0x5a4);
	uint32_t newest = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/lib/newest.so", 0x1018);
	uint32_t vdex = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/app/base.vdex", 0x6be);
	uint32_t jit = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "perf.data_jit_app_cache:0-784",
				 0x9c9eb7f4);
	/* what old versions do not tell, the mapping does */
	uint64_t offsets[16] = { [0] = 0 };
	offsets[oat] = 0x7000;
	const struct simpleperf_bases bases = { 0xffff000000000000, offsets };
	size_t names;
	assert_int_equal(simpleperf_name_images(&simpleperf, test.profile, &bases, &names), 0);
	assert_int_equal(names, 8);
	assert_int_equal(simpleperf.bad, 0);
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_name(index, core, 0x10ff, "schedule");
	assert_name(index, new, 0x810, "_Z4workv");
	assert_name(index, new, 0x820, NULL);
	assert_name(index, new, 0x880, NULL); /* nobody sampled it */
	assert_name(index, old, 0x10, "_Z4workv");
	assert_name(index, oat, 0x701f, "_Z4workv");
	assert_name(index, oat, 0x10, NULL);
	assert_name(index, vdso, 0x5bf, "__kernel_gettimeofday");
	assert_name(index, newest, 0x101f, "_Z4workv");
	assert_name(index, vdex, 0x6be, "java.lang.Thread.run");
	assert_name(index, jit, 0x9c9eb7f4, "App.run");
	profile_free(test.profile);
}

static void records_of_old_versions_name_functions_too(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer dso = { 0 };
	CLEANUP(buffer_release) struct buffer symbol = { 0 };
	CLEANUP(buffer_release) struct buffer kernel = { 0 };
	CLEANUP(simpleperf_release) struct simpleperf simpleperf = { 0 };
	static const char table[] = "ffff000000000000 T _stext\nffff000000001000 T schedule\n"
				    "ffff000000002000 T other\n";
	buffer_append_u32(&dso, SIMPLEPERF_DSO);
	buffer_append_u32(&dso, 0);
	buffer_append_u64(&dso, 2);
	buffer_append_u64(&dso, 7);
	buffer_append_u64(&dso, 0x400000);
	put_text(&dso, "/data/t2");
	buffer_append_u32(&symbol, SIMPLEPERF_SYMBOL);
	buffer_append_u32(&symbol, 0);
	buffer_append_u64(&symbol, 0x400500);
	buffer_append_u64(&symbol, 0x20);
	buffer_append_u64(&symbol, 7);
	put_text(&symbol, "main");
	buffer_append_u32(&kernel, SIMPLEPERF_KERNEL_SYMBOL);
	buffer_append_u32(&kernel, 0);
	buffer_append_u32(&kernel, sizeof(table) - 1);
	buffer_append_text(&kernel, table);
	assert_int_equal(simpleperf_take_record(&simpleperf, span_of(&dso)), 0);
	assert_int_equal(simpleperf_take_record(&simpleperf, span_of(&symbol)), 0);
	assert_int_equal(simpleperf_take_record(&simpleperf, span_of(&kernel)), 0);

	struct test_profile test = new_profile();
	uint32_t image = add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/data/t2", 0x510);
	uint32_t core = add_image(&test, IMAGE_KERNEL, SPACE_PROCESS, "", 0xffff000000001004);
	size_t names;
	assert_int_equal(simpleperf_name_images(&simpleperf, test.profile, &nowhere, &names), 0);
	assert_int_equal(names, 2);
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	assert_int_equal(stash_index_new(test.profile, &index), 0);
	assert_name(index, image, 0x51f, "main");
	assert_name(index, core, 0xffff000000001004, "schedule");
	profile_free(test.profile);
}

static void events_are_named_by_the_meta_information(void **state)
{
	(void)state;
	static const char meta[] = "clockid\0monotonic\0event_type_info\0"
				   "cpu-cycles,0,0\ncpu/a=1,b=2/,8,17\nbroken\0product_props\0x\0";
	CLEANUP(simpleperf_release) struct simpleperf simpleperf = { 0 };
	struct simpleperf_event events[4];
	const struct span payload = { meta, sizeof(meta) - 1 };
	assert_int_equal(simpleperf_take_feature(&simpleperf, SIMPLEPERF_META_INFO, payload), 0);
	assert_int_equal(simpleperf_events(&simpleperf, events, 4), 2);
	assert_true(span_equal(events[0].name, span_of_text("cpu-cycles")));
	assert_true(span_equal(events[1].name, span_of_text("cpu/a=1,b=2/")));
	assert_int_equal(events[1].type, 8);
	assert_int_equal(events[1].config, 17);
	assert_int_equal(simpleperf_events(&simpleperf, events, 1), 1);
	assert_int_equal(simpleperf_events(&simpleperf, events, 0), 0);
	assert_true(span_equal(simpleperf_meta(&simpleperf, "product_props"), span_of_text("x")));
	assert_int_equal(simpleperf_meta(&simpleperf, "none").size, 0);
}

static void records_are_sized_by_both_halves(void **state)
{
	(void)state;
	const uint8_t header[] = { 0x07, 0x80, 0, 0, 2, 0, 0x34, 0x12 };
	assert_int_equal(simpleperf_record_size(header), 0x21234);
	const uint8_t small[] = { 0x07, 0x80, 0, 0, 0, 0, 7, 0 };
	assert_int_equal(simpleperf_record_size(small), 0);

	CLEANUP(buffer_release) struct buffer record = { 0 };
	struct simpleperf_id id;
	buffer_append_u32(&record, SIMPLEPERF_CALLCHAIN);
	buffer_append_u32(&record, 0);
	for (size_t i = 0; i < 5; i++)
		buffer_append_u64(&record, 1);
	assert_false(simpleperf_event_id(span_of(&record), 0, &id));

	record.size = 0;
	buffer_append_u32(&record, SIMPLEPERF_EVENT_ID);
	buffer_append_u32(&record, 0);
	buffer_append_u64(&record, 5); /* and one is there */
	buffer_append_u64(&record, 1);
	buffer_append_u64(&record, 77);
	assert_true(simpleperf_event_id(span_of(&record), 0, &id));
	assert_int_equal(id.attribute, 1);
	assert_int_equal(id.id, 77);
	assert_false(simpleperf_event_id(span_of(&record), 1, &id));
}

static void what_is_cut_is_counted_and_the_rest_kept(void **state)
{
	(void)state;
	static const struct symbol work[] = { { 0x10, 0x10, "work" } };
	CLEANUP(buffer_release) struct buffer files = { 0 };
	put_file(&files, "/a", 2, 0, NULL, work, 1);
	size_t whole = files.size;
	put_file(&files, "/b", 2, 0, NULL, work, 1);
	for (size_t size = 0; size < files.size; size++) {
		CLEANUP(simpleperf_release) struct simpleperf simpleperf = { 0 };
		struct test_profile test = new_profile();
		size_t names;
		add_image(&test, IMAGE_FILE, SPACE_OFFSET, "/a", 0x10);
		assert_int_equal(simpleperf_take_feature(&simpleperf, SIMPLEPERF_FILE,
							 (struct span){ files.data, size }),
				 0);
		assert_int_equal(
			simpleperf_name_images(&simpleperf, test.profile, &nowhere, &names), 0);
		assert_int_equal(names, size >= whole);
		assert_int_equal(simpleperf.bad, size != 0 && size != whole);
		profile_free(test.profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_named_where_the_image_has_them),
		cmocka_unit_test(records_of_old_versions_name_functions_too),
		cmocka_unit_test(events_are_named_by_the_meta_information),
		cmocka_unit_test(records_are_sized_by_both_halves),
		cmocka_unit_test(what_is_cut_is_counted_and_the_rest_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
