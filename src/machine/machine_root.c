#include "machine/machine_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "base/small_file.h"
#include "machine/cpu_set.h"

#define ROOT_TEXT_LIMIT ((size_t)1 << 20) /* /proc/cpuinfo of 512 CPUs is some 700 KiB */

int machine_root_open(const char *path, struct machine_root *root, struct error *err)
{
	root->live = strcmp(path, "/") == 0;
	root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return error_set(err, -errno, "cannot open the folder '%s': %s", path,
				 strerror(errno));
	return 0;
}

void machine_root_close(struct machine_root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

int root_read_text(const struct machine_root *root, const char *path, struct buffer *out)
{
	return small_file_read_at(root->fd, path, ROOT_TEXT_LIMIT, out);
}

int root_read_line(const struct machine_root *root, const char *path, char *line, size_t size)
{
	line[0] = 0;
	CLEANUP(close_fd) int fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, line, size - 1);
	if (got < 0) {
		line[0] = 0;
		return -errno;
	}
	line[got] = 0;
	size_t end = strcspn(line, "\n");
	size_t start = strspn(line, " \t");
	if (start > end)
		start = end;
	while (end > start && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	memmove(line, line + start, end - start);
	line[end - start] = 0;
	return 0;
}

int root_read_u64(const struct machine_root *root, const char *path, uint64_t *value)
{
	char line[64];
	int status = root_read_line(root, path, line, sizeof(line));
	if (status)
		return status;
	return number_parse_u64(line, value) ? 0 : -EINVAL;
}

int root_read_i64(const struct machine_root *root, const char *path, int64_t *value)
{
	char line[64];
	uint64_t size;
	int status = root_read_line(root, path, line, sizeof(line));
	if (status)
		return status;
	bool negative = line[0] == '-';
	if (!number_parse_u64(line + negative, &size) || size > INT64_MAX)
		return -EINVAL;
	*value = negative ? -(int64_t)size : (int64_t)size;
	return 0;
}

int root_read_cpus(const struct machine_root *root, const char *path, struct cpu_set *set)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	memset(set, 0, sizeof(*set));
	int status = root_read_text(root, path, &text);
	const char *cpus = buffer_text(&text);
	if (status == 0 && buffer_failed(&text))
		status = -ENOMEM;
	return status ? status : cpu_set_parse(cpus, set, NULL);
}

bool root_exists(const struct machine_root *root, const char *path)
{
	return faccessat(root->fd, path, F_OK, 0) == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int root_list(const struct machine_root *root, const char *path, root_visit visit, void *context)
{
	char **names = NULL;
	size_t count = 0, capacity = 0;
	int fd = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *folder = fdopendir(fd);
	if (!folder) {
		int status = -errno;
		close(fd);
		return status;
	}
	int status = 0;
	for (struct dirent *entry; !status && (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		status = array_reserve(&names, &capacity, count, sizeof(*names));
		if (status)
			break;
		names[count] = strdup(entry->d_name);
		if (!names[count])
			status = -ENOMEM;
		else
			count++;
	}
	closedir(folder);
	if (count)
		qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; !status && i < count; i++)
		status = visit(context, names[i]);
	free_names(names, count);
	return status;
}

struct root_path root_path(const char *format, ...)
{
	struct root_path path;
	va_list args;
	va_start(args, format);
	int length = vsnprintf(path.text, sizeof(path.text), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(path.text))
		path.text[0] = 0;
	return path;
}
