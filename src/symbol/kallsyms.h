/*
 * kallsyms - the kernel's own symbols, from the bytes of /proc/kallsyms and
 * /proc/modules. Only text counts (t, T, w, W). Names borrow from the bytes,
 * which must outlive the table.
 *
 * A kernel that hides its addresses from us (kptr_restrict) prints zeros: the
 * table then is `hidden` and empty; nothing is guessed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

struct error;
struct record_set;

struct kernel_symbol {
	uint64_t address;
	uint64_t size_bytes; /* up to the next symbol or the end of its text; of the last 4 KiB */
	struct span name;
	struct span module; /* without brackets; empty for the kernel itself; "bpf",
			       "__builtin__ftrace", ... */
	char type;	    /* t T w W */
};

struct kallsyms {
	struct kernel_symbol *symbols; /* by address, one per address */
	size_t count;
	uint64_t stext, etext; /* the kernel's text; 0: not there */
	bool hidden;	       /* all addresses are zero */
	size_t bad;	       /* lines that made no sense */
};

/* Returns 0 or -ENOMEM. */
int kallsyms_parse(struct span bytes, struct kallsyms *kallsyms);
void kallsyms_release(struct kallsyms *kallsyms);
/* The symbol whose extent holds `address`, or NULL. */
const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address);

struct kernel_module {
	struct span name;
	uint64_t base; /* of its text; 0: hidden */
	uint64_t size_bytes;
};
struct kernel_modules {
	struct kernel_module *list; /* by base */
	size_t count;
	size_t bad;
};
int kernel_modules_parse(struct span bytes, struct kernel_modules *modules);
void kernel_modules_release(struct kernel_modules *modules);
/*
 * Appends a FUNCTION record for each function that holds one of `vaddrs` (rising,
 * counted from `base`: _stext, a module's base, a BPF program's start) and belongs to
 * `module` (empty: the kernel). Returns how many of the vaddrs were found, or -ENOMEM.
 */
long kallsyms_records(const struct kallsyms *kallsyms, struct span module, uint64_t base,
		      const uint64_t *vaddrs, size_t count, struct record_set *out);
