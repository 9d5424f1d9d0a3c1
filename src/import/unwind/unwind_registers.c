#include "import/unwind/unwind_registers.h"

#include <elf.h>

bool unwind_is_narrow(uint16_t machine)
{
	return machine == EM_386 || machine == EM_ARM;
}

#define NONE UNWIND_NOT_DWARF

/* By perf's numbers: ax, bx, cx, dx, si, di, bp, sp, ip; flags and segments; r8 to r15. */
static const uint8_t dwarf_of_x86_64[] = { 0,  3,    2,	   1,	 4,    5,    6,	   7,
					   16, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
					   8,  9,    10,   11,	 12,   13,   14,   15 };
static const uint8_t dwarf_of_i386[] = { 0, 3, 1, 2, 6, 7, 5, 4, 8 };

bool unwind_pointers(uint16_t machine, unsigned *stack, unsigned *instruction)
{
	switch (machine) {
	case EM_X86_64:
	case EM_386:
		*stack = 7;
		*instruction = 8;
		return true;
	case EM_AARCH64:
		*stack = 31;
		*instruction = 32;
		return true;
	case EM_ARM:
		*stack = 13;
		*instruction = 15;
		return true;
	default:
		return false;
	}
}

unsigned unwind_dwarf_number(uint16_t machine, unsigned number)
{
	switch (machine) {
	case EM_X86_64:
		return number < sizeof(dwarf_of_x86_64) ? dwarf_of_x86_64[number]
							: UNWIND_NOT_DWARF;
	case EM_386:
		return number < sizeof(dwarf_of_i386) ? dwarf_of_i386[number] : UNWIND_NOT_DWARF;
	case EM_AARCH64:
		return number < 32 ? number : UNWIND_NOT_DWARF; /* the pc is no DWARF register */
	default:
		return number < 16 ? number : UNWIND_NOT_DWARF;
	}
}
