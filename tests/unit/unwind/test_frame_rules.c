/* The rules of real files, place by place, against those that libdw finds; and the same rules out
 * of a pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/random.h"
#include "image/elf_file.h"
#include "unwind/frame_pool.h"
#include "unwind/frame_program.h"
#include "support/elf_bytes.h"
#include "support/skip.h"
#include "unwind/frame_rules.h"

#define PLACES 20000

struct binary {
	struct mapped_file mapped;
	struct elf_file file;
	struct frame_rules rules;
	const struct frame_machine *machine;
};

static bool open_binary(const char *path, struct binary *binary)
{
	struct error err;
	*binary = (struct binary){ 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	assert_int_equal(mapped_file_open(fd, &binary->mapped, &err), 0);
	close(fd);
	assert_int_equal(elf_file_parse(binary->mapped.bytes, binary->mapped.size_bytes,
					&binary->file, &err),
			 0);
	assert_int_equal(frame_rules_read(&binary->file, &binary->rules), 0);
	binary->machine = frame_machine_of(binary->file.machine);
	return true;
}

static void close_binary(struct binary *binary)
{
	frame_rules_release(&binary->rules);
	elf_file_release(&binary->file);
	mapped_file_close(&binary->mapped);
}

/* ---- libdw's rule, in our form */

struct oracle {
	Elf *elf;
	Dwarf_CFI *eh, *debug;
	Dwarf *dwarf;
	int fd;
};

static struct oracle open_oracle(const char *path)
{
	struct oracle oracle = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	elf_version(EV_CURRENT);
	oracle.elf = elf_begin(oracle.fd, ELF_C_READ_MMAP, NULL);
	oracle.eh = dwarf_getcfi_elf(oracle.elf);
	oracle.dwarf = dwarf_begin_elf(oracle.elf, DWARF_C_READ, NULL);
	oracle.debug = oracle.dwarf ? dwarf_getcfi(oracle.dwarf) : NULL;
	return oracle;
}

static void close_oracle(struct oracle *oracle)
{
	if (oracle->eh)
		dwarf_cfi_end(oracle->eh);
	if (oracle->dwarf)
		dwarf_end(oracle->dwarf);
	elf_end(oracle->elf);
	close(oracle->fd);
}

/* Where a register of the caller is, by libdw: FRAME_SAVED_..., and the offset. */
static struct frame_saved saved_of(Dwarf_Frame *frame, int number, int stack, int pointer)
{
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;
	assert_int_equal(dwarf_frame_register(frame, number, memory, &ops, &count), 0);
	(void)stack;
	if (count == 0)
		return (struct frame_saved){ ops ? FRAME_SAVED_NOWHERE : FRAME_SAVED_SAME, 0 };
	if (ops[0].atom == DW_OP_call_frame_cfa && count == 1)
		return (struct frame_saved){ FRAME_SAVED_AT_CFA, 0 };
	if (ops[0].atom == DW_OP_call_frame_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst)
		return (struct frame_saved){ FRAME_SAVED_AT_CFA, (int64_t)ops[1].number };
	if (count == 1 && ops[0].atom == DW_OP_regx)
		return (struct frame_saved){ FRAME_SAVED_IN, (int64_t)ops[0].number };
	if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct frame_saved){ FRAME_SAVED_IN, ops[0].atom - DW_OP_reg0 };
	if (count == 1 && ops[0].atom == DW_OP_breg0 + pointer)
		return (struct frame_saved){ FRAME_SAVED_AT_FRAME, (int64_t)ops[0].number };
	return (struct frame_saved){ FRAME_SAVED_OTHERWISE, 0 };
}

static bool is_bad(frame_rule rule)
{
	return frame_rule_cfa(rule) == FRAME_CFA_BAD;
}

