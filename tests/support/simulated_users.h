/*
 * simulated_users - which instructions wait, on a machine that issues in order, for a value that
 * comes late: the first that needs it, in its block or in one behind it, by how often each edge
 * was taken. Part of the simulated machine (simulated_machine.h).
 *
 * An instruction that needs itself what it reads from memory (it jumps there, or writes memory)
 * waits itself. For a value that is overwritten before it is needed, none waits. The wait is
 * shorter by the time that blocks in between take. Where a value goes to another procedure
 * before it is needed, the exact program does not say to which: that is kept apart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/exact_program.h"

enum late_place {
	LATE_HERE,	 /* `instruction` waits */
	LATE_IN_CALLEES, /* a call, or a jump out of the procedure, handed it on */
	LATE_IN_CALLERS, /* it was returned */
};

struct late_user {
	enum late_place place;
	uint32_t instruction;
	unsigned number; /* of the register that takes it to another procedure */
	double share;	 /* of the times that the value was late */
	/* Cycles since the block that made the value ended, 0 within it; of a register since
	 * `instruction`. */
	double passed;
};

struct late_users {
	struct late_user *list;
	size_t count, capacity;
};

struct late_search {
	const struct exact_procedure *exact;
	const double *at; /* by instruction: the cycle of its block in which it issues */
	double longest;	  /* after so many cycles nothing is late any more */
};

/* Adds the users of what instruction i of `block` loads or computes. */
void late_users_of_result(const struct late_search *search, uint32_t block, uint32_t i,
			  struct late_users *out);
/* Adds the users of a register's value that is late when `instruction` of `block` begins. */
void late_users_of_register(const struct late_search *search, uint32_t block, uint32_t instruction,
			    unsigned number, struct late_users *out);
void late_users_release(struct late_users *users);
