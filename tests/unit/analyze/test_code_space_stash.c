#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/flow/code_space_stash.h"
#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/stash.h"
#include "symbol/reader.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "support/toolchain.h"

static void add(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		uint64_t last, struct buffer *content)
{
	struct record record = { kind, first, last, { content->data, content->size } };
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
	buffer_release(content);
}

static void add_function(struct profile *profile, uint32_t image, uint64_t first, uint64_t last,
			 const char *name, uint64_t flags, uint64_t parent)
{
	struct buffer content = { 0 };
	record_put_function(&content, first,
			    &(struct function_record){ flags, parent, span_of_text(name) });
	add(profile, image, RECORD_FUNCTION, first, last, &content);
}

static void add_bytes(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		      const char *bytes)
{
	struct buffer content = { 0 };
	if (kind == RECORD_CODE)
		record_put_code(&content, span_of_text(bytes));
	else
		record_put_data(&content, span_of_text(bytes));
	add(profile, image, kind, first, first + strlen(bytes) - 1, &content);
}

static void add_callee(struct profile *profile, uint32_t image, uint64_t vaddr, const char *name)
{
	struct buffer content = { 0 };
	record_put_callee(&content, span_of_text(name));
	add(profile, image, RECORD_CALLEE, vaddr, vaddr, &content);
}

static void add_entries(struct profile *profile, uint32_t image, uint64_t first, uint64_t last,
			const struct entry_place *places, size_t count)
{
	struct buffer content = { 0 };
	record_put_entries(&content, first, places, count);
	add(profile, image, RECORD_ENTRIES, first, last, &content);
}

struct subject {
	struct test_profile test;
	uint32_t image;
	struct stash_index *index;
	struct code_space_stash *stash;
};

static struct subject new_subject(void)
{
	struct subject subject = { .test = test_profile_new() };
	subject.image = test_image(&subject.test, IMAGE_FILE, "p", "\1\2");
	return subject;
}

static const struct code_space *open_subject(struct subject *subject)
{
	assert_int_equal(stash_index_new(subject->test.profile, &subject->index), 0);
	assert_int_equal(
		code_space_stash_new(subject->index, subject->image, ISA_X86_64, &subject->stash),
		0);
	return code_space_of_stash(subject->stash);
}

static void subject_release(struct subject *subject)
{
	code_space_stash_free(subject->stash);
	stash_index_free(subject->index);
	profile_free(subject->test.profile);
}

static void assert_span(struct span span, const char *wanted)
{
	if (!span_equal(span, span_of_text(wanted)))
		fail_msg("'%.*s', not '%s'", (int)span.size, (const char *)span.data, wanted);
}

static void bytes_side_by_side_read_as_one(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = new_subject();
	struct profile *profile = subject.test.profile;
	uint32_t other = test_image(&subject.test, IMAGE_FILE, "q", "\3\4");
	add_bytes(profile, subject.image, RECORD_CODE, 100, "abcdef");
	add_bytes(profile, subject.image, RECORD_CODE, 106, "ghi");
	add_bytes(profile, subject.image, RECORD_DATA, 109, "jk");
	add_bytes(profile, subject.image, RECORD_DATA, 103, "defgh"); /* over two others */
	add_bytes(profile, subject.image, RECORD_DATA, 112, "mn");
	add_bytes(profile, subject.image, RECORD_CODE, UINT64_MAX - 1, "yz");
	add_bytes(profile, other, RECORD_CODE, 111, "L");
	const struct code_space *space = open_subject(&subject);
	assert_span(space->bytes(space->context, 100, 11), "abcdefghijk");
	assert_span(space->bytes(space->context, 100, 4), "abcd");
	assert_span(space->bytes(space->context, 105, SIZE_MAX), "fghijk");
	assert_span(space->bytes(space->context, 110, 9), "k");
	assert_span(space->bytes(space->context, 112, 9), "mn");
	assert_span(space->bytes(space->context, UINT64_MAX - 1, 9), "yz");
	assert_span(space->bytes(space->context, UINT64_MAX, 9), "z");
	assert_null(space->bytes(space->context, 111, 9).data);
	assert_null(space->bytes(space->context, 99, 9).data);
	assert_null(space->bytes(space->context, 100, 0).data);
	/* what was given stays */
	assert_ptr_equal(space->bytes(space->context, 100, 1).data,
			 space->bytes(space->context, 100, 2).data);
}

