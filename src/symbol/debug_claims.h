/*
 * debug_claims - what the compressed sections of an ELF file say that they unpack to. libdw
 * unpacks all of those with debug information before it reads any, so a small file that
 * says much costs much, whatever it holds.
 */
#pragma once

#include <libelf.h>

struct error;

/* Returns 0, or -ENOBUFS with *err when that is more than a file of so many packed bytes has, or
 * than this process may have. */
int debug_claims_check(Elf *elf, struct error *err);
