#include "cli/source_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"

struct source_file {
	char *name;
	struct buffer text;
	size_t *starts; /* of lines; one more than there are */
	size_t lines;
	bool newer;
};

void source_files_release(struct source_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->list[i].name);
		free(files->list[i].starts);
		buffer_release(&files->list[i].text);
	}
	free(files->list);
	files->list = NULL;
	files->count = files->capacity = 0;
}

/* Without lines when anything fails: a listing does without the text. */
static void read_file(const struct source_files *files, struct source_file *file)
{
	char path[4096];
	struct stat status;
	if (snprintf(path, sizeof(path), "%s%s", files->root ? files->root : "", file->name) >=
	    (int)sizeof(path))
		return;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    small_file_read_fd(fd, SOURCE_FILE_LIMIT, &file->text) < 0)
		return;
	budget_read(file->text.size);
	size_t lines = 1;
	for (size_t i = 0; i < file->text.size; i++)
		lines += file->text.data[i] == '\n';
	file->starts = calloc(lines + 1, sizeof(*file->starts));
	if (!file->starts)
		return;
	for (size_t i = 0; i < file->text.size; i++)
		if (file->text.data[i] == '\n')
			file->starts[++file->lines] = i + 1;
	if (file->text.size && file->text.data[file->text.size - 1] != '\n')
		file->starts[++file->lines] = file->text.size + 1;
	uint64_t changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u;
	file->newer = files->start_ns && changed_ns > files->start_ns;
}

static struct source_file *find(struct source_files *files, const char *name)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->list[i].name, name) == 0)
			return &files->list[i];
	if (name[0] != '/' || /* relative to a folder that nobody knows any more */
	    array_reserve(&files->list, &files->capacity, files->count, sizeof(*files->list)) < 0)
		return NULL;
	struct source_file *file = &files->list[files->count];
	*file = (struct source_file){ .name = strdup(name) };
	if (!file->name)
		return NULL;
	files->count++;
	read_file(files, file);
	return file;
}

struct span source_files_line(void *context, const char *name, uint32_t line)
{
	const struct source_file *file = find(context, name);
	if (!file || line == 0 || line > file->lines)
		return (struct span){ NULL, 0 };
	size_t start = file->starts[line - 1];
	size_t size = file->starts[line] - 1 - start;
	if (size && file->text.data[start + size - 1] == '\r')
		size--;
	return (struct span){ file->text.data + start, size };
}

size_t source_files_newer(const struct source_files *files, const char **first)
{
	size_t count = 0;
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].newer && count++ == 0)
			*first = files->list[i].name;
	return count;
}
