/*
 * culprit_story - for the tests of culprits: what went on in a procedure, as the profile
 * that a machine would have taken of it, and what is said to hold it up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/culprits/culprits.h"
#include "annotate_subject.h"

#define FIRST	     0x1000u /* the procedure's first address */
#define PERIOD	     1000u
#define EXECUTIONS   2e6
#define INSTRUCTIONS 40

/* What went on in a procedure, by instruction. */
struct story {
	const uint8_t *code;
	size_t size;
	double executed[INSTRUCTIONS]; /* 0: EXECUTIONS */
	double stall[INSTRUCTIONS];    /* cycles an execution */
	/* An event that was counted exactly, and its counts. */
	const char *event[3];
	double counted[3][INSTRUCTIONS];
	/* One that was sampled 4000 times a second, and so often elsewhere: a million events each.
	 */
	const char *elsewhere;
	uint64_t elsewhere_samples;
};

struct subject {
	struct annotate_subject names;
	struct cycles *cycles;
	struct procedure_cycles *procedure;
	struct culprits *culprits;
};

/* The CPU clock, in ns, of PERIOD. */
extern const struct profile_event clock_event;

/* An event that is sampled precisely each PERIOD, or counted alone. Returns its id. */
uint32_t add_event(struct profile *profile, const char *name, uint64_t sampled);
void add_cell(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
	      struct cell cell);
/* Of PERIOD each. */
void add_samples(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
		 uint64_t samples);

/* Takes the profile over; the procedure is its first. Fails the test where that fails. */
void subject_init(struct subject *subject, struct profile *profile, const char *pipeline);
void subject_release(struct subject *subject); /* for CLEANUP() */
/* The schedule of the code, without anything that happened; the subject's. */
struct procedure_cycles *schedule_of_code(struct subject *subject, const struct story *story,
					  const char *pipeline);
/* As it would be sampled on a machine that does what its table says, in order. */
void tell(struct subject *subject, const struct story *story);
/* Out of order: samples of the clock as they stand, `samples` by instruction. */
void tell_clock(struct subject *subject, const struct story *story, const uint64_t *samples);

const struct stall *stall_at(const struct subject *subject, uint32_t instruction);
/* NULL: the cause is not listed there. */
const struct culprit *find_culprit(const struct subject *subject, uint32_t instruction,
				   enum dynamic_cause cause);
/* Fails the test where none is listed. */
const struct culprit *first_culprit(const struct subject *subject, uint32_t instruction);
void expect_near(double value, double wanted, double ratio);
/* Listed there, blamed on that instruction; `high` in cycles an execution. */
void expect_listed(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause,
		   uint32_t blamed, double high);
/* It stalls, but not by that cause. */
void expect_cleared(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause);
void expect_only(const struct subject *subject, uint32_t instruction, enum dynamic_cause cause);
/* Of each instruction the parts are the whole, and ranges hold the rest. */
void check_sums(const struct subject *subject);

/* --- code that several tests are of --- */

/* 0 mov (%rsi),%rax  1 add %rax,%rbx  2 add $8,%rsi  3 dec %rcx  4 jnz 0  5 ret */
static const uint8_t sum[] = { 0x48, 0x8b, 0x06, 0x48, 0x01, 0xc3, 0x48, 0x83,
			       0xc6, 0x08, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0xc3 };
enum { LOAD, ADD_UP, ADVANCE, COUNT_DOWN, AGAIN };
/* 0 test $1,%cl  1 je 6  2 to 5 inc  6 inc %rbx  7 dec %rcx  8 jne 0  9 ret */
static const uint8_t diamond[] = { 0xf6, 0xc1, 0x01, 0x74, 0x0c, 0x48, 0xff, 0xc0, 0x49,
				   0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x48,
				   0xff, 0xc3, 0x48, 0xff, 0xc9, 0x75, 0xe7, 0xc3 };
enum { BRANCH = 1, ARM, JOIN = 6, LEAVE = 9 };
/* 8 inc  0 xor %edx,%edx  1 div %rcx  2 add %rax,%rbx  3 mov %rbx,(%rdi)  4 lock incl (%rsi)
 * 5 rep movsb  6 inc %rax  7 ret: positions behind the first eight */
static const uint8_t works[] = { 0x49, 0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x49, 0xff,
				 0xc3, 0x49, 0xff, 0xc0, 0x49, 0xff, 0xc1, 0x49, 0xff, 0xc2, 0x49,
				 0xff, 0xc3, 0x31, 0xd2, 0x48, 0xf7, 0xf1, 0x48, 0x01, 0xc3, 0x48,
				 0x89, 0x1f, 0xf0, 0xff, 0x06, 0xf3, 0xa4, 0x48, 0xff, 0xc0, 0xc3 };
enum { DIVIDE = 9, NEEDS_QUOTIENT, STORE, LOCKED, COPY, BEHIND_COPY };
/* 0 imul %rsi,%rax  1 test %ecx,%ecx  2 je 4  3 nop  4 add %rax,%rbx  5 add %rax,%rbp  6 ret */
static const uint8_t product[] = { 0x48, 0x0f, 0xaf, 0xc6, 0x85, 0xc9, 0x74, 0x01,
				   0x90, 0x48, 0x01, 0xc3, 0x48, 0x01, 0xc5, 0xc3 };
