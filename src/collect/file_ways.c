#include "collect/file_ways.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/file.h"
#include "collect/shares.h"
#include "image/writer.h"

bool file_ways_refused(int code)
{
	return code == -EDQUOT || code == -ETIMEDOUT || code == -ECANCELED || code == -EBUSY;
}

bool file_ways_other_generation(const struct file *file, const struct safe_file *opened)
{
	return file->generation_known && opened->generation_known &&
	       (uint32_t)file->generation != opened->generation;
}

/*
 * Is it the file that was mapped? Its inode alone does not tell: a file system that a user serves
 * or fills has any number, and a process opens what its own mounts show. The device of a mapping
 * and that of stat(2) differ on overlayfs and btrfs: there a mapping of it tells, which who opened
 * it made, and what only root and we can write is taken without (Linux 6.x names files on an
 * overlay by another device in /proc than in records).
 */
static bool is_mapped_file(const struct file *file, const struct safe_file *opened)
{
	uint64_t device = makedev(file->major, file->minor);
	if (opened->inode != file->inode || file_ways_other_generation(file, opened))
		return false;
	return opened->device == device || opened->writer == 0 ||
	       (opened->mapped_inode == file->inode && opened->mapped_device == device);
}

enum way {
	WAY_OURS,	/* the path of a stranger's process, as we see it */
	WAY_PATH,	/* the path, as the process sees it */
	WAY_MAPPING,	/* /proc/PID/map_files */
	WAY_EXECUTABLE, /* /proc/PID/exe */
	WAY_ENDED,	/* the path as we see it, of a process that may be gone */
	WAYS
};

static bool way_applies(enum way way, const struct file_hint *hint, const char *path)
{
	if (way == WAY_OURS)
		return path && hint->payer && hint->payer->strange;
	return path || way == WAY_MAPPING || way == WAY_EXECUTABLE;
}

static int open_by_way(struct file_table *table, const struct file_hint *hint, const char *path,
		       enum way way, struct safe_file *opened)
{
	pid_t pid = (pid_t)hint->pid;
	switch (way) {
	case WAY_OURS:
		return reader_open_path(table->reader, 0, path, OWNER_PUBLIC, opened, NULL);
	case WAY_PATH: /* Nor can a path in its own mounts lead to what it may not read. */
		return reader_open_path(table->reader, pid, path, OWNER_PUBLIC, opened, NULL);
	case WAY_MAPPING:
		return reader_open_mapping(table->reader, pid, hint->start, hint->end, opened,
					   NULL);
	case WAY_EXECUTABLE:
		return reader_open_executable(table->reader, pid, opened, NULL);
	default:
		return reader_open_path(table->reader, 0, path, OWNER_ANY, opened, NULL);
	}
}

/* Which of two ways' codes says more: that nobody answered, then that there was no time, then that
 * the file was too large where another way found none. */
static int weightier(int code, int other)
{
	if (code == -ETIMEDOUT || other == -ETIMEDOUT)
		return -ETIMEDOUT;
	if (file_ways_refused(other))
		return other;
	return code == -ENOENT && other == -EFBIG ? other : code;
}

/* A stranger's path is looked up where we see it only for a file of the mapping's own device: else
 * he could choose which file of ours gives his its name. */
static bool is_wanted(const struct file *file, enum way way, const struct safe_file *opened)
{
	bool same_device = opened->device == makedev(file->major, file->minor);
	return is_mapped_file(file, opened) && (way != WAY_OURS || same_device);
}

int file_ways_open(struct file_table *table, const struct file *file, const struct file_hint *hint,
		   const char *path, struct safe_file *opened, bool *ours)
{
	struct safe_file seen = { 0 };
	int code = -ENOENT;
	for (enum way way = WAY_OURS; way < WAYS; way++) {
		if (!way_applies(way, hint, path))
			continue;
		int ret = open_by_way(table, hint, path, way, opened);
		if (ret == 0 && (way == WAY_OURS || way == WAY_ENDED))
			seen = *opened;
		if (ret == 0 && is_wanted(file, way, opened)) {
			*ours = seen.inode == opened->inode && seen.device == opened->device;
			return 0;
		}
		if (ret == 0)
			close(opened->fd);
		else
			code = weightier(code, ret);
	}
	return code;
}

