#include "profile/apart.h"

#include <stdlib.h>

#include "profile/profile.h"

bool *profile_stacks_apart(const struct profile *profile)
{
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	size_t count = profile_table(profile, PROFILE_EVENT)->count;
	bool *apart = calloc(count + 1, sizeof(*apart));
	if (!apart)
		return NULL;
	for (size_t row = 0; row < stacks->count; row++)
		apart[table_keys(stacks, row)[STACK_EVENT]] = true;
	for (size_t id = 1; id <= count; id++)
		apart[id] = apart[id] && profile_event(profile, id).apart;
	apart[0] = false;
	return apart;
}
