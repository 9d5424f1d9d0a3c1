/*
 * confinement_kind - the kinds of helper processes, by what they may do, and what each is confined
 * to (confine/confinement.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum confinement_kind {
	CONFINEMENT_PARSE, /* computes and answers: no file, no process, no network */
	CONFINEMENT_OPEN,  /* opens strangers' files to read them: /proc and openat2() */
	CONFINEMENT_STEP,  /* single-steps strangers' threads: ptrace() */
	CONFINEMENT_KINDS
};

/* Layers that do not hold, as bits of a set. */
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
	 * PARSE: called in the kernel's place where a library opens a file for reading that another
	 * file names, and where it asks for the name of a descriptor (readlink() of
	 * /proc/self/fd/N). They return a descriptor, or the length of the name, which has no NUL;
	 * or a negative errno. Both NULL: such calls are refused.
	 */
	int (*open)(void *context, const char *path);
	long (*name)(void *context, int fd, char *name, size_t size);
	void *context;
};
