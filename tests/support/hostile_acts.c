#include "support/hostile_acts.h"

#include <errno.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

long hostile_result(long value)
{
	return value < 0 ? -errno : 0;
}

long hostile_opened(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

const struct hostile_act *hostile_act_at(size_t number)
{
	static const struct hostile_group *const groups[] = {
		&hostile_files,	 &hostile_processes, &hostile_networks,
		&hostile_kernel, &hostile_itself,
	};
	for (size_t i = 0; i < COUNT_OF(groups); i++) {
		if (number < groups[i]->count)
			return &groups[i]->list[number];
		number -= groups[i]->count;
	}
	return NULL;
}
