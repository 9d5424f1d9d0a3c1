/*
 * confinement - takes from a process of ours what it does not need, so that who
 * takes it over through what it reads gains nothing: identity, capabilities,
 * limits, files (Landlock), system calls (seccomp). None of it can be undone.
 *
 * What a layer lacks on this machine is told, not an error, for each of the others
 * holds alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confine/confinement_kind.h"

struct error;
struct syscall_filter;

/*
 * The process must have one thread, and keeps its descriptors. Returns 0 with the layers
 * that are missing, or a negative errno, and then must not go on.
 */
int confine(const struct confinement *wanted, uint32_t *missing);

/* Whether it is one that confined processes get, each of them another; no other process has one. */
bool confinement_is_own_user(uint32_t user);

/* What the kernel's filter is made of. */
void confinement_filter(const struct confinement *wanted, struct syscall_filter *filter);

/* Does it in a child, and says what is missing there. 0, or a negative errno. */
int confinement_probe(enum confinement_kind kind, uint32_t *missing);
int confinement_landlock_abi(void); /* 0: none */
/* All that, of this machine. */
struct confinement_layers {
	int code; /* 0, or why helpers cannot be confined */
	uint32_t missing[CONFINEMENT_KINDS];
	int landlock_abi;
};
void confinement_layers_read(struct confinement_layers *layers);
/* "no system call filter, no Landlock"; "" when all hold. */
void confinement_missing_text(uint32_t missing, char *text, size_t size);

/* openat2() for a process that may be confined to OPEN. Arguments and result as syscall()'s. */
struct open_how;
long confinement_openat2(int folder, const char *path, const struct open_how *how);
