#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/kernel_memory.h"
#include "isa/decode.h"
#include "support/refused_program.h"
#include "support/skip.h"

/* Address of a symbol of the kernel, or 0 when addresses are hidden. */
static uint64_t address_of(const char *wanted)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	unsigned long long address;
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, wanted) && sscanf(line, "%llx %*c %255s", &address, name) == 2 &&
		    strcmp(name, wanted) == 0)
			return address;
	return 0;
}

static void open_or_skip(struct kernel_memory *memory)
{
	struct error err;
	if (kernel_memory_open(memory, &err) < 0)
		SKIP_UNLOADED(err.code, err.text);
}

/* A procedure that each kernel has: decoded from its start, nothing makes no sense. */
static void the_kernels_code_can_be_decoded(void **state)
{
	(void)state;
	struct kernel_memory memory;
	struct utsname machine;
	CLEANUP(decoder_freep) struct decoder *decoder = NULL;
	uint8_t code[64], again[64];
	open_or_skip(&memory);
	uint64_t address = address_of("schedule");
	if (!address) {
		kernel_memory_close(&memory);
		SKIP("the kernel hides its addresses");
	}
	assert_int_equal(uname(&machine), 0);
	assert_int_equal(decoder_new(isa_of_name(span_of_text(machine.machine)), ISA_SYNTAX_ATT,
				     &decoder, NULL),
			 0);
	assert_int_equal(kernel_memory_read(&memory, address, code, sizeof(code)), 0);
	for (size_t at = 0; at + 15 < sizeof(code);) {
		struct instruction instruction;
		struct span rest = { (const char *)code + at, sizeof(code) - at };
		decoder_decode(decoder, rest, address + at, &instruction);
		assert_int_not_equal(instruction.kind, INSTRUCTION_DATA);
		at += instruction.length_bytes;
	}
	/* The same in pieces, across the end of a page too. */
	address = (address | 4095) - 31;
	assert_int_equal(kernel_memory_read(&memory, address, code, sizeof(code)), 0);
	for (size_t at = 0; at < sizeof(code); at += 8)
		assert_int_equal(kernel_memory_read(&memory, address + at, again + at, 8), 0);
	assert_memory_equal(code, again, sizeof(code));
	kernel_memory_close(&memory);
}

static void what_is_not_mapped_is_an_error(void **state)
{
	(void)state;
	struct kernel_memory memory;
	char byte = 'x';
	open_or_skip(&memory);
	assert_true(kernel_memory_read(&memory, UINT64_MAX - 4095, &byte, 1) < 0);
	assert_true(kernel_memory_read(&memory, 0, &byte, 1) < 0);
	assert_int_equal(byte, 'x');
	kernel_memory_close(&memory);
	assert_int_equal(kernel_memory_read(&memory, 4096, &byte, 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_code_can_be_decoded),
		cmocka_unit_test(what_is_not_mapped_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
