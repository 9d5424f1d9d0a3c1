/*
 * simulated_users - who waits, in order, for a value that comes late: the first that needs
 * it, in its block or in one behind it, edge by edge as often as each was gone. Part of
 * the simulated machine (simulated_machine.h).
 *
 * An instruction that needs itself what it reads from memory (it jumps there, or writes memory)
 * waits itself. What is written over before anybody needs it, nobody waits for. Time that
 * the blocks in between take is time less to wait. Where a value goes to another procedure
 * before it is needed, the exact program does not say which: that is told apart.
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
	unsigned number; /* of its register, where it is elsewhere */
	double share;	 /* of the times that it was late */
	/* Cycles since the block that made it ended, none inside of it; of a register since
	 * `instruction`. */
	double passed;
};

struct late_users {
	struct late_user *list;
	size_t count, capacity;
};

/* `at`: by instruction, the cycle of its block in which it issues. */
struct late_search {
	const struct exact_procedure *exact;
	const double *at;
	double longest; /* after so many cycles nothing is late any more */
};

/* Of what instruction i of `block` loads or computes. Adds to *out. */
void late_users_of_result(const struct late_search *search, uint32_t block, uint32_t i,
			  struct late_users *out);
/* Of one register's value that is late when `instruction` of `block` begins. */
void late_users_of_register(const struct late_search *search, uint32_t block, uint32_t instruction,
			    unsigned number, struct late_users *out);
void late_users_release(struct late_users *users);
