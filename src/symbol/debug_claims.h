/*
 * debug_claims - how many bytes the compressed sections of an ELF file claim to unpack to. libdw
 * unpacks all of those with debug information before it reads any, so a small file that claims
 * much costs much memory, whatever it holds.
 */
#pragma once

#include <libelf.h>

struct error;

/* Returns 0, or -ENOBUFS with *err when they claim more than can be packed into that many bytes, or
 * more than this process may have. */
int debug_claims_check(Elf *elf, struct error *err);
