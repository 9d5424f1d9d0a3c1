/*
 * program - programs that run in the kernel (BPF; bpf(2)), and their maps: X.bpf.c in this folder
 * is compiled to an object, which culprit carries along and libbpf loads. Objects for each
 * architecture stand beside their sources (prebuilt/, tools/bpf-programs), so that building culprit
 * takes no compiler for them; the option `bpf` of meson says whether they are used, compiled
 * anew, or left out, and then nothing can be loaded.
 *
 * An object per purpose: what a recording does not need, it does not load.
 *
 * Loading is quiet: what libbpf would print is left out. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct error;

struct program_object_kind {
	const char *name;	   /* of its source, without .bpf.c */
	const char *purpose;	   /* for messages: "<purpose> takes CAP_BPF and CAP_PERFMON" */
	const char *linux_version; /* the first that can load it */
};

/* What an object is told before it is loaded. */
struct program_object_settings {
	const void *constants; /* its constants (.rodata), all of them, or NULL */
	size_t constants_size;
	const struct program_map_size {
		const char *map;
		uint32_t entries;
	} * sizes;
	size_t size_count;
};

/*
 * Loads the object and stores it in *object, for program_object_close(). Or a negative errno value:
 * -EPERM, -EOPNOTSUPP where culprit was built without it, or the kernel's; with *err saying what is
 * needed. `settings` may be NULL.
 */
int program_object_load(const struct program_object_kind *kind,
			const struct program_object_settings *settings, struct bpf_object **object,
			struct error *err);
/* Lets the kernel's side go: its maps first, and the events that they hold. NULL does nothing. */
void program_object_close(struct bpf_object *object);
/* Fills *err as program_object_load() does for an errno value of a later step; returns it. */
int program_object_refused(const struct program_object_kind *kind, int error, struct error *err);

/* Descriptors, which are the object's. A name that it does not have is our mistake. Its variables
 * are the map .bss. */
int program_object_program(const struct bpf_object *object, const char *name);
int program_object_map(const struct bpf_object *object, const char *name);

/* Runs a program of the kind that is called (SEC("syscall")) on the bytes of *context, which it may
 * change. 0 or a negative errno value. */
int program_run(int program_fd, void *context, size_t size);
/* Stores a number in an array. 0 or a negative errno value. */
int program_map_set(int map_fd, uint32_t index, uint32_t value);
struct program_time;
/* Adds what a CPU has, which may go on meanwhile; most_ns becomes the larger one. */
void program_time_add(struct program_time *sum, const struct program_time *more);
/* Has the program run at each overflow of the event `event_fd`, which it gets `number` with. A
 * descriptor of the link, whose end it stops with, or a negative errno value. Linux 5.15. */
int program_attach(int program_fd, int event_fd, uint64_t number);
