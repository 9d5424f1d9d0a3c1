/*
 * test_profile - profiles made in a few words, whose every figure is known: samples
 * of a procedure, stacks as "main;run;work". Procedures are
 * bare names, so no binary and no symbol is needed. A test that runs out of
 * memory aborts.
 */
#pragma once

#include <stdint.h>

#include "profile/profile.h"

struct test_profile {
	struct profile *profile;
	uint32_t event, context, image; /* the current ones, of what is added next; image 0: none */
};

struct test_profile test_profile_new(void);
/* A sampled event of fixed period; becomes the current one. */
uint32_t test_event(struct test_profile *test, const char *name, uint64_t period);
/* An event as given; becomes the current one. */
uint32_t test_event_full(struct test_profile *test, const struct profile_event *event);
/* A context as given, its numbers by optional_of(); becomes the current one. */
uint32_t test_context(struct test_profile *test, const struct profile_context *context);
/* An image of that kind: of that name, or where `build_id` (its bytes as text) is not NULL of that
 * build-id and path. Becomes the current one. */
uint32_t test_image(struct test_profile *test, enum image_kind kind, const char *name,
		    const char *build_id);
/* An image as given; becomes the current one. */
uint32_t test_image_full(struct test_profile *test, const struct profile_image *image);
/* `samples` samples of equal weight in a procedure of that name. */
void test_flat(struct test_profile *test, const char *procedure, uint64_t samples, uint64_t weight);
void test_flat_cell(struct test_profile *test, const char *procedure, const struct cell *cell);
/* The same of a stack, outermost first; they also count for the procedure at its end. */
void test_stack(struct test_profile *test, const char *stack, uint64_t samples, uint64_t weight);
/* Samples at an address of the current image. */
void test_address(struct test_profile *test, uint64_t vaddr, uint64_t samples, uint64_t weight);
/* A stack that is this address alone. */
void test_stack_address(struct test_profile *test, uint64_t vaddr, uint64_t samples,
			uint64_t weight);
/* /bin/app: outer() at 0x100 to 0x1ff, with inner() inlined from 0x140 on; becomes the current
 * image. */
void test_inlined_code(struct test_profile *test);
/* optional_cpu 0: of the whole recording; event 0 in `item` of the whole machine. */
void test_bill(struct test_profile *test, uint32_t event, const char *item, uint64_t amount);
/* The sum of an item of the profile's bill over all events and CPUs; -1: it has none. */
int64_t test_billed(const struct profile *profile, const char *item);
void test_source(struct test_profile *test, const char *host, uint64_t cpus, uint64_t duration_ns);

struct cell test_cell(uint64_t samples, uint64_t weight);
