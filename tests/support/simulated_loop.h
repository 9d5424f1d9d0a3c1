/*
 * simulated_loop - a loop whose rounds differ in what they cost, on a machine that exists in tests
 * alone, and paths that begin where its time is spent and are interpreted from there: how often
 * its branch is seen to be taken, against how often it is. It shares nothing with src but
 * collect/edge_window.h, which is what it tries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct random_state;

struct simulated_loop {
	unsigned instructions,
		taken_instructions; /* of a round, by its branch, which is the second */
	unsigned period;	    /* in rounds, of which the last is taken; 0: at random */
	double taken;		    /* then this share of the rounds is */
	double slow;	/* what a round that is taken takes longer, in times of an instruction */
	bool before;	/* which waits at the branch; else at the instruction behind it */
	unsigned known; /* rounds until a condition is not known, the mean; 0: all are known */
};

struct simulated_shares {
	double truth;
	double from_start; /* as seen when all that counts are the first instructions of a path */
	double in_window;  /* as edge_window.h has it */
};

/* Of that many paths. Equal for equal states. Ends the program without memory. */
struct simulated_shares simulated_loop_shares(const struct simulated_loop *loop, unsigned paths,
					      struct random_state *random);
