#include "collect/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "profile/profile.h"
#include "symbol/reader.h"

#define DELETED " (deleted)"
#define OPEN_ATTEMPTS                                                                              \
	4 /* in as many processes; a file that nobody can open is not tried for ever */

static void file_free(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->identity);
	free(file);
}

void file_table_release(struct file_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		file_free(table->files[i]);
	free(table->files);
	number_map_release(&table->by_inode);
	*table = (struct file_table){ 0 };
}

static struct file *add_file(struct file_table *table, enum file_kind kind, struct span path,
			     uint32_t *number)
{
	if (array_reserve(&table->files, &table->capacity, table->count, sizeof(struct file *)) < 0)
		return NULL;
	struct file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->fd = -1;
	file->kind = kind;
	file->path = strndup(path.data ? path.data : "", path.size);
	if (!file->path) {
		free(file);
		return NULL;
	}
	table->files[table->count++] = file;
	*number = (uint32_t)table->count;
	return file;
}

static int identify_vdso(struct file_table *table)
{
	struct file *file = file_table_get(table, table->vdso);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (vdso_read(&bytes, NULL) < 0)
		return 0;
	struct elf_file elf = { 0 };
	if (elf_file_parse(bytes.data, bytes.size, &elf, NULL) < 0)
		return 0;
	file->identity = calloc(1, sizeof(*file->identity));
	if (file->identity) {
		identity_of_file(&elf, file->identity);
		file->state = FILE_IDENTIFIED;
	}
	elf_file_release(&elf);
	return file->identity ? 0 : -ENOMEM;
}

int file_table_init(struct file_table *table, struct profile *session, struct reader *reader)
{
	*table = (struct file_table){ .session = session, .reader = reader };
	struct rlimit limit;
	table->fd_limit = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 4 : 64;
	if (table->fd_limit > 16384)
		table->fd_limit = 16384;
	if (!add_file(table, FILE_ANONYMOUS, span_of_text("//anon"), &table->anonymous) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso]"), &table->vdso) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso32]"), &table->vdso_narrow) ||
	    !add_file(table, FILE_VSYSCALL, span_of_text("[vsyscall]"), &table->vsyscall))
		return -ENOMEM;
	return identify_vdso(table);
}

static enum file_kind kind_of(const struct file_hint *hint)
{
	struct span path = hint->path;
	if (span_equal(path, span_of_text("[vdso]")))
		return FILE_VDSO;
	if (span_equal(path, span_of_text("[vsyscall]")))
		return FILE_VSYSCALL;
	if (path.size == 0 || span_starts_with(path, "//anon") || span_starts_with(path, "[") ||
	    span_starts_with(path, "anon_inode:") || span_starts_with(path, "/SYSV") ||
	    span_starts_with(path, "/dev/zero"))
		return FILE_ANONYMOUS;
	if (span_starts_with(path, "/dev/") && !span_starts_with(path, "/dev/shm/"))
		return FILE_SPECIAL;
	return FILE_PLAIN;
}

static struct span without_deleted(struct span path, bool *deleted)
{
	size_t size = sizeof(DELETED) - 1;
	*deleted = path.size > size &&
		   memcmp((const char *)path.data + path.size - size, DELETED, size) == 0;
	return *deleted ? (struct span){ path.data, path.size - size } : path;
}

/* Is what was opened the file that the mapping spoke of? */
static bool same_file(const struct file *file, const struct safe_file *opened)
{
	if (opened->inode != file->inode)
		return false;
	/* The device of a mapping and that of stat(2) differ on overlayfs and btrfs. A file that
	   was opened through the process itself (map_files, exe) needs no such test. */
	return true;
}

static bool open_file(struct file_table *table, const struct file *file,
		      const struct file_hint *hint, bool deleted, struct safe_file *opened)
{
	pid_t pid = (pid_t)hint->pid;
	if (!deleted &&
	    reader_open_path(table->reader, pid, file->path, OWNER_ANY, opened, NULL) == 0) {
		if (same_file(file, opened))
			return true;
		close(opened->fd);
	}
	if (reader_open_mapping(table->reader, pid, hint->start, hint->end, opened, NULL) == 0) {
		if (opened->inode == file->inode)
			return true;
		close(opened->fd);
	}
	if (reader_open_executable(table->reader, pid, opened, NULL) == 0) {
		if (opened->inode == file->inode)
			return true;
		close(opened->fd);
	}
	/* The process has ended: most files are where we see them too. */
	if (!deleted &&
	    reader_open_path(table->reader, 0, file->path, OWNER_ANY, opened, NULL) == 0) {
		if (same_file(file, opened) && makedev(file->major, file->minor) == opened->device)
			return true;
		close(opened->fd);
	}
	return false;
}

