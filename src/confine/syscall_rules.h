/*
 * syscall_rules - which system calls each kind of helper process may make
 * (confine/confinement.h): the lists themselves.
 */
#pragma once

#include <stdint.h>

#include "confine/confinement_kind.h"

struct syscall_filter;

/* A table of open_how that nobody can write to any more, for openat2(): its address is the one
 * thing about them that a filter sees. */
#define SEALED_TABLE_BYTES (16u << 10) /* and it lies on a multiple of that */
#define SEALED_ENTRY_BYTES 32u

/* Adds the rules of wanted->kind. `sealed`: the table's address, below 4 GiB; 0: there is none. */
void syscall_rules_add(struct syscall_filter *filter, const struct confinement *wanted,
		       uint32_t sealed);
