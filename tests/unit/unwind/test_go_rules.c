/* The rules of Go's functions: of each kind that its compiler and assembler make, and of a whole
 * program against those that libdw finds in what Go writes for debuggers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "image/elf_file.h"
#include "image/go_functions.h"
#include "support/go_table.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "unwind/frame_rules.h"

#define END		frame_rule_of(FRAME_CFA_END, FRAME_POINTER_LOST, 0, 0, 0)
#define RECORD(size)	frame_rule_of(FRAME_CFA_RECORD, FRAME_POINTER_SAME, 0, 0, size)
#define NONE		frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, 8)
#define SAVED(at, size) frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_AT_CFA, 0, at, size)
#define LOST(size)	frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_LOST, 0, 0, size)

struct expected {
	struct go_table_function function;
	struct {
		int from;
		frame_rule rule;
	} rows[6];
	size_t count;
};

#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void check(uint16_t machine, enum go_table_format format, const struct expected *expected)
{
	static const uint8_t nothing[8] = { 0x90 };
	const struct go_table_options options = { .format = format, .machine = machine };
	/* Behind another one, since some rules begin before their function. */
	const struct go_table_function functions[] = {
		{ "before", nothing, sizeof(nothing), "0:8", false },
		expected->function,
	};
	CLEANUP(buffer_release) struct buffer bytes = go_table_program(&options, functions, 2);
	struct elf_file file;
	struct frame_rules rules;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
	assert_int_equal(frame_rules_read(&file, &rules), 0);
	uint64_t start = elf_file_section(&file, ".text")->offset + 32;
	for (size_t i = 0; i < expected->count; i++) {
		int end = i + 1 < expected->count ? expected->rows[i + 1].from
						  : (int)expected->function.size_bytes;
		for (int at = expected->rows[i].from; at < end; at++)
			if (frame_rules_find(&rules, start + (uint64_t)(int64_t)at) !=
			    expected->rows[i].rule)
				fail_msg("%s at %d", expected->function.name, at);
	}
	frame_rules_release(&rules);
	elf_file_release(&file);
}

static void of_x86_64(void **state)
{
	const struct expected all[] = {
		/* push %rbp; mov %rsp,%rbp; sub $24,%rsp; add $24,%rsp; pop %rbp; ret */
		{ { "new",
		    CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xc4, 0x18,
			 0x5d, 0xc3),
		    "0:1 8:7 32:4 8:1 0:1", false },
		  { { 0, NONE },
		    { 1, SAVED(-16, 16) },
		    { 8, SAVED(-16, 40) },
		    { 12, SAVED(-16, 16) },
		    { 13, NONE } },
		  5 },
		/* sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp; ... */
		{ { "old",
		    CODE(0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c,
			 0x24, 0x10, 0xc3),
		    "0:4 24:10 0:1", false },
		  { { 0, NONE }, { 4, SAVED(-16, 32) }, { 14, NONE } },
		  3 },
		/* sub $8,%rsp; mov %rbp,(%rsp) */
		{ { "small", CODE(0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0x2c, 0x24, 0xc3),
		    "0:4 8:4 0:1", false },
		  { { 0, NONE }, { 4, SAVED(-16, 16) }, { 8, NONE } },
		  3 },
		/* sub $1024,%rsp; mov %rbp,1016(%rsp) */
		{ { "large",
		    CODE(0x48, 0x81, 0xec, 0, 4, 0, 0, 0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0, 0xc3),
		    "0:7 1024:8 0:1", false },
		  { { 0, NONE }, { 7, SAVED(-16, 1032) }, { 15, NONE } },
		  3 },
		/* pushf; sub $40,%rsp; mov %rbp,8(%rsp): as what C calls does */
		{ { "crosscall2", CODE(0x9c, 0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0x6c, 0x24, 0x08),
		    "0:1 8:4 48:5", false },
		  { { 0, NONE }, { 1, SAVED(-48, 16) }, { 5, SAVED(-48, 56) } },
		  3 },
		/* sub $24,%rsp; nop: what is hand-written saves nothing */
		{ { "hand", CODE(0x48, 0x83, 0xec, 0x18, 0x90), "0:4 24:1", false },
		  { { 0, NONE }, { 4, LOST(32) } },
		  2 },
		/* Of its own frame, and onto another stack: push %rbp; mov %rsp,%rbp; mov
		   56(%rdx),%rsp; ret */
		{ { "runtime.systemstack",
		    CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x62, 0x38, 0xc3), "0:1 8:7 0:1",
		    true },
		  { { 0, NONE }, { 1, SAVED(-16, 16) }, { 4, RECORD(16) }, { 8, NONE } },
		  4 },
		/* The same without one: nop; mov 56(%rdx),%rbx; mov %rbx,%rsp; ret */
		{ { "runtime.systemstack",
		    CODE(0x90, 0x48, 0x8b, 0x5a, 0x38, 0x48, 0x89, 0xdc, 0xc3), "0:9", true },
		  { { 0, NONE }, { 8, RECORD(16) } },
		  2 },
		{ { "runtime.goexit", CODE(0x90, 0x90), "0:2", false }, { { 0, END } }, 1 },
		{ { "runtime.mcall", CODE(0x55, 0x48, 0x89, 0xe5), "0:1 8:3", true },
		  { { 0, END } },
		  1 },
		/* A handler returns to its first byte: whoever asks looks at the byte before. */
		{ { "runtime.sigreturn__sigaction",
		    CODE(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xcd, 3), "0:11", false },
		  { { -1, frame_rule_of(FRAME_CFA_SIGNAL, FRAME_POINTER_LOST, 0, 0, 160) } },
		  1 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		for (int format = GO_TABLE_1_2; format < GO_TABLE_FORMATS; format++)
			check(EM_X86_64, format, &all[i]);
}

