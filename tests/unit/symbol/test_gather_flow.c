#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/gather.h"
#include "symbol/reader.h"
#include "symbol/record.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

/* choose() has a table of jumps, run() a computed goto, rare() a part that is split off and jumps
 * back. */
static const char program[] = "extern int puts(const char *);\n"
			      "extern void abort(void) __attribute__((noreturn));\n"
			      "volatile int sink;\n"
			      "__attribute__((noinline)) int choose(int x, int y)\n"
			      "{\n"
			      "	switch (x) {\n"
			      "	case 0: return y * 3;\n"
			      "	case 1: sink = y; return y + 7;\n"
			      "	case 2: return y ^ x;\n"
			      "	case 3: puts(\"three\"); return 5;\n"
			      "	case 4: return y / 3;\n"
			      "	case 5: return y << 4;\n"
			      "	case 6: sink = 3; return 9;\n"
			      "	case 7: return y - 99;\n"
			      "	case 8: sink = y * y; return 1;\n"
			      "	case 9: return y / 17;\n"
			      "	case 10: return sink;\n"
			      "	case 11: sink = 11; return y | 64;\n"
			      "	case 12: return -y;\n"
			      "	default: return -1;\n"
			      "	}\n"
			      "}\n"
			      "__attribute__((noinline)) int run(const unsigned char *p)\n"
			      "{\n"
			      "	static void *const places[] = { &&a, &&b, &&c, &&d };\n"
			      "	int n = 0;\n"
			      "	goto *places[*p++];\n"
			      "a:	n += 3; goto *places[*p++];\n"
			      "b:	n *= 7; goto *places[*p++];\n"
			      "c:	sink = --n; goto *places[*p++];\n"
			      "d:	return n;\n"
			      "}\n"
			      "__attribute__((cold, noinline)) void warn(void) { sink = 7; }\n"
			      "__attribute__((noinline)) void rare(int x)\n"
			      "{\n"
			      "	if (x > 100) {\n"
			      "		warn();\n"
			      "		puts(\"rare\");\n"
			      "		if (x > 1000)\n"
			      "			abort();\n"
			      "	}\n"
			      "	sink += x;\n"
			      "}\n"
			      "void *look(int i)\n"
			      "{\n"
			      "	static void *const names[] = { &&x, &&y };\n"
			      "	return names[i];\n"
			      "x:	sink = 1; return 0;\n"
			      "y:	sink = 2; return 0;\n"
			      "}\n"
			      "int (*pointer)(int, int) = choose;\n"
			      "int main(int c, char **v)\n"
			      "{\n"
			      "	rare(c);\n"
			      "	return choose(c, 3) + run((const unsigned char *)v);\n"
			      "}\n";

struct subject {
	struct temporary_folder folder;
	struct record_set records;
};

/* The records of the functions whose names are given, of FOLDER/p. */
static void gather(struct subject *subject, const char *nm, const char *const *names, size_t count,
		   unsigned int what)
{
	CLEANUP(close_fd)
	int fd = open(temporary_folder_path(&subject->folder, "p"), O_RDONLY | O_CLOEXEC);
	uint64_t vaddrs[8];
	struct gather_counts counts;
	struct error err = { 0 };
	for (size_t i = 0; i < count; i++)
		vaddrs[i] = toolchain_address(subject->folder.path, "%s p | grep ' [Tt] %s$'", nm,
					      names[i]);
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && vaddrs[j] < vaddrs[j - 1]; j--) {
			uint64_t swapped = vaddrs[j];
			vaddrs[j] = vaddrs[j - 1];
			vaddrs[j - 1] = swapped;
		}
	record_set_release(&subject->records);
	if (gather_records(fd, -1, vaddrs, count, what, &subject->records, &counts, NULL, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < subject->records.count; i++)
		assert_null(record_fault(&subject->records.list[i]));
}

