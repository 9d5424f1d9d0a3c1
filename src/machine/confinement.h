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

struct error;
struct syscall_filter;

enum confinement_kind {
	CONFINEMENT_PARSE, /* computes and answers: no file, no process, no network */
	CONFINEMENT_OPEN,  /* opens strangers' files to read them: /proc and openat2() */
	CONFINEMENT_STEP,  /* single-steps strangers' threads: ptrace() */
	CONFINEMENT_KINDS
};

/* Layers that did not hold, as bits. */
enum confinement_layer {
	CONFINEMENT_FILTER = 1,		 /* seccomp */
	CONFINEMENT_LANDLOCK = 2,	 /* only for PARSE: it would forbid the others their work */
	CONFINEMENT_LANDLOCK_TCP = 4,	 /* Linux 6.7 */
	CONFINEMENT_LANDLOCK_PEER = 8,	 /* abstract sockets and signals: Linux 6.12 */
	CONFINEMENT_OWN_USER = 16,	 /* root: in a user namespace that has no such user */
	CONFINEMENT_SEALED_OPEN = 32,	 /* OPEN: openat2() could be asked for writing */
	CONFINEMENT_NARROW_MAPS = 64,	 /* OPEN: cap_sys_admin, before Linux 5.9 */
	CONFINEMENT_SHARED_MEMORY = 128, /* what was inherited is still there */
};

struct confinement {
	enum confinement_kind kind;
	int socket; /* the one descriptor that is written to */
	/*
	 * PARSE: who answers in the kernel's place where a library opens for reading what a file
	 * names, and asks for the name of a descriptor (readlink() of /proc/self/fd/N). Both NULL:
	 * refused. A descriptor, or the size of the name without its end; or a negative errno.
	 */
	int (*open)(void *context, const char *path);
	long (*name)(void *context, int fd, char *name, size_t size);
	void *context;
};

/*
 * The process must have one thread, and keeps its descriptors. Returns 0 with the layers
 * that are missing, or a negative errno, and then must not go on.
 */
int confine(const struct confinement *wanted, uint32_t *missing);

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
