#include "cli/task_list.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cli/message.h"

static bool is_among(const pid_t *tasks, size_t count, pid_t task)
{
	for (size_t i = 0; i < count; i++)
		if (tasks[i] == task)
			return true;
	return false;
}

int task_list_parse(const struct verb *verb, const struct option_list *list, const char *what,
		    pid_t *tasks, size_t *count)
{
	for (size_t i = 0; i < list->count; i++) {
		CLEANUP(free_pointer) char *text = strdup(list->items[i]);
		char *rest = text;
		if (!text) {
			message_error("out of memory for %s", what);
			return 1;
		}
		for (char *item; (item = strsep(&rest, ","));) {
			uint64_t value;
			if (!number_parse_u64(item, &value) || value == 0 || value > INT32_MAX)
				return options_misuse(verb, "%s '%s' is no process number", what,
						      item);
			if (*count == TASK_LIST_MOST)
				return options_misuse(verb, "more than %d of %s", TASK_LIST_MOST,
						      what);
			if (!is_among(tasks, *count, (pid_t)value))
				tasks[(*count)++] = (pid_t)value;
		}
	}
	return 0;
}