static struct subject build(const char *source, const char *text, const char *command)
{
	struct subject subject = { .folder = temporary_folder_make() };
	toolchain_write(subject.folder.path, source, text);
	toolchain_run(subject.folder.path, "%s", command);
	return subject;
}

static void subject_release(struct subject *subject)
{
	temporary_folder_remove(&subject->folder);
	record_set_release(&subject->records);
}

static const struct record *find(const struct subject *subject, uint64_t kind, uint64_t vaddr)
{
	for (size_t i = 0; i < subject->records.count; i++) {
		const struct record *record = &subject->records.list[i];
		if (record->kind == kind && vaddr >= record->first && vaddr <= record->last)
			return record;
	}
	return NULL;
}

static size_t count_kind(const struct subject *subject, uint64_t kind)
{
	size_t count = 0;
	for (size_t i = 0; i < subject->records.count; i++)
		count += subject->records.list[i].kind == kind;
	return count;
}

static bool has_callee(const struct subject *subject, const char *wanted)
{
	struct span name;
	for (size_t i = 0; i < subject->records.count; i++)
		if (subject->records.list[i].kind == RECORD_CALLEE &&
		    record_get_callee(&subject->records.list[i], &name) &&
		    span_equal(name, span_of_text(wanted)))
			return true;
	return false;
}

static size_t count_entries(const struct subject *subject, uint64_t kind)
{
	size_t count = 0;
	for (size_t i = 0; i < subject->records.count; i++) {
		struct entries_cursor cursor = { 0 };
		struct entry_place place;
		if (subject->records.list[i].kind == RECORD_ENTRIES)
			while (record_next_entry(&subject->records.list[i], &cursor, &place))
				count += place.kind == kind;
	}
	return count;
}

/* The extent of the only function that was asked for. */
static bool is_in(const struct subject *subject, uint64_t vaddr)
{
	return find(subject, RECORD_FUNCTION, vaddr) != NULL;
}

/* Of the data, entries from its first on that lead into the function: offsets from there of 4
 * bytes, or pointers of 8. */
static size_t entries_in_data(const struct subject *subject, size_t entry_bytes)
{
	size_t most = 0;
	for (size_t i = 0; i < subject->records.count; i++) {
		const struct record *record = &subject->records.list[i];
		struct span data;
		size_t count = 0;
		if (record->kind != RECORD_DATA)
			continue;
		assert_true(record_get_data(record, &data));
		for (; (count + 1) * entry_bytes <= data.size; count++) {
			const uint8_t *entry = (const uint8_t *)data.data + count * entry_bytes;
			int32_t offset;
			uint64_t target;
			memcpy(&offset, entry, sizeof(offset));
			if (entry_bytes == sizeof(target))
				memcpy(&target, entry, sizeof(target));
			else
				target = record->first + (uint64_t)(int64_t)offset;
			if (!is_in(subject, target))
				break;
		}
		most = count > most ? count : most;
	}
	return most;
}