static void functions_are_told_with_their_cold_parts(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = new_subject();
	struct profile *profile = subject.test.profile;
	add_function(profile, subject.image, 100, 199, "f", 0, 0);
	add_function(profile, subject.image, 50, 59, "f.cold", FUNCTION_COLD, 100);
	add_function(profile, subject.image, 20, 35, "abort@plt", FUNCTION_PLT, 0);
	const struct code_space *space = open_subject(&subject);
	struct code_function function;
	assert_true(space->function(space->context, 199, &function));
	assert_int_equal(function.first, 100);
	assert_int_equal(function.last, 199);
	assert_false(function.is_cold || function.is_stub);
	assert_span(function.name, "f");
	assert_true(space->cold_part(space->context, 100, &function));
	assert_int_equal(function.first, 50);
	assert_true(function.is_cold);
	assert_int_equal(function.parent, 100);
	assert_false(space->cold_part(space->context, 50, &function));
	assert_true(space->function(space->context, 21, &function));
	assert_true(function.is_stub);
	assert_false(space->function(space->context, 200, &function));
	assert_int_equal(space->isa, ISA_X86_64);
}

static void entries_of_all_records_are_joined(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = new_subject();
	struct profile *profile = subject.test.profile;
	/* an outer function, one that nests in it, and the outer one as another file knew it */
	add_entries(profile, subject.image, 100, 199,
		    (struct entry_place[]){ { 150, ENTRY_POINTER }, { 160, ENTRY_JUMP } }, 2);
	add_entries(profile, subject.image, 100, 189,
		    (struct entry_place[]){ { 120, ENTRY_LANDING }, { 150, ENTRY_POINTER } }, 2);
	add_entries(
		profile, subject.image, 150, 170,
		(struct entry_place[]){ { 160, ENTRY_JUMP }, { 160, ENTRY_POINTER }, { 165, 9 } },
		3);
	add_entries(profile, subject.image, 300, 399, (struct entry_place[]){ { 301, ENTRY_JUMP } },
		    1);
	const struct code_space *space = open_subject(&subject);
	static const struct code_entry wanted[] = {
		{ 120, CODE_ENTRY_LANDING },
		{ 150, CODE_ENTRY_POINTER },
		{ 160, CODE_ENTRY_JUMP },
		{ 160, CODE_ENTRY_POINTER },
	};
	size_t count;
	const struct code_entry *entries = space->entries(space->context, 100, 199, &count);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(entries[i].vaddr, wanted[i].vaddr);
		assert_int_equal(entries[i].kind, wanted[i].kind);
	}
	/* the start is none of its own */
	assert_int_equal(space->entries(space->context, 150, 170, &count)[0].vaddr, 160);
	assert_int_equal(count, 2);
	space->entries(space->context, 155, 199, &count);
	assert_int_equal(count, 2);
	space->entries(space->context, 200, 300, &count);
	assert_int_equal(count, 0);
	space->entries(space->context, 190, 400, &count);
	assert_int_equal(count, 1);
	/* the same question, the same answer */
	assert_ptr_equal(space->entries(space->context, 100, 199, &count), entries);
	assert_int_equal(count, 4);
}