int file_ways_open_own(struct file_table *table, const char *path, struct share *payer,
		       struct safe_file *own)
{
	struct share_visit visit = shares_begin_visit(table->shares, payer, table->reader);
	int ret = reader_open_path(table->reader, 0, path, OWNER_ANY, own, NULL);
	shares_end_visit(table->shares, &visit, table->reader);
	return ret;
}

/* A build-id alone counts only in a file that nobody but root and we can write. */
static bool same_build(const struct identity *a, const struct identity *b, uint64_t writer)
{
	return (a->content != CONTENT_NONE || !writer) && a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
	       a->content == b->content && memcmp(&a->hash, &b->hash, sizeof(a->hash)) == 0;
}

/*
 * Whether what was opened again is what was identified; closes it when not. The kernel keeps the
 * time of the last change, but for file systems that a user serves.
 */
static bool is_unchanged(struct file_table *table, const struct file *file,
			 const struct safe_file *opened)
{
	bool told_by_kernel = writer_kind(opened->writer) != WRITER_MOUNTER;
	bool other = file_ways_other_generation(file, opened);
	if (!other && opened->inode == file->inode && opened->device == file->device &&
	    opened->size_bytes == file->size_bytes && opened->changed_ns == file->changed_ns &&
	    (told_by_kernel || !file->identity || file->identity->content == CONTENT_NONE))
		return true;
	struct identity identity;
	if (!other && file->identity && opened->writer == file->writer &&
	    reader_identify_content(table->reader, opened->fd,
				    (enum content_kind)file->identity->content, file_unique(file),
				    &identity, NULL) == 0 &&
	    same_build(&identity, file->identity, file->writer))
		return true;
	close(opened->fd);
	return false;
}

/* What the reader opened, when it is the same file still; else -1. *code becomes `ret` when that
 * was a refusal. */
static int take_unchanged(struct file_table *table, const struct file *file, int ret,
			  const struct safe_file *opened, int *code)
{
	if (ret == 0 && is_unchanged(table, file, opened))
		return opened->fd;
	if (file_ways_refused(ret))
		*code = ret;
	return -1;
}

static int open_at_path(struct file_table *table, const struct file *file, uint32_t pid, int *code)
{
	struct safe_file opened;
	int ret = reader_open_of_user(table->reader, (pid_t)pid, file->path, OWNER_PUBLIC,
				      file->owner, &opened, NULL);
	return take_unchanged(table, file, ret, &opened, code);
}

/* Whether file->path leads us to it, and nobody can make us wait there. */
static bool is_at_own_path(const struct file *file)
{
	return file->by_path && file->path_trusted;
}

/* By its path as a process that maps it sees it, by its path as we see it unless that was tried,
 * and by what such a process maps or executes. */
static int open_as_seen(struct file_table *table, const struct file *file, int *code)
{
	struct safe_file opened;
	const uint32_t pids[] = { file->latest_pid, file->pid };
	int fd = open_at_path(table, file, pids[0], code);
	if (fd < 0 && pids[1] != pids[0])
		fd = open_at_path(table, file, pids[1], code);
	if (fd < 0 && !is_at_own_path(file))
		fd = open_at_path(table, file, 0, code);
	/* It may have no name any more, and be run still. */
	if (fd < 0) {
		int ret = reader_open_mapping(table->reader, (pid_t)file->latest_pid, file->start,
					      file->end, &opened, NULL);
		fd = take_unchanged(table, file, ret, &opened, code);
	}
	if (fd < 0) {
		int ret = reader_open_executable(table->reader, (pid_t)file->pid, &opened, NULL);
		fd = take_unchanged(table, file, ret, &opened, code);
	}
	return fd;
}

static int open_again(struct file_table *table, const struct file *file)
{
	int code = -ENOENT;
	if (!table->reader)
		return code;
	int fd = is_at_own_path(file) ? open_at_path(table, file, 0, &code) : -1;
	if (fd >= 0)
		return fd;
	struct share_visit visit = shares_begin_visit(table->shares, file->through, table->reader);
	fd = open_as_seen(table, file, &code);
	shares_end_visit(table->shares, &visit, table->reader);
	return fd >= 0 ? fd : code;
}

int file_ways_open_known(struct file_table *table, const struct file *file)
{
	if (file->fd < 0)
		return open_again(table, file);
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 ? fd : -errno;
}
