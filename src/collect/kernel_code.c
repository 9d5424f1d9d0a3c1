#include "collect/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "isa/decode.h"
#include "symbol/kallsyms.h"
#include "symbol/record.h"

void kernel_code_release(struct kernel_code *code)
{
	if (code->opened)
		kernel_memory_close(&code->memory);
	*code = (struct kernel_code){ 0 };
}

void kernel_code_open(struct kernel_code *code)
{
	code->opened = kernel_memory_open(&code->memory, NULL) == 0;
}

struct callees {
	uint64_t *list; /* addresses */
	size_t count, capacity;
};

/* Appends the targets of the procedure's calls and jumps that lie outside it. */
static int find_callees(struct decoder *decoder, struct span bytes, uint64_t address,
			struct callees *callees)
{
	for (size_t at = 0; at < bytes.size;) {
		struct instruction instruction;
		struct span rest = { (const char *)bytes.data + at, bytes.size - at };
		decoder_flow(decoder, rest, address + at, &instruction);
		at += instruction.length_bytes;
		if (!instruction.has_target ||
		    (instruction.target >= address && instruction.target - address < bytes.size))
			continue;
		if (array_reserve(&callees->list, &callees->capacity, callees->count,
				  sizeof(*callees->list)) < 0)
			return -ENOMEM;
		callees->list[callees->count++] = instruction.target;
	}
	return 0;
}

static int put_callees(const struct kallsyms *kallsyms, uint64_t base, struct callees *callees,
		       struct record_set *records)
{
	int ret = 0;
	if (callees->count)
		qsort(callees->list, callees->count, sizeof(*callees->list), sorted_compare_u64);
	for (size_t i = 0; i < callees->count && ret == 0; i++) {
		uint64_t address = callees->list[i];
		const struct kernel_symbol *symbol = kallsyms_find(kallsyms, address);
		CLEANUP(buffer_release) struct buffer content = { 0 };
		if (!symbol || symbol->address != address || (i && callees->list[i - 1] == address))
			continue;
		record_put_callee(&content, symbol->name);
		ret = record_set_take(records, RECORD_CALLEE, address - base, address - base,
				      &content);
	}
	return ret;
}

/* Adds the code of one procedure, and what it calls to *callees. 0, 1: it cannot be read, or
 * -ENOMEM.
 */
static int add_one(struct kernel_code *code, struct decoder *decoder, uint64_t base,
		   const struct record *function, struct record_set *records,
		   struct callees *callees)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	uint64_t size = function->last - function->first;
	size = size < KERNEL_CODE_MAX_BYTES ? size + 1 : KERNEL_CODE_MAX_BYTES;
	CLEANUP(free_pointer) uint8_t *bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (kernel_memory_read(&code->memory, base + function->first, bytes, size) < 0)
		return 1;
	struct span span = { (const char *)bytes, size };
	record_put_code(&content, span);
	int ret = record_set_take(records, RECORD_CODE, function->first, function->first + size - 1,
				  &content);
	return ret < 0 || !decoder ? ret
				   : find_callees(decoder, span, base + function->first, callees);
}

int kernel_code_add(struct kernel_code *code, const struct kallsyms *kallsyms, uint64_t base,
		    struct record_set *records)
{
	struct utsname machine;
	CLEANUP(decoder_freep) struct decoder *decoder = NULL;
	struct callees callees = { 0 };
	size_t functions = records->count;
	if (functions == 0 || !code->opened)
		return 0;
	kernel_memory_forget(&code->memory);
	if (uname(&machine) == 0 && decoder_new(isa_of_name(span_of_text(machine.machine)),
						ISA_SYNTAX_ATT, &decoder, NULL) == -ENOMEM)
		return -ENOMEM;
	int ret = 0;
	for (size_t i = 0; i < functions && ret >= 0; i++) {
		struct record function = records->list[i]; /* the list moves when it grows */
		if (function.kind == RECORD_FUNCTION)
			ret = add_one(code, decoder, base, &function, records, &callees);
	}
	if (ret >= 0)
		ret = put_callees(kallsyms, base, &callees, records);
	free(callees.list);
	return ret < 0 ? ret : 0;
}
