/*
 * elf_symbol_name - the name that a relocation's symbol number stands for.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct elf_file;
struct elf_section;

/* Of entry `number` of `symbols`, borrowed from the file; "foo@VER" loses its version. Empty when
 * there is none. */
struct span elf_symbol_name(const struct elf_file *file, const struct elf_section *symbols,
			    uint64_t number);