#define PAIR(size)                                                                                 \
	frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_AT_CFA, FRAME_SLOT_PAIR, -(size)-8, size)
#define BELOW(size) frame_rule_of(FRAME_CFA_BELOW, FRAME_POINTER_SAME, 0, 0, size)
#define LEAF(size) frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, size)
#define STR_30	   0xfe, 0x0f, 0x1e, 0xf8 /* str x30,[sp,#-32]! */
#define STUR_29	   0xfd, 0x83, 0x1f, 0xf8 /* stur x29,[sp,#-8] */
#define SUB_29	   0xfd, 0x23, 0x00, 0xd1
#define LDP_29_30  0xfd, 0xfb, 0x7f, 0xa9
#define LDUR_29	   0xfd, 0x83, 0x5f, 0xf8
#define ANY	   0x1f, 0x20, 0x03, 0xd5

static void of_aarch64(void **state)
{
	const struct expected all[] = {
		{ { "new", CODE(STR_30, STUR_29, SUB_29, ANY, LDP_29_30, ANY, ANY), "0:4 32:20 0:4",
		    false },
		  { { 0, LEAF(0) },
		    { 4, PAIR(32) },
		    { 12, BELOW(32) },
		    { 20, LEAF(32) },
		    { 24, LEAF(0) } },
		  5 },
		{ { "old", CODE(STR_30, STUR_29, SUB_29, LDUR_29, ANY, ANY), "0:4 32:16 0:4",
		    false },
		  { { 0, LEAF(0) },
		    { 4, PAIR(32) },
		    { 12, BELOW(32) },
		    { 16, PAIR(32) },
		    { 20, LEAF(0) } },
		  5 },
		{ { "hand", CODE(STR_30, ANY, ANY), "0:4 32:8", false },
		  { { 0, LEAF(0) }, { 4, PAIR(32) } },
		  2 },
		{ { "runtime.goexit", CODE(ANY, ANY), "0:8", false }, { { 0, END } }, 1 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		for (int format = GO_TABLE_1_16; format < GO_TABLE_FORMATS; format++)
			check(EM_AARCH64, format, &all[i]);
}

/* ---- a whole program */

static const char program[] =
	"package main\n"
	"import (\"encoding/json\"; \"fmt\"; \"os\"; \"regexp\"; \"sort\"; \"time\")\n"
	"func main() {\n"
	"	m := map[string]int{}\n"
	"	for i := range os.Args { m[fmt.Sprint(i, time.Now())] = i }\n"
	"	b, _ := json.Marshal(m)\n"
	"	s := regexp.MustCompile(`[a-z]+`).FindAllString(string(b), -1)\n"
	"	sort.Strings(s)\n"
	"	fmt.Println(s)\n"
	"}\n";

/* How far the frame's address is above the stack pointer by libdw; -1: it knows nothing, or counts
 * from another register. */
static int64_t frame_bytes(Dwarf_CFI *cfi, uint64_t vaddr, uint64_t stack_register)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t count;
	int64_t bytes = -1;
	if (dwarf_cfi_addrframe(cfi, vaddr, &frame) != 0)
		return -1;
	if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 && ops[0].atom == DW_OP_bregx &&
	    ops[0].number == stack_register)
		bytes = (int64_t)ops[0].number2;
	free(frame);
	return bytes;
}

