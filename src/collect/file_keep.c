#include "collect/file_keep.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/file.h"

/* Closes what is kept of it. */
static void let_go(struct file_table *table, struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->copied)
		held_files_drop(&table->keeping, file->copy_bytes);
	file->fd = -1;
	file->copied = false;
}

static bool has_room(const struct file_table *table, const struct file *file)
{
	return held_files_room(&table->keeping, file->size_bytes, file->by_path);
}

bool file_keep_make_room(struct file_table *table, const struct file *file)
{
	for (size_t i = 0; i < table->count && !has_room(table, file); i++)
		if (table->files[i] && table->files[i]->copied && !table->files[i]->sampled)
			let_go(table, table->files[i]);
	return has_room(table, file);
}

void file_keep_forget(struct file_table *table, const bool *in_use)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++)
		if (table->files[i] && !in_use[i + 1])
			let_go(table, table->files[i]);
	for (size_t i = 0; i < table->held_count; i++)
		if (in_use[table->held[i]])
			table->held[kept++] = table->held[i];
	table->held_count = kept;
}

void file_keep_copy(struct file_table *table, struct file *file, int fd)
{
	if (file->sampled)
		file_keep_make_room(table, file);
	uint64_t size_bytes;
	int copy = held_files_copy(&table->keeping, fd, file->by_path, &size_bytes);
	if (copy < 0)
		return;
	file->fd = copy;
	file->copied = true;
	file->copy_bytes = size_bytes;
}

/* Gives up the descriptor at that position of the list. A file without a name could not be opened
 * again: it is copied if it has samples. */
static void stop_holding(struct file_table *table, size_t position)
{
	struct file *file = file_table_get(table, table->held[position]);
	int fd = file->fd;
	struct stat info;
	file->fd = -1;
	if (file->sampled && file->state == FILE_IDENTIFIED && fstat(fd, &info) == 0 &&
	    info.st_nlink == 0)
		file_keep_copy(table, file, fd);
	close(fd);
	table->held_count--;
	memmove(table->held + position, table->held + position + 1,
		(table->held_count - position) * sizeof(table->held[0]));
}

void file_keep_held(struct file_table *table, uint32_t number, int fd)
{
	if (table->held_count == HELD_MOST) {
		size_t position = 0;
		while (position < HELD_MOST &&
		       file_table_get(table, table->held[position])->sampled)
			position++;
		stop_holding(table, position < HELD_MOST ? position : 0);
	}
	file_table_get(table, number)->fd = fd;
	table->held[table->held_count++] = number;
}

void file_keep(struct file_table *table, uint32_t number, const struct safe_file *opened)
{
	struct file *file = file_table_get(table, number);
	if (!file->elsewhere) {
		file_keep_held(table, number, opened->fd);
		return;
	}
	if (opened->copied) {
		/* its file system may not answer a second time */
		if (held_files_room(&table->keeping, opened->size_bytes, file->by_path)) {
			held_files_count(&table->keeping, opened->size_bytes);
			file->copied = true;
			file->copy_bytes = opened->size_bytes;
			file->fd = opened->fd;
			return;
		}
	} else if (opened->size_bytes <= COPY_AT_ONCE_BYTES) {
		file_keep_copy(table, file, opened->fd);
	}
	close(opened->fd);
}
