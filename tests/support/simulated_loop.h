/*
 * simulated_loop - a loop whose rounds differ in what they cost, on a machine that exists in tests
 * alone, and paths that begin where its time is spent and are interpreted from there: how often
 * its branch is seen to be taken, against how often it is taken. It shares nothing with src but
 * collect/edge_window.h, which it tests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct random_state;

struct simulated_loop {
	/* Of a round whose branch, its second instruction, is not taken, and of one where it is. */
	unsigned instructions, taken_instructions;
	unsigned period; /* of so many rounds the last one's branch is taken; 0: at random */
	double taken;	 /* at random: the share of rounds whose branch is taken */
	double slow;	 /* time that such a round takes longer, in times of an instruction */
	bool before;	 /* it waits at the branch; else at the instruction behind it */
	unsigned known; /* mean number of rounds until a condition is not known; 0: all are known */
};

struct simulated_shares {
	double truth;
	double from_start; /* as seen in the first instructions of each path */
	double in_window;  /* as seen in the window that edge_window.h chooses */
};

/* Shares of rounds whose branch is taken, from so many paths. Equal for equal states of `random`.
 * Ends the program when memory runs out. */
struct simulated_shares simulated_loop_shares(const struct simulated_loop *loop, unsigned paths,
					      struct random_state *random);
