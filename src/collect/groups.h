/*
 * groups - the paths of the control groups of processes, by number, and which share pays for each.
 * Groups come and go with containers and sessions: those that no process is in are forgotten when
 * an epoch ends. Number 0 is no group.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "profile/byte_pool.h"

struct process_table;
struct share;
struct shares;

struct group_payer {
	struct share *share;
	uint64_t amount; /* of its SHARE_CONTEXTS */
};

struct groups {
	struct byte_pool paths;
	struct group_payer *payers; /* payers[number - 1] */
	size_t capacity;
};

void groups_release(struct groups *groups); /* also right for zeroed ones */
/* Whether the group is known, and then its number. */
bool groups_find(const struct groups *groups, struct span path, uint32_t *number);
/* Stores the number of a new group, for which `share` pays; where it has no room for it *number is
 * left alone. 0 or -ENOMEM. */
int groups_add(struct groups *groups, struct shares *shares, struct share *share, struct span path,
	       uint32_t *number);
static inline struct span groups_path(const struct groups *groups, uint32_t number)
{
	return byte_pool_get(&groups->paths, number);
}

/*
 * The groups that processes are in still. groups_plan() puts them into *next, which is zeroed, with
 * numbers[old], zeroed as well, for each; it changes nothing else. 0 or -ENOMEM. groups_renumber()
 * then exchanges *groups and *next, tells processes their new numbers, and gives back what the
 * others took of shares.
 */
int groups_plan(const struct groups *groups, const struct process_table *processes,
		struct groups *next, uint32_t *numbers);
void groups_renumber(struct groups *groups, struct groups *next, const uint32_t *numbers,
		     struct process_table *processes, struct shares *shares);