static void a_table_of_offsets_is_kept(void **state)
{
	(void)state;
	CLEANUP(subject_release)
	struct subject subject = build("p.c", program, "cc -O2 -fPIC -pie p.c -o p");
	gather(&subject, "nm", (const char *[]){ "choose" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
#ifdef __x86_64__
	assert_int_equal(entries_in_data(&subject, 4), 13);
#endif
	assert_true(count_kind(&subject, RECORD_DATA) > 0);
	assert_true(has_callee(&subject, "puts@plt"));
}

static void a_table_of_pointers_is_kept(void **state)
{
	(void)state;
#ifndef __x86_64__
	SKIP("the compiler here makes no x86-64 code");
#endif
	CLEANUP(subject_release)
	struct subject subject = build("p.c", program, "cc -O2 -fno-pic -no-pie p.c -o p");
	gather(&subject, "nm", (const char *[]){ "choose" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(entries_in_data(&subject, 8), 13);
	assert_true(count_entries(&subject, ENTRY_POINTER) >= 10);
}

static void pointers_are_as_the_loader_would_write_them(void **state)
{
	(void)state;
	static const char *const ways[] = {
		"cc -O2 -fPIC -pie p.c -o p",
		"cc -O2 -fno-pic -no-pie p.c -o p",
		"cc -O2 -fPIC -pie -Wl,-z,pack-relative-relocs p.c -o p || "
		"cc -O2 -fPIC -pie p.c -o p",
		/* linkers write the values into the file too, but need not */
		"cc -O2 -fPIC -pie p.c -o p && "
		"head -c $(size -A p | awk '$1 == \".data.rel.ro\" { print $2 }') /dev/zero >zeros "
		"&& "
		"objcopy --update-section .data.rel.ro=zeros p",
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		CLEANUP(subject_release) struct subject subject = build("p.c", program, ways[i]);
		gather(&subject, "nm", (const char *[]){ "run" }, 1,
		       GATHER_FUNCTIONS | GATHER_FLOW);
		assert_int_equal(entries_in_data(&subject, 8), 4);
		assert_int_equal(count_entries(&subject, ENTRY_POINTER), 4);
	}
}

static void data_of_a_function_that_does_not_jump_there_is_not_kept(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = build("p.c", program, "cc -O2 p.c -o p");
	gather(&subject, "nm", (const char *[]){ "look" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(count_kind(&subject, RECORD_DATA), 0);
}

static void a_split_function_is_one(void **state)
{
	(void)state;
	CLEANUP(subject_release)
	struct subject subject = build("p.c", program, "cc -O2 -fno-plt p.c -o p");
	gather(&subject, "nm", (const char *[]){ "rare" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(count_kind(&subject, RECORD_FUNCTION), 2);
	/* jumps from one part into the other come from nowhere else */
	assert_int_equal(count_kind(&subject, RECORD_ENTRIES), 0);
	/* through the GOT, both from the cold part */
	assert_true(has_callee(&subject, "abort"));
	assert_true(has_callee(&subject, "puts"));
	/* it has no table */
	assert_int_equal(count_kind(&subject, RECORD_DATA), 0);
}

static void a_part_that_nothing_names_comes_in_from_elsewhere(void **state)
{
	(void)state;
	CLEANUP(subject_release)
	struct subject subject = build("p.c", program,
				       "cc -O2 p.c -o q && nm q | grep ' rare$' && "
				       "objcopy -N rare.cold q p");
	gather(&subject, "nm", (const char *[]){ "rare" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(count_entries(&subject, ENTRY_JUMP), 1);
}

#ifdef __x86_64__
/* far: jmp, jne into the middle of in(), and bytes of an immediate that read like a jump there. */
static const char assembly[] =
	".globl in, near, far, main\n"
	".type in, @function; .type near, @function\n"
	".type far, @function; .type main, @function\n"
	"near: cmpl $0x0eeb9090, %eax\n"	/* not here: eb 0e in a number */
	"	.byte 0xe9, 0x90, 0x90, 0xeb\n" /* nor here, in a distance */
	"	.byte 4f - 9f\n"
	"9:\n"
	"	jne 1f\n"
	"	jmp 2f\n"
	".size near, .-near\n"
	"in:	nop; nop\n"
	"1:	nop\n"
	"2:	nop; jmp 1b\n"
	"3:	nop\n"
	"4:	nop\n"
	"5:	ret\n"
	".size in, .-in\n"
	".fill 4096, 1, 0x90\n"
	"far:	.byte 0xb8, 0xe9\n" /* mov $imm, %eax */
	"	.long 4b - (. + 4)\n"
	"	bnd jmp 3b\n"
	"	jne 5b\n"
	"	call 4b\n"
	"	jmp in\n"
	".size far, .-far\n"
	"main:	ret\n"
	".size main, .-main\n"
	".section .note.GNU-stack, \"\", @progbits\n";

static void branches_into_the_middle_are_found_and_look_alikes_are_not(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = build("p.s", assembly, "cc p.s -o p");
	uint64_t in = toolchain_address(subject.folder.path, "nm p | grep ' in$'");
	gather(&subject, "nm", (const char *[]){ "in" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	const struct record *record = find(&subject, RECORD_ENTRIES, in);
	static const uint64_t wanted[] = { 2, 3, 6, 8 }; /* 1, 2, 3, 5 */
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	assert_non_null(record);
	for (size_t i = 0; i < 4; i++) {
		assert_true(record_next_entry(record, &cursor, &place));
		assert_int_equal(place.vaddr, in + wanted[i]);
		assert_int_equal(place.kind, ENTRY_JUMP);
	}
	assert_false(record_next_entry(record, &cursor, &place));
}

/* Code is searched in pieces of 1 MiB: a branch may begin in one and end in the next. */
static void branches_across_pieces_are_found(void **state)
{
	(void)state;
	static const char text[] = ".globl in, before, across, at\n"
				   ".type in, @function; .type before, @function\n"
				   ".type across, @function; .type at, @function\n"
				   "in:	nop\n"
				   "1:	nop\n"
				   "2:	nop\n"
				   "3:	ret\n"
				   ".size in, .-in\n"
				   ".org (1 << 20) - 1\n"
				   "before: jne 1b\n"
				   ".size before, .-before\n"
				   ".org (2 << 20) - 3\n"
				   "across: jmp 2b\n"
				   ".size across, .-across\n"
				   ".org 3 << 20\n"
				   "at:	jmp 3b\n"
				   ".size at, .-at\n"
				   ".section .note.GNU-stack, \"\", @progbits\n";
	CLEANUP(subject_release)
	struct subject subject = build("p.s", text, "cc -shared -nostdlib p.s -o p");
	uint64_t in = toolchain_address(subject.folder.path, "nm p | grep ' in$'");
	gather(&subject, "nm", (const char *[]){ "in" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	const struct record *record = find(&subject, RECORD_ENTRIES, in);
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	assert_non_null(record);
	for (size_t i = 1; i <= 3; i++) {
		assert_true(record_next_entry(record, &cursor, &place));
		assert_int_equal(place.vaddr, in + i);
		assert_int_equal(place.kind, ENTRY_JUMP);
	}
	assert_false(record_next_entry(record, &cursor, &place));
}
#endif

static const char thrower[] = "#include <stdexcept>\n"
			      "volatile int sink;\n"
			      "__attribute__((noinline)) int thrown(int x)\n"
			      "{ if (x > 5) throw std::runtime_error(\"x\"); return x * 2; }\n"
			      "extern \"C\" __attribute__((noinline)) int caught(int x)\n"
			      "{\n"
			      "	try { return thrown(x) + 1; }\n"
			      "	catch (std::runtime_error &e) { sink = 3; return -1; }\n"
			      "}\n"
			      "int main(int c, char **) { return caught(c) + caught(c + 5); }\n";

static void exceptions_land_inside(void **state)
{
	(void)state;
	if (!toolchain_has("c++"))
		SKIP("needs c++");
	CLEANUP(subject_release)
	struct subject subject = build("p.cc", thrower, "c++ -O2 p.cc -o p");
	gather(&subject, "nm", (const char *[]){ "caught" }, 1, GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(count_entries(&subject, ENTRY_LANDING), 1);
	assert_true(has_callee(&subject, "_Z6throwni"));
	assert_true(has_callee(&subject, "__cxa_begin_catch@plt"));
}

static void aarch64_has_the_same(void **state)
{
	(void)state;
	if (!toolchain_has("aarch64-linux-gnu-gcc"))
		SKIP("needs aarch64-linux-gnu-gcc");
	CLEANUP(subject_release)
	struct subject subject =
		build("p.c", program, "aarch64-linux-gnu-gcc -O2 -fPIC -shared -nostdlib p.c -o p");
	gather(&subject, "aarch64-linux-gnu-nm", (const char *[]){ "choose" }, 1,
	       GATHER_FUNCTIONS | GATHER_FLOW);
	/* offsets of a byte, from an address in the code */
	assert_true(count_kind(&subject, RECORD_DATA) > 0);
	assert_true(has_callee(&subject, "puts@plt"));
	gather(&subject, "aarch64-linux-gnu-nm", (const char *[]){ "run" }, 1,
	       GATHER_FUNCTIONS | GATHER_FLOW);
	assert_int_equal(entries_in_data(&subject, 8), 4);
	assert_int_equal(count_entries(&subject, ENTRY_POINTER), 4);
	toolchain_run(subject.folder.path,
		      "aarch64-linux-gnu-gcc -O2 -fno-plt -fPIC -shared -nostdlib p.c -o p");
	gather(&subject, "aarch64-linux-gnu-nm", (const char *[]){ "choose" }, 1,
	       GATHER_FUNCTIONS | GATHER_FLOW);
	assert_true(has_callee(&subject, "puts"));
	assert_false(has_callee(&subject, "puts@plt"));
}

static void every_branch_of_aarch64_comes_in(void **state)
{
	(void)state;
	if (!toolchain_has("aarch64-linux-gnu-gcc"))
		SKIP("needs aarch64-linux-gnu-gcc");
	static const char text[] = ".globl in, far\n"
				   ".type in, %function; .type far, %function\n"
				   "in:	nop\n"
				   "1:	nop\n"
				   "2:	nop\n"
				   "3:	nop\n"
				   "4:	b 1b\n"
				   "	ret\n"
				   ".size in, .-in\n"
				   ".fill 5000, 4, 0\n" /* nearly as far as tbz goes */
				   "far:	b 1b\n"
				   "	b.eq 2b\n"
				   "	cbnz w3, 3b\n"
				   "	tbz x3, #40, 4b\n"
				   "	bl 1b + 16\n"
				   "	b in\n"
				   ".size far, .-far\n";
	CLEANUP(subject_release)
	struct subject subject =
		build("p.s", text, "aarch64-linux-gnu-gcc -shared -nostdlib p.s -o p");
	uint64_t in =
		toolchain_address(subject.folder.path, "aarch64-linux-gnu-nm p | grep ' in$'");
	gather(&subject, "aarch64-linux-gnu-nm", (const char *[]){ "in" }, 1,
	       GATHER_FUNCTIONS | GATHER_FLOW);
	const struct record *record = find(&subject, RECORD_ENTRIES, in);
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	assert_non_null(record);
	for (size_t i = 1; i <= 4; i++) {
		assert_true(record_next_entry(record, &cursor, &place));
		assert_int_equal(place.vaddr, in + i * 4);
		assert_int_equal(place.kind, ENTRY_JUMP);
	}
	assert_false(record_next_entry(record, &cursor, &place));
}

static void what_is_said_of_one_function_does_not_depend_on_the_others(void **state)
{
	(void)state;
	static const char *const names[] = { "choose", "run", "rare", "main" };
	CLEANUP(subject_release) struct subject subject = build("p.c", program, "cc -O2 p.c -o p");
	CLEANUP(record_set_release) struct record_set together = { 0 };
	gather(&subject, "nm", names, 4, GATHER_ALL);
	for (size_t i = 0; i < subject.records.count; i++) {
		const struct record *record = &subject.records.list[i];
		assert_int_equal(record_set_add(&together, record->kind, record->first,
						record->last, record->content),
				 0);
	}
	size_t count = together.count;
	for (size_t i = 0; i < 4; i++) {
		gather(&subject, "nm", &names[i], 1, GATHER_ALL);
		for (size_t j = 0; j < subject.records.count; j++) {
			const struct record *record = &subject.records.list[j];
			assert_int_equal(record_set_add(&together, record->kind, record->first,
							record->last, record->content),
					 0);
		}
	}
	record_set_sort(&together);
	assert_int_equal(together.count, count);
}

static void nobody_who_does_not_ask_gets_it(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = build("p.c", program, "cc -O2 p.c -o p");
	gather(&subject, "nm", (const char *[]){ "choose", "run" }, 2, GATHER_ALL & ~GATHER_FLOW);
	for (size_t i = 0; i < subject.records.count; i++)
		assert_true(subject.records.list[i].kind <= RECORD_LINES);
}

/* Two functions, and nothing that says so; then a label alone, with thousands of bytes behind it.
 */
static void code_of_no_known_function_has_a_window(void **state)
{
	static const char *const both[] = { "one", "two" };
	static const char text[] = ".globl _start, one, two, end\n.text\n"
				   "_start: nop\n.fill 6000, 1, 0x90\n"
				   "one: .fill 300, 1, 0x90\n.fill 9000, 1, 0x90\n"
				   "two: ret\nend: nop\n";
	struct subject subject = build(
		"p.s", text,
		"gcc -nostdlib -static -o p0 p.s && strip -o p p0 && strip -K _start -o label p0");
	(void)state;
	gather(&subject, "sh -c 'nm p0'", both, 2, GATHER_ALL);
	for (size_t i = 0; i < 2; i++) {
		uint64_t vaddr =
			toolchain_address(subject.folder.path, "nm p0 | grep ' T %s$'", both[i]);
		const struct record *record = find(&subject, RECORD_FUNCTION, vaddr);
		struct function_record function;
		assert_non_null(record);
		assert_true(record_get_function(record, &function));
		assert_int_equal(function.flags, FUNCTION_UNNAMED | FUNCTION_WINDOW);
		assert_true(record->last - record->first < 4096);
		record = find(&subject, RECORD_CODE, vaddr);
		assert_non_null(record);
		assert_true(record->last - record->first < 4096);
	}
	/* names alone need no windows */
	gather(&subject, "sh -c 'nm p0'", both, 2, GATHER_FUNCTIONS);
	assert_int_equal(subject.records.count, 0);

	toolchain_run(subject.folder.path, "mv label p");
	gather(&subject, "sh -c 'nm p0'", both, 2, GATHER_FUNCTIONS);
	assert_int_equal(subject.records.count, 2);
	for (size_t i = 0; i < 2; i++) {
		struct function_record function;
		assert_true(record_get_function(&subject.records.list[i], &function));
		assert_int_equal(function.flags, FUNCTION_NEAREST | FUNCTION_WINDOW);
		assert_true(span_equal(function.name, span_of_text("_start")));
		assert_true(subject.records.list[i].last - subject.records.list[i].first < 4096);
	}
	subject_release(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_offsets_is_kept),
		cmocka_unit_test(a_table_of_pointers_is_kept),
		cmocka_unit_test(pointers_are_as_the_loader_would_write_them),
		cmocka_unit_test(data_of_a_function_that_does_not_jump_there_is_not_kept),
		cmocka_unit_test(a_split_function_is_one),
		cmocka_unit_test(a_part_that_nothing_names_comes_in_from_elsewhere),
#ifdef __x86_64__
		cmocka_unit_test(branches_into_the_middle_are_found_and_look_alikes_are_not),
		cmocka_unit_test(branches_across_pieces_are_found),
#endif
		cmocka_unit_test(exceptions_land_inside),
		cmocka_unit_test(aarch64_has_the_same),
		cmocka_unit_test(every_branch_of_aarch64_comes_in),
		cmocka_unit_test(what_is_said_of_one_function_does_not_depend_on_the_others),
		cmocka_unit_test(nobody_who_does_not_ask_gets_it),
		cmocka_unit_test(code_of_no_known_function_has_a_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
