/*
 * run_order - in which order the commands of a round run.
 *
 * The order is drawn anew for each round, all orders being equally likely (Fisher and Yates'
 * shuffle). That is what the comparison's level rests on: whatever the machine does in the course
 * of a round, warming up, slowing down or going back, meets either command with the same chance.
 * An order that alternates would not do: it repeats what it shares with the machine's own rhythm.
 */
#pragma once

#include <stddef.h>

struct random_state;

/* Fills order[0..commands) with the numbers of the commands, the one that runs first in front. */
void run_order_draw(struct random_state *random, size_t commands, size_t *order);