/* Compares what a rule says with libdw; what rules cannot say is counted in *bad. */
static void check_place(const struct binary *binary, const struct oracle *oracle, uint64_t vaddr,
			frame_rule rule, unsigned *bad)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;
	bool signal;
	Dwarf_Addr start, end;
	const struct frame_machine *machine = binary->machine;
	enum frame_cfa kind = frame_rule_cfa(rule);
	if ((!oracle->eh || dwarf_cfi_addrframe(oracle->eh, vaddr, &frame) != 0) &&
	    (!oracle->debug || dwarf_cfi_addrframe(oracle->debug, vaddr, &frame) != 0)) {
		/* It knows nothing, and we may have what is known of padding and of the start. */
		return;
	}
	int link = dwarf_frame_info(frame, &start, &end, &signal);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	struct frame_saved pointer =
		saved_of(frame, machine->pointer, machine->stack, machine->pointer);
	struct frame_saved back = saved_of(frame, link, machine->stack, machine->pointer);
	if (machine->machine == EM_AARCH64 && frame_rule_slot(rule) == FRAME_SLOT_PAIR + 1 &&
	    kind == FRAME_CFA_STACK && (back.offset == 8 || back.how != FRAME_SAVED_AT_CFA)) {
		/* _dl_runtime_resolve, which counts from what is on the stack already */
		assert_int_equal((int64_t)ops[0].number2 + 16, frame_rule_offset(rule));
	} else if (is_bad(rule)) {
		++*bad;
	} else if (back.how == FRAME_SAVED_NOWHERE && kind != FRAME_CFA_END) {
		/* libdw calls x30 undefined where nothing is said of it yet. */
		assert_int_equal(machine->machine, EM_AARCH64);
		assert_int_equal(frame_rule_slot(rule), 0);
	} else if (kind == FRAME_CFA_END) {
		assert_int_equal(back.how, FRAME_SAVED_NOWHERE);
	} else if (kind == FRAME_CFA_STACK || kind == FRAME_CFA_FRAME || kind == FRAME_CFA_OTHER) {
		assert_int_equal(count, 1);
		assert_int_equal(ops[0].atom, DW_OP_bregx);
		uint64_t number = kind == FRAME_CFA_STACK ? machine->stack
				  : kind == FRAME_CFA_FRAME
					  ? machine->pointer
					  : (uint64_t)frame_rule_offset(rule) >> 24;
		assert_int_equal(ops[0].number, number);
		if (kind != FRAME_CFA_OTHER)
			assert_int_equal((int64_t)ops[0].number2, frame_rule_offset(rule));
		unsigned slot = frame_rule_slot(rule);
		if (machine->machine == EM_X86_64)
			assert_true(back.how == FRAME_SAVED_AT_CFA && back.offset == -8);
		else if (slot)
			assert_true(back.how == FRAME_SAVED_AT_CFA &&
				    back.offset == (slot == FRAME_SLOT_PAIR
							    ? frame_rule_pointer_offset(rule) + 8
							    : -8 * ((int)slot - 1)));
		else
			assert_int_equal(back.how, FRAME_SAVED_SAME);
		enum frame_pointer_place place = frame_rule_pointer(rule);
		enum frame_saved_how how = place == FRAME_POINTER_SAME	     ? FRAME_SAVED_SAME
					   : place == FRAME_POINTER_AT_CFA   ? FRAME_SAVED_AT_CFA
					   : place == FRAME_POINTER_AT_FRAME ? FRAME_SAVED_AT_FRAME
									     : pointer.how;
		assert_int_equal(pointer.how, how);
		if (how == FRAME_SAVED_AT_CFA || how == FRAME_SAVED_AT_FRAME)
			assert_int_equal(pointer.offset, frame_rule_pointer_offset(rule));
		if (place == FRAME_POINTER_LOST)
			assert_true(how != FRAME_SAVED_SAME && how != FRAME_SAVED_AT_CFA);
	} else if (kind == FRAME_CFA_PLT) {
		assert_true(count > 4);
	} else if (kind == FRAME_CFA_LOADED || kind == FRAME_CFA_SIGNAL) {
		assert_int_equal(count, 2);
		assert_int_equal(ops[0].atom,
				 DW_OP_breg0 + (kind == FRAME_CFA_LOADED ? machine->pointer
									 : machine->stack));
		assert_int_equal((int64_t)ops[0].number, frame_rule_offset(rule));
		assert_int_equal(signal, kind == FRAME_CFA_SIGNAL);
	} else {
		assert_int_equal(kind, FRAME_CFA_LINKED);
		assert_true(back.how == FRAME_SAVED_IN && back.offset == 5);
	}
	free(frame);
}

static uint64_t vaddr_of(const struct elf_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].type == PT_LOAD && file->segments[i].flags & PF_X &&
		    offset - file->segments[i].offset < file->segments[i].file_bytes)
			return offset - file->segments[i].offset + file->segments[i].vaddr;
	return 0;
}

/* Compares the rules of a file with libdw's, and out of a pool. False: there is no such file. */
static bool check_file(const char *path)
{
	struct binary binary;
	unsigned bad = 0;
	if (!open_binary(path, &binary))
		return false;
	struct oracle oracle = open_oracle(path);
	struct frame_pool pool;
	struct frame_pool_entry entry;
	struct frame_table table;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 64 });
	assert_int_equal(frame_table_put(&binary.rules, binary.file.machine, &bytes), 0);
	assert_true(frame_table_read((struct span){ bytes.data, bytes.size }, &table));
	assert_int_equal(frame_pool_add(&pool, &table, &entry), 0);
	struct random_state random;
	random = random_seed(7);
	size_t count = binary.rules.count;
	assert_true(count > 0);
	for (size_t i = 0; i < PLACES; i++) {
		size_t at = count <= PLACES ? i % count : random_below(&random, count);
		uint64_t start = binary.rules.rows[at].offset;
		uint64_t end = at + 1 < count ? binary.rules.rows[at + 1].offset : start + 1;
		uint64_t offset = i % 3 == 0   ? start
				  : i % 3 == 1 ? end - 1
					       : start + random_below(&random, end - start);
		frame_rule rule = frame_rules_find(&binary.rules, offset);
		assert_int_equal(frame_pool_find(&pool, &entry.place, offset), rule);
		uint64_t vaddr = vaddr_of(&binary.file, offset);
		if (vaddr && binary.machine)
			check_place(&binary, &oracle, vaddr, rule, &bad);
	}
	assert_true(bad < PLACES / 100);
	printf("%s: %zu rows, %zu rules, %zu bytes; %u of %u places have no rule\n", path, count,
	       binary.rules.rule_count, bytes.size, bad, PLACES);
	frame_pool_release(&pool);
	close_oracle(&oracle);
	close_binary(&binary);
	return true;
}