/* Compares each place of each function; returns how many were. */
static size_t compare(const char *path, const struct elf_file *file)
{
	struct go_functions functions;
	struct frame_rules rules;
	size_t compared = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CFI *cfi = dwarf_getcfi(dwarf);
	assert_non_null(cfi);
	assert_int_equal(frame_rules_read(file, &rules), 0);
	assert_int_equal(go_functions_open(file, &functions), 1);
	bool x86 = file->machine == EM_X86_64;
	for (size_t i = 0; i < functions.count; i++) {
		struct go_function function;
		struct go_depths depths;
		struct go_range range;
		assert_true(go_functions_get(&functions, i, &function));
		go_depths_begin(&functions, &function, &depths);
		while (go_depths_next(&depths, &range))
			for (uint64_t at = range.start; at < range.end; at += x86 ? 1 : 4) {
				uint64_t offset;
				assert_true(elf_file_offset_of_vaddr(file, at, &offset));
				frame_rule rule = frame_rules_find(&rules, offset);
				int64_t bytes = frame_bytes(cfi, at, x86 ? 7 : 31);
				enum frame_cfa kind = frame_rule_cfa(rule);
				if (bytes < 0 ||
				    (kind != FRAME_CFA_STACK && kind != FRAME_CFA_BELOW))
					continue;
				compared++;
				if (bytes != frame_rule_offset(rule))
					fail_msg("%.*s + %d: %d for %d", (int)function.name.size,
						 (const char *)function.name.data,
						 (int)(at - function.start),
						 (int)frame_rule_offset(rule), (int)bytes);
			}
	}
	frame_rules_release(&rules);
	dwarf_end(dwarf);
	close(fd);
	return compared;
}

static void of_a_whole_program(void **state)
{
	static const char *const machines[] = { "amd64", "arm64" };
	(void)state;
	if (!toolchain_has("go"))
		SKIP("go is not here");
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.go", program);
	for (size_t i = 0; i < COUNT_OF(machines); i++) {
		toolchain_run(
			folder.path,
			"HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-modcacherw GOARCH=%s CGO_ENABLED=0 "
			"go build -ldflags=-compressdwarf=false -o p p.go",
			machines[i]);
		CLEANUP(built_file_release)
		struct built_file bytes = toolchain_read(folder.path, "p");
		struct elf_file file;
		assert_int_equal(elf_file_parse(bytes.bytes, bytes.size_bytes, &file, NULL), 0);
		size_t compared = compare(temporary_folder_path(&folder, "p"), &file);
		printf("%s: %zu places\n", machines[i], compared);
		assert_true(compared > 100000);
		elf_file_release(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_x86_64),
		cmocka_unit_test(of_aarch64),
		cmocka_unit_test(of_a_whole_program),
	};
	return cmocka_run_group_tests_name("go rules", tests, NULL, NULL);
}
