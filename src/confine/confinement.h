/*
 * confinement - takes from a helper process what it does not need, so that who takes
 * it over through what it reads gains nothing: identity, capabilities, limits, files
 * (Landlock), system calls (seccomp). None of it can be undone.
 *
 * A layer that this machine lacks is reported and is no error, for each of the others
 * holds by itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confine/confinement_kind.h"

struct error;
struct syscall_filter;

/*
 * Confines the calling process, which must have one thread and keeps its descriptors. Returns 0 and
 * stores the layers that are missing, a set of enum confinement_layer; or a negative errno, and
 * then the process must not go on.
 */
int confine(const struct confinement *wanted, uint32_t *missing);

/* Whether the user is one of those that confined processes get, each its own, and nobody else has.
 */
bool confinement_is_own_user(uint32_t user);

/* Fills in the filter of system calls that confine() would install. */
void confinement_filter(const struct confinement *wanted, struct syscall_filter *filter);

/* Confines a child process, which ends then, and stores the layers that are missing there. 0, or a
 * negative errno. */
int confinement_probe(enum confinement_kind kind, uint32_t *missing);
int confinement_landlock_abi(void); /* 0: the kernel has no Landlock */
/* What holds on this machine. */
struct confinement_layers {
	int code; /* 0, or the negative errno for which helpers cannot be confined */
	uint32_t missing[CONFINEMENT_KINDS]; /* as confine() */
	int landlock_abi;
};
void confinement_layers_read(struct confinement_layers *layers);
/* "no system call filter, no Landlock"; "" when all hold. */
void confinement_missing_text(uint32_t missing, char *text, size_t size);

/* openat2(2), also for a process that is confined to CONFINEMENT_OPEN. The descriptor, or -1 with
 * errno. */
struct open_how;
long confinement_openat2(int folder, const char *path, const struct open_how *how);
