#include "collect/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define STATUS_BYTES 2048 /* its first lines are enough */

static bool take_number(const char *text, const char *key, uint32_t *number)
{
	const char *line = strstr(text, key);
	return line && sscanf(line + strlen(key), " %" SCNu32, number) == 1;
}

bool proc_status_parse(const char *text, struct proc_status *status)
{
	const char *state = strstr(text, "\nState:\t");
	*status = (struct proc_status){ 0 };
	if (!state || !take_number(text, "\nPid:", &status->pid) ||
	    !take_number(text, "\nPPid:", &status->parent))
		return false;
	status->state = state[strlen("\nState:\t")];
	return status->state != 0;
}

int proc_status_read(uint32_t pid, struct proc_status *status)
{
	char text[STATUS_BYTES];
	snprintf(text, sizeof(text), "/proc/%" PRIu32 "/status", pid);
	CLEANUP(close_fd) int fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = 0;
	return proc_status_parse(text, status) ? 0 : -EBADMSG;
}