/* Where the code of a section has its stack pointer, which no table says. */
static bool check_section(const struct binary *binary, const char *name)
{
	static const uint8_t down[] = { 0x48, 0x83, 0xec, 0x08 };
	static const uint8_t up[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	const struct elf_section *section = elf_file_section(&binary->file, name);
	if (binary->file.machine != EM_X86_64 || !section)
		return false;
	struct span code = elf_file_section_bytes(&binary->file, section);
	const uint8_t *bytes = code.data;
	const uint8_t *begins = memmem(bytes, code.size, down, sizeof(down));
	const uint8_t *ends = memmem(bytes, code.size, up, sizeof(up));
	if (!begins || !ends)
		return false;
	for (size_t at = 0; at < code.size; at++) {
		bool lower = bytes + at >= begins + sizeof(down) && bytes + at <= ends + 3;
		frame_rule rule = frame_rules_find(&binary->rules, section->offset + at);
		assert_int_equal(frame_rule_cfa(rule), FRAME_CFA_STACK);
		assert_int_equal(frame_rule_offset(rule), lower ? 16 : 8);
		assert_int_equal(frame_rule_pointer(rule), FRAME_POINTER_SAME);
	}
	return true;
}

static int check_ends(struct dl_phdr_info *info, size_t size, void *count)
{
	struct binary binary;
	(void)size;
	if (info->dlpi_name[0] != '/' || !open_binary(info->dlpi_name, &binary))
		return 0;
	*(unsigned *)count += check_section(&binary, ".init") + check_section(&binary, ".fini");
	close_binary(&binary);
	return 0;
}

static void what_begins_and_ends_a_library_has_rules(void **state)
{
	unsigned count = 0;
	(void)state;
	dl_iterate_phdr(check_ends, &count);
	if (!count)
		SKIP("no library here has such code");
	printf("%u of .init and .fini\n", count);
}

static int check_library(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	if (info->dlpi_name[0] == '/' && check_file(info->dlpi_name))
		++*(unsigned *)count;
	return 0;
}

static void rules_of_what_this_program_runs_are_those_of_libdw(void **state)
{
	unsigned count = 0;
	(void)state;
	assert_true(check_file("/proc/self/exe"));
	dl_iterate_phdr(check_library, &count);
	assert_true(count >= 2); /* the C library, and what loads it */
}

static void rules_of_large_programs_are_those_of_libdw(void **state)
{
	static const char *const patterns[] = { "/usr/lib/gcc/*/*/cc1",
						"/usr/bin/python3",
						"/usr/bin/perl",
						"/usr/lib/*/libstdc++.so.6",
						"/usr/lib/gcc-cross/*/*/cc1",
						"/usr/aarch64-linux-gnu/lib/libc.so.6",
						"/usr/aarch64-linux-gnu/lib/libstdc++.so.6" };
	unsigned count = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t found;
		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		count += check_file(found.gl_pathv[0]);
		globfree(&found);
	}
	if (!count)
		SKIP("none of them is here");
}

/* Code without entries is searched for what signals' handlers return by, and a large program has
 * much of it. */
static void as_much_code_is_searched_as_a_library_has(void **state)
{
	static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	const size_t size = 9u << 20, near = 7u << 20, far = size - 64;
	(void)state;
	uint8_t *code = calloc(1, size);
	assert_non_null(code);
	memcpy(code + near, sigreturn, sizeof(sigreturn));
	memcpy(code + far, sigreturn, sizeof(sigreturn));
	struct elf_bytes_section text = {
		".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, code, size, 0, 0
	};
	CLEANUP(buffer_release)
	struct buffer bytes = elf_bytes_make(true, EM_X86_64, 0x400000, &text, 1);
	struct elf_file file;
	struct frame_rules rules;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
	assert_int_equal(frame_rules_read(&file, &rules), 0);
	uint64_t start = elf_file_section(&file, ".text")->offset;
	assert_int_equal(frame_rule_cfa(frame_rules_find(&rules, start + near)), FRAME_CFA_SIGNAL);
	assert_int_equal(frame_rules_find(&rules, start + far), FRAME_CFA_NONE);
	frame_rules_release(&rules);
	elf_file_release(&file);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_what_this_program_runs_are_those_of_libdw),
		cmocka_unit_test(rules_of_large_programs_are_those_of_libdw),
		cmocka_unit_test(what_begins_and_ends_a_library_has_rules),
		cmocka_unit_test(as_much_code_is_searched_as_a_library_has),
	};
	return cmocka_run_group_tests_name("frame rules", tests, NULL, NULL);
}