static void callees_are_named_by_record_or_function(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = new_subject();
	struct profile *profile = subject.test.profile;
	add_callee(profile, subject.image, 0x4000, "abort");
	add_callee(profile, subject.image, 0x20, "exit@plt");
	add_function(profile, subject.image, 0x100, 0x1ff, "f", 0, 0);
	add_function(profile, subject.image, 0x200, 0x2ff, "", FUNCTION_UNNAMED, 0);
	const struct code_space *space = open_subject(&subject);
	assert_span(space->callee(space->context, 0x4000), "abort");
	assert_span(space->callee(space->context, 0x20), "exit@plt");
	assert_span(space->callee(space->context, 0x100), "f");
	assert_null(space->callee(space->context, 0x101).data);
	assert_null(space->callee(space->context, 0x200).data);
	assert_null(space->callee(space->context, 0x21).data);
}

/* ---- Files and stashes */

static const char program[] =
	"#include <stdexcept>\n"
	"#include <cstdlib>\n"
	"volatile int sink;\n"
	"extern \"C\" __attribute__((noinline)) int choose(int x, int y)\n"
	"{\n"
	"	switch (x) {\n"
	"	case 0: return y * 3;\n"
	"	case 1: sink = y; return y + 7;\n"
	"	case 2: return y ^ x;\n"
	"	case 3: abort();\n"
	"	case 4: return y / 3;\n"
	"	case 5: sink = 3; return 9;\n"
	"	case 6: return sink;\n"
	"	default: return -1;\n"
	"	}\n"
	"}\n"
	"extern \"C\" __attribute__((noinline)) int caught(int x)\n"
	"{\n"
	"	try { if (x > 5) throw std::runtime_error(\"x\"); return choose(x, 2); }\n"
	"	catch (std::runtime_error &e) { sink = 3; return -1; }\n"
	"}\n"
	"int main(int c, char **) { return caught(c); }\n";

/* A profile of one image with a sample at each of the addresses, and no stash. */
static struct test_profile profile_of(const char *path, const uint64_t *vaddrs, size_t count,
				      uint32_t *image)
{
	struct test_profile test = test_profile_new();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct identity identity;
	assert_int_equal(reader_new(NULL, &reader, NULL), 0);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_identify(reader, fd, &identity, NULL), 0);
	struct profile_image file = { .kind = IMAGE_FILE,
				      .space = SPACE_ELF,
				      .build_id = { identity.build_id, identity.build_id_bytes } };
	assert_int_equal(profile_add_image(test.profile, &file, image), 0);
	assert_int_equal(profile_add_path(test.profile, *image, span_of_text(path)), 0);
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	test.image = *image;
	for (size_t i = 0; i < count; i++)
		test_address(&test, vaddrs[i], 1, 1);
	return test;
}

/* The same with what a recording would have gathered. */
static struct test_profile recorded(const char *path, const uint64_t *vaddrs, size_t count,
				    uint32_t *image)
{
	struct test_profile test = profile_of(path, vaddrs, count, image);
	CLEANUP(reader_freep) struct reader *reader = NULL;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_new(NULL, &reader, NULL), 0);
	assert_int_equal(
		reader_gather(reader, fd, -1, vaddrs, count, GATHER_ALL, &records, NULL, NULL), 0);
	assert_int_equal(stash_add_set(test.profile, *image, &records, NULL), 0);
	return test;
}

/* Returns how many entries the function that starts there has. */
static size_t assert_same_function(const struct code_space *left, const struct code_space *right,
				   uint64_t vaddr)
{
	struct code_function mine = { 0 };
	struct code_function other = { 0 };
	bool found = left->function(left->context, vaddr, &mine);
	assert_int_equal(found, right->function(right->context, vaddr, &other));
	assert_int_equal(mine.first, other.first);
	assert_int_equal(mine.last, other.last);
	assert_int_equal(mine.is_cold, other.is_cold);
	assert_int_equal(mine.parent, other.parent);
	assert_true(span_equal(mine.name, other.name));
	if (!found || mine.first != vaddr)
		return 0;
	size_t count, other_count;
	const struct code_entry *entries =
		left->entries(left->context, mine.first, mine.last, &count);
	const struct code_entry *others =
		right->entries(right->context, mine.first, mine.last, &other_count);
	assert_int_equal(count, other_count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(entries[i].vaddr, others[i].vaddr);
		assert_int_equal(entries[i].kind, others[i].kind);
	}
	return count;
}

