/*
 * jit_beside - names of code that was compiled at run time, from files that lie
 * beside a recording: jit-PID.dump (with code and lines), else perf-PID.map, each
 * read once, also when the process became another program (exec). They are looked for
 * only there: in /tmp of this machine may be those of another process of that number.
 *
 * Code may be compiled into memory that other code was in before. A jitdump says when,
 * by CLOCK_MONOTONIC: samples whose times are of that clock find the code of their time
 * (symbol/jit_timeline.h). For others, and in a map, the last function at an address
 * counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jit_beside;
struct profile;

/* Files are read when they are first needed. `folder` NULL: there are none. 0 or -ENOMEM. */
int jit_beside_new(const char *folder, struct jit_beside **out);
void jit_beside_free(struct jit_beside *beside);   /* NULL does nothing */
void jit_beside_freep(struct jit_beside **beside); /* for CLEANUP() */

/* The vaddr, in the image of a process's run-time code, of what lay at an address at a time. 0 or
 * -ENOMEM. */
int jit_beside_vaddr(struct jit_beside *beside, uint64_t pid, uint64_t address, uint64_t time_ns,
		     uint64_t *vaddr);
/* A number that grows with time whenever code is loaded: at times with the same number an address
 * means the same. */
uint64_t jit_beside_stage(const struct jit_beside *beside, uint64_t pid, uint64_t time_ns);

/*
 * For images of kind IMAGE_JIT, whose name ends in "PID START": adds what the files know of their
 * sampled addresses to the stash. *files counts those that were read. 0 or -ENOMEM.
 */
int jit_beside_name_images(struct jit_beside *beside, struct profile *profile, size_t *files);
/* How many jitdump files have code that was loaded over other code, where the samples' clock does
 * not say to which of these they belong. After jit_beside_name_images(). */
size_t jit_beside_untimed(const struct jit_beside *beside);
