/*
 * unwind_registers - the registers of the machines that are unwound, by perf's
 * numbers (arch/.../include/uapi/asm/perf_regs.h) and by those of DWARF (the psABIs of
 * x86-64 and i386, "DWARF for the Arm Architecture"). Machines are EM_*.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNWIND_NOT_DWARF       255
#define UNWIND_LINK_OF_AARCH64 30 /* by either: where calls leave their return address */

/* Whether its words have 32 bits. */
bool unwind_is_narrow(uint16_t machine);
/* Where perf has the stack pointer and the instruction pointer; false for machines not known. */
bool unwind_pointers(uint16_t machine, unsigned *stack, unsigned *instruction);
/* DWARF's number of one of perf's, or UNWIND_NOT_DWARF. */
unsigned unwind_dwarf_number(uint16_t machine, unsigned number);
