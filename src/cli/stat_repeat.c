#include "cli/stat_repeat.h"
int stat_repeat(struct stat_task *task, struct stat_output *output)
{
	(void)task;
	(void)output;
	return 1;
}
