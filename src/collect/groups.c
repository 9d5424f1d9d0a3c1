#include "collect/groups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collect/shares.h"
#include "image/process_table.h"

#define PATH_UNIT_BYTES 256u /* of a path count as another name */

void groups_release(struct groups *groups)
{
	byte_pool_release(&groups->paths);
	free(groups->payers);
	*groups = (struct groups){ 0 };
}

static int add(struct groups *groups, struct span path, const struct group_payer *payer,
	       uint32_t *number)
{
	if (array_reserve(&groups->payers, &groups->capacity, groups->paths.count,
			  sizeof(*groups->payers)) < 0)
		return -ENOMEM;
	int ret = byte_pool_add(&groups->paths, path, number);
	if (ret == 0)
		groups->payers[*number - 1] = *payer;
	return ret;
}

bool groups_find(const struct groups *groups, struct span path, uint32_t *number)
{
	uint32_t known;
	if (!byte_pool_find(&groups->paths, path, &known))
		return false;
	*number = known;
	return true;
}

int groups_add(struct groups *groups, struct shares *shares, struct share *share, struct span path,
	       uint32_t *number)
{
	const struct group_payer payer = { share, 1 + path.size / PATH_UNIT_BYTES };
	return share_take(shares, share, SHARE_CONTEXTS, payer.amount)
		       ? add(groups, path, &payer, number)
		       : 0;
}

int groups_plan(const struct groups *groups, const struct process_table *processes,
		struct groups *next, uint32_t *numbers)
{
	size_t position = 0;
	int ret = 0;
	for (const struct process *process;
	     ret == 0 && (process = number_map_next(&processes->processes, &position));) {
		uint32_t number = process->group;
		if (number && !numbers[number])
			ret = add(next, groups_path(groups, number), &groups->payers[number - 1],
				  &numbers[number]);
	}
	return ret;
}

void groups_renumber(struct groups *groups, struct groups *next, const uint32_t *numbers,
		     struct process_table *processes, struct shares *shares)
{
	size_t position = 0;
	for (struct process *process;
	     (process = number_map_next(&processes->processes, &position));)
		process->group = numbers[process->group];
	for (size_t i = 0; i < groups->paths.count; i++)
		if (!numbers[i + 1])
			share_give_back(shares, groups->payers[i].share, SHARE_CONTEXTS,
					groups->payers[i].amount);
	struct groups before = *groups;
	*groups = *next;
	*next = before;
}
