#include "cli/source_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/small_file.h"
#include "symbol/reader.h"

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
	hash_index_release(&files->index);
	free(files->folder);
	reader_free(files->reader);
	files->list = NULL;
	files->folder = NULL;
	files->reader = NULL;
	files->count = files->capacity = 0;
}

/* Makes the reader, whose helper processes open files, and finds `folder`. 0 or a negative errno.
 */
static int need_reader(struct source_files *files)
{
	const struct reader_options options = { .max_file_bytes = SOURCE_FILE_LIMIT };
	if (files->reader || files->failed)
		return files->reader ? 0 : -EIO;
	files->failed = true;
	if (files->root) {
		files->folder = realpath(files->root, NULL);
		if (!files->folder)
			return error_set(&files->refused, -errno, "cannot open '%s': %s",
					 files->root, strerror(errno));
	}
	int ret = reader_new(&options, &files->reader, &files->refused);
	files->failed = ret < 0;
	return ret;
}

/* A descriptor that the caller closes, or -1. */
static int open_source(struct source_files *files, const char *name, int64_t *modified_ns)
{
	struct safe_file opened;
	struct error err;
	int ret = need_reader(files);
	if (ret < 0) {
		files->refused_count++;
		return -1;
	}
	size_t inside = files->folder ? strlen(files->folder) : 0;
	if (files->folder)
		ret = reader_open_below(files->reader, files->folder, name, &opened, &err);
	if (ret == -ENOENT && strncmp(name, files->folder, inside) == 0 && name[inside] == '/')
		ret = reader_open_below(files->reader, files->folder, name + inside, &opened, &err);
	if (!files->folder)
		ret = reader_open_path(files->reader, 0, name, OWNER_PUBLIC, &opened, &err);
	if (ret == 0) {
		*modified_ns = opened.modified_ns;
		return opened.fd;
	}
	if (ret != -ENOENT && ret != -ENOTDIR && files->refused_count++ == 0)
		files->refused = err;
	if (ret == -ETIMEDOUT) { /* a mount that hangs costs one deadline, not one for each file */
		reader_free(files->reader);
		files->reader = NULL;
		files->failed = true;
		files->refused = err;
	}
	return -1;
}

/* Leaves the file without lines when anything fails. */
static void read_file(struct source_files *files, struct source_file *file)
{
	int64_t modified_ns;
	CLEANUP(close_fd) int fd = open_source(files, file->name, &modified_ns);
	if (fd < 0 || small_file_read_fd(fd, SOURCE_FILE_LIMIT, &file->text) < 0)
		return;
	budget_read_local(file->text.size, file->text.size);
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
	file->newer = files->start_ns && modified_ns > 0 && (uint64_t)modified_ns > files->start_ns;
}

static bool has_name(const void *rows, uint32_t position, const void *wanted)
{
	return strcmp(((const struct source_file *)rows)[position].name, wanted) == 0;
}

static struct source_file *find(struct source_files *files, const char *name)
{
	uint64_t hash = hash_bytes(name, strlen(name));
	uint32_t at = hash_index_find(&files->index, hash, has_name, files->list, name);
	if (at != HASH_INDEX_NONE)
		return &files->list[at];
	if (name[0] != '/' || /* relative to an unknown folder */
	    array_reserve(&files->list, &files->capacity, files->count, sizeof(*files->list)) < 0)
		return NULL;
	struct source_file *file = &files->list[files->count];
	*file = (struct source_file){ .name = strdup(name) };
	if (!file->name || hash_index_add(&files->index, hash, (uint32_t)files->count) < 0) {
		free(file->name);
		return NULL;
	}
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

size_t source_files_refused(const struct source_files *files, const char **reason)
{
	if (files->refused_count)
		*reason = files->refused.text;
	return files->refused_count;
}