static int identify(struct file_table *table, struct file *file, const struct file_hint *hint,
		    bool deleted)
{
	struct safe_file opened;
	file->attempts++;
	if (!table->reader || !open_file(table, file, hint, deleted, &opened)) {
		file->state = FILE_GONE;
		return 0;
	}
	struct identity *identity = calloc(1, sizeof(*identity));
	if (!identity) {
		close(opened.fd);
		return -ENOMEM;
	}
	int ret = reader_identify(table->reader, opened.fd, identity, NULL);
	if (ret < 0) {
		file->state = ret == -ENOEXEC ? FILE_NOT_ELF : FILE_GONE;
		free(identity);
		if (ret == -ENOEXEC && table->kept_fds < table->fd_limit) {
			table->kept_fds++;
			file->fd = opened.fd; /* a jitdump file, perhaps */
			return 0;
		}
		close(opened.fd);
		return 0;
	}
	file->identity = identity;
	file->state = FILE_IDENTIFIED;
	file->image = 0; /* until now it was one without segments */
	if (table->kept_fds < table->fd_limit) {
		table->kept_fds++;
		file->fd = opened.fd;
		return 0;
	}
	close(opened.fd);
	return 0;
}

static uint64_t inode_key(const struct file_hint *hint)
{
	return hint->inode ^ ((uint64_t)hint->major << 52) ^ ((uint64_t)hint->minor << 32);
}

static struct file *find_same(const struct file_table *table, const struct file_hint *hint,
			      uint32_t *number)
{
	for (*number = (uint32_t)(uintptr_t)number_map_find(&table->by_inode, inode_key(hint));
	     *number;) {
		struct file *file = file_table_get(table, *number);
		if (file->inode == hint->inode && file->major == hint->major &&
		    file->minor == hint->minor &&
		    (!file->generation_known || !hint->generation_known ||
		     file->generation == hint->generation)) {
			if (hint->generation_known) {
				file->generation = hint->generation;
				file->generation_known = true;
			}
			return file;
		}
		*number = file->next;
	}
	return NULL;
}

int file_table_find(struct file_table *table, const struct file_hint *hint, uint32_t *number)
{
	enum file_kind kind = kind_of(hint);
	if (kind != FILE_PLAIN && kind != FILE_SPECIAL) {
		*number = kind == FILE_VDSO	  ? hint->narrow ? table->vdso_narrow : table->vdso
			  : kind == FILE_VSYSCALL ? table->vsyscall
						  : table->anonymous;
		return 0;
	}
	bool deleted;
	struct span path = without_deleted(hint->path, &deleted);
	struct file *file = find_same(table, hint, number);
	if (file) {
		if (file->state == FILE_GONE && file->attempts < OPEN_ATTEMPTS &&
		    file->kind == FILE_PLAIN)
			return identify(table, file, hint, deleted);
		return 0;
	}
	file = add_file(table, kind, path, number);
	if (!file)
		return -ENOMEM;
	file->pid = hint->pid;
	file->major = hint->major;
	file->minor = hint->minor;
	file->inode = hint->inode;
	file->generation = hint->generation;
	file->generation_known = hint->generation_known;
	file->next = (uint32_t)(uintptr_t)number_map_find(&table->by_inode, inode_key(hint));
	int ret = number_map_put(&table->by_inode, inode_key(hint), (void *)(uintptr_t)*number);
	if (ret < 0)
		return ret;
	return kind == FILE_PLAIN ? identify(table, file, hint, deleted) : 0;
}

bool file_is_runtime_code(const struct file *file)
{
	return file->kind == FILE_ANONYMOUS ||
	       (file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF);
}

static int make_image(struct file_table *table, struct file *file)
{
	struct profile_image image = { .kind = file->kind == FILE_VDSO ? IMAGE_VDSO : IMAGE_FILE,
				       .space = SPACE_ELF };
	struct span path = span_of_text(file->path);
	if (file->state == FILE_IDENTIFIED && file->identity->build_id_bytes) {
		image.build_id =
			(struct span){ file->identity->build_id, file->identity->build_id_bytes };
	} else if (file->state == FILE_IDENTIFIED) {
		image.hash = (struct span){ &file->identity->hash, sizeof(file->identity->hash) };
	} else {
		image.space = SPACE_OFFSET;
		image.name = path;
	}
	if (file->kind == FILE_VSYSCALL)
		image.kind = IMAGE_VDSO;
	int ret = profile_add_image(table->session, &image, &file->image);
	if (ret == 0)
		ret = profile_add_path(table->session, file->image, path);
	return ret;
}

int file_table_image(struct file_table *table, uint32_t number, uint32_t *image)
{
	struct file *file = file_table_get(table, number);
	int ret = file->image ? 0 : make_image(table, file);
	*image = file->image;
	return ret;
}

int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause)
{
	struct file *file = file_table_get(table, number);
	uint64_t vaddr = offset;
	if (file->state == FILE_IDENTIFIED &&
	    !identity_vaddr_of_offset(file->identity, offset, &vaddr)) {
		*cause = UNKNOWN_OUTSIDE_SEGMENTS;
		return 0;
	}
	frame->vaddr = vaddr;
	return file_table_image(table, number, &frame->image);
}