struct tally {
	size_t bytes, callees, functions, entries;
};

/* All answers over all addresses of a small file. */
static struct tally assert_same_answers(const struct code_space *left,
					const struct code_space *right, uint64_t end)
{
	struct tally tally = { 0 };
	for (uint64_t vaddr = 0; vaddr < end; vaddr++) {
		struct code_function function;
		struct span bytes = left->bytes(left->context, vaddr, 64);
		assert_true(span_equal(bytes, right->bytes(right->context, vaddr, 64)));
		struct span callee = left->callee(left->context, vaddr);
		assert_true(span_equal(callee, right->callee(right->context, vaddr)));
		tally.entries += assert_same_function(left, right, vaddr);
		tally.bytes += bytes.size > 0;
		tally.callees += callee.size > 0;
		tally.functions += left->function(left->context, vaddr, &function);
	}
	return tally;
}

static const struct code_space *space_of(struct profile *profile, uint32_t image, bool stash_only,
					 struct resolver **resolver,
					 struct code_space_stash **stash)
{
	const struct resolver_options options = { .stash_only = stash_only };
	assert_int_equal(resolver_new(profile, &options, resolver, NULL), 0);
	const struct stash_index *index = resolver_stash(*resolver, image);
	assert_non_null(index);
	assert_int_equal(code_space_stash_new(index, image, ISA_X86_64, stash), 0);
	return code_space_of_stash(*stash);
}

static void the_file_and_the_stash_give_the_same_answers(void **state)
{
	(void)state;
	if (!toolchain_has("c++"))
		SKIP("needs c++");
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.cc", program);
	toolchain_run(folder.path, "c++ -O2 -Wl,--build-id p.cc -o p");
	const char *path = temporary_folder_path(&folder, "p");
	uint64_t choose = toolchain_address(folder.path, "nm p | grep ' choose'");
	uint64_t caught = toolchain_address(folder.path, "nm p | grep ' caught$'");
	uint64_t both[] = { choose < caught ? choose : caught, choose < caught ? caught : choose };
	uint32_t image, local_image, first_image, second_image;
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(resolver_freep) struct resolver *local_resolver = NULL;
	CLEANUP(resolver_freep) struct resolver *merged_resolver = NULL;
	CLEANUP(code_space_stash_freep) struct code_space_stash *stash = NULL;
	CLEANUP(code_space_stash_freep) struct code_space_stash *local_stash = NULL;
	CLEANUP(code_space_stash_freep) struct code_space_stash *merged_stash = NULL;
	struct test_profile with = recorded(path, both, 2, &image);
	struct test_profile without = profile_of(path, both, 2, &local_image);
	const struct code_space *kept = space_of(with.profile, image, true, &resolver, &stash);
	const struct code_space *read =
		space_of(without.profile, local_image, false, &local_resolver, &local_stash);
	struct tally tally = assert_same_answers(kept, read, 0x6000);
	assert_true(tally.bytes > 100 && tally.callees > 4 && tally.functions > 100);
	assert_true(tally.entries > 0);

	/* two recordings, one function each, merged */
	struct test_profile first = recorded(path, &choose, 1, &first_image);
	struct test_profile second = recorded(path, &caught, 1, &second_image);
	assert_int_equal(profile_merge(first.profile, second.profile, NULL), 0);
	const struct code_space *merged =
		space_of(first.profile, first_image, true, &merged_resolver, &merged_stash);
	assert_same_answers(kept, merged, 0x6000);
	profile_free(with.profile);
	profile_free(without.profile);
	profile_free(first.profile);
	profile_free(second.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_side_by_side_read_as_one),
		cmocka_unit_test(functions_are_told_with_their_cold_parts),
		cmocka_unit_test(entries_of_all_records_are_joined),
		cmocka_unit_test(callees_are_named_by_record_or_function),
		cmocka_unit_test(the_file_and_the_stash_give_the_same_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
