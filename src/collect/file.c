#include "collect/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool file_is_runtime_code(const struct file *file)
{
	return file->kind == FILE_ANONYMOUS ||
	       (file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF);
}

bool file_may_be_jitdump(const struct file *file)
{
	const char *name = strrchr(file->path, '/');
	return file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF && name &&
	       strncmp(name, "/jit-", 5) == 0 && strstr(name, ".dump");
}

bool file_may_stay_open(const struct file *file)
{
	return file->kind == FILE_PLAIN && file->state == FILE_IDENTIFIED &&
	       (file->fd >= 0 || !file->elsewhere);
}

void file_free(struct file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->identity);
	free(file);
}
