#include "collect/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/shares.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "image/writer.h"
#include "profile/profile.h"
#include "symbol/file_inode.h"
#include "symbol/reader.h"

#define DELETED " (deleted)"
#define HASHED_MOST_BYTES                                                                          \
	((uint64_t)512 << 20) /* of a user's files, 0.3 s: the collector waits for it */
#define OPEN_ATTEMPTS                                                                              \
	4 /* in as many processes of a share; a file that nobody can open is not tried for ever */

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
	number_map_release(&table->hashed_bytes);
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
	file->owner = SAFE_NO_USER;
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

int file_table_init(struct file_table *table, struct profile *session, struct reader *reader,
		    struct shares *shares)
{
	*table = (struct file_table){ .session = session, .reader = reader, .shares = shares };
	held_files_init(&table->keeping, reader);
	if (!add_file(table, FILE_ANONYMOUS, span_of_text("//anon"), &table->anonymous) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso]"), &table->vdso) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso32]"), &table->vdso_narrow) ||
	    !add_file(table, FILE_VSYSCALL, span_of_text("[vsyscall]"), &table->vsyscall) ||
	    !add_file(table, FILE_SPECIAL, span_of_text("[files beyond the limit for a user]"),
		      &table->beyond))
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

#define UNIT_PATH_BYTES 256u		    /* of a path count as another file */
#define OPEN_MOST_NS	UINT64_C(200000000) /* of a stranger's request */

/* From here on until stop_paying() reading is paid for. */
static void pay(struct file_table *table, struct share *share)
{
	if (table->shares && share)
		shares_charge(table->shares, share, SHARE_READING, OPEN_MOST_NS, table->reader);
}

static void stop_paying(struct file_table *table)
{
	if (table->shares && table->shares->purpose == SHARE_READING)
		shares_settle(table->shares, table->reader);
}

static bool is_beyond_budget(int code)
{
	return code == -EDQUOT || code == -ETIMEDOUT || code == -ENOBUFS;
}

/* For want of time: it tells nothing about the file. */
static bool is_refused(int code)
{
	return code == -EDQUOT || code == -ETIMEDOUT || code == -ECANCELED;
}

/* Whose what was opened is: whoever can write it, unless its file system is somebody's own. */
static struct share *share_of_opened(struct file_table *table, const struct safe_file *opened,
				     struct share *process)
{
	if (!table->shares)
		return NULL;
	if (process && (opened->copied || writer_kind(opened->writer) == WRITER_MOUNTER))
		return process;
	return shares_of_file(table->shares, opened->writer);
}

/*
 * Is it the file that was mapped? Its inode alone does not tell: a file system that a user serves
 * or fills has any number, and a process opens what its own mounts show. The device of a mapping
 * and that of stat(2) differ on overlayfs and btrfs: there it is told by mapping the file, and what
 * only root and we can write is taken without (Linux 6.x names files on an overlay by another
 * device in /proc than in records).
 */
static bool is_mapped_file(const struct file *file, const struct safe_file *opened)
{
	const struct binary_inode mapped = { .device = makedev(file->major, file->minor),
					     .inode = file->inode };
	if (opened->inode != file->inode)
		return false;
	if (opened->device == mapped.device)
		return true;
	return !opened->copied &&
	       (opened->writer == 0 || file_inode_is_mapped_as(opened->fd, &mapped));
}

enum way {
	WAY_OURS, /* a stranger's path, where we see it */
	WAY_PATH,
	WAY_MAPPING,
	WAY_EXECUTABLE,
	WAY_ENDED, /* of a process that is gone: most files are where we see them too */
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

/* A stranger names a file of ours only by its device, too: he would have the name of his choice. */
static bool is_wanted(const struct file *file, enum way way, const struct safe_file *opened)
{
	bool same_device = opened->device == makedev(file->major, file->minor);
	return is_mapped_file(file, opened) && (way != WAY_OURS || same_device);
}

/*
 * `path` is NULL when it leads there no more. *ours: the file lies there for us, too. 0, the code
 * of a way that was refused, or -ENOENT.
 */
static int open_file(struct file_table *table, const struct file *file,
		     const struct file_hint *hint, const char *path, struct safe_file *opened,
		     bool *ours)
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
		else if (is_refused(ret))
			code = ret;
	}
	return code;
}

static void let_go(struct file_table *table, struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->copied)
		held_files_drop(&table->keeping, file->copy_bytes);
	file->fd = -1;
	file->copied = false;
}

/* Copies that no sample needs give way to those that one does. */
static void make_room(struct file_table *table, uint64_t size_bytes, bool by_path)
{
	for (size_t i = 0; i < table->count; i++) {
		struct file *file = table->files[i];
		if (held_files_room(&table->keeping, size_bytes, by_path))
			return;
		if (file->copied && !file->sampled)
			let_go(table, file);
	}
}

static void copy_file(struct file_table *table, struct file *file, int fd)
{
	if (file->sampled)
		make_room(table, file->size_bytes, file->by_path);
	uint64_t size_bytes;
	int copy = held_files_copy(&table->keeping, fd, file->by_path, &size_bytes);
	if (copy < 0)
		return;
	file->fd = copy;
	file->copied = true;
	file->copy_bytes = size_bytes;
}

/* Its descriptor is given up; what has no name any more could not be opened again. */
static void stop_holding(struct file_table *table, size_t position)
{
	struct file *file = file_table_get(table, table->held[position]);
	int fd = file->fd;
	struct stat info;
	file->fd = -1;
	if (file->sampled && file->state == FILE_IDENTIFIED && fstat(fd, &info) == 0 &&
	    info.st_nlink == 0)
		copy_file(table, file, fd);
	close(fd);
	table->held_count--;
	memmove(table->held + position, table->held + position + 1,
		(table->held_count - position) * sizeof(table->held[0]));
}

/* Takes over `fd`. Among those held, the oldest without samples gives way, else the oldest. */
static void hold(struct file_table *table, struct file *file, uint32_t number, int fd)
{
	if (table->held_count == HELD_MOST) {
		size_t position = 0;
		while (position < HELD_MOST &&
		       file_table_get(table, table->held[position])->sampled)
			position++;
		stop_holding(table, position < HELD_MOST ? position : 0);
	}
	file->fd = fd;
	table->held[table->held_count++] = number;
}

static void stamp(struct file *file, const struct safe_file *opened)
{
	file->device = opened->device;
	file->size_bytes = opened->size_bytes;
	file->modified_ns = opened->modified_ns;
	file->changed_ns = opened->changed_ns;
	file->owner = opened->owner;
	file->writer = opened->writer;
	reader_unique(opened, file->unique);
}

/* Our own path, at the expense of who chose it. */
static int open_visiting(struct file_table *table, const char *path, struct share *payer,
			 struct safe_file *own)
{
	struct share_visit visit = shares_begin_visit(table->shares, payer, table->reader);
	int ret = reader_open_path(table->reader, 0, path, OWNER_ANY, own, NULL);
	shares_end_visit(table->shares, &visit, table->reader);
	return ret;
}

/* The same file by our own path, on the mount of our own root, as most files of processes in mount
 * namespaces of their own are. */
static void prefer_own_path(struct file_table *table, struct file *file, struct share *payer,
			    struct safe_file *opened)
{
	struct safe_file own;
	if (open_visiting(table, file->path, payer, &own) < 0)
		return;
	file->by_path = own.inode == opened->inode && own.device == opened->device;
	if (file->by_path) { /* who can write it is told by our own mounts */
		file->path_trusted = true;
		stamp(file, &own);
		file->share = share_of_opened(table, &own, payer);
	}
	if (file->by_path && !own.copied && held_files_harmless(&table->keeping, own.fd)) {
		int other = opened->fd;
		*opened = own;
		own.fd = other;
		file->elsewhere = false;
	}
	close(own.fd);
}

/* Takes over opened->fd: what is kept of a file that was just identified. */
static void keep(struct file_table *table, struct file *file, uint32_t number, struct share *payer,
		 struct safe_file *opened)
{
	file->elsewhere = opened->copied || !held_files_harmless(&table->keeping, opened->fd);
	file->by_path = !file->elsewhere;
	if (file->elsewhere)
		prefer_own_path(table, file, payer, opened);
	if (!file->elsewhere) {
		hold(table, file, number, opened->fd);
		return;
	}
	if (opened->copied) {
		/* of a file system that may not answer a second time */
		if (held_files_room(&table->keeping, opened->size_bytes, file->by_path)) {
			held_files_count(&table->keeping, opened->size_bytes);
			file->copied = true;
			file->copy_bytes = opened->size_bytes;
			file->fd = opened->fd;
			return;
		}
	} else if (opened->size_bytes <= COPY_AT_ONCE_BYTES) {
		copy_file(table, file, opened->fd);
	}
	close(opened->fd);
}

bool file_may_be_jitdump(const struct file *file)
{
	const char *name = strrchr(file->path, '/');
	return file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF && name &&
	       strncmp(name, "/jit-", 5) == 0 && strstr(name, ".dump");
}

static bool is_trusted(const struct file_hint *hint)
{
	return hint->payer && !hint->payer->strange;
}

static void note_user(struct file *file, const struct file_hint *hint)
{
	file->latest_pid = hint->pid;
	if (hint->share && (!file->through || hint->share->strange))
		file->through = hint->share;
	if (hint->payer)
		file->latest_payer = hint->payer;
	file->start = hint->start;
	file->end = hint->end;
}

/* Somebody's failures keep nobody else from opening it. */
static bool may_try(const struct file *file, const struct file_hint *hint)
{
	return file->kind == FILE_PLAIN && file->state == FILE_GONE &&
	       (file->tried_by != hint->payer || file->attempts < OPEN_ATTEMPTS);
}

/* What was refused because a share has no time left is no attempt: the next one may have some. */
static void note_failure(struct file *file, const struct file_hint *hint, int code, bool spent)
{
	file->state = FILE_GONE;
	file->refused = code == -EDQUOT || code == -ECANCELED || (spent && is_refused(code));
	file->unread = spent || is_beyond_budget(code);
	if (file->refused)
		return;
	file->attempts = file->tried_by == hint->payer ? file->attempts + 1 : 1;
	file->tried_by = hint->payer;
}

/* Whether the one who pays has no time left. */
static bool is_spent(const struct file_table *table)
{
	return table->shares && shares_time_left_ns(table->shares) == 0;
}

/* Takes over `path`. Whether it is the file's now: its user may have no room for a longer one. */
static bool take_path(struct file_table *table, struct file *file, const struct file_hint *hint,
		      char *path)
{
	uint64_t had = strlen(file->path) / UNIT_PATH_BYTES;
	uint64_t has = strlen(path) / UNIT_PATH_BYTES;
	bool fits = has <= had || !hint->share ||
		    share_take(table->shares, hint->share, SHARE_FILES, has - had);
	char *dropped = fits ? file->path : path;
	file->path = fits ? path : file->path;
	free(dropped);
	return fits;
}

/* By the path that this process has for it, which is the file's from when it was opened on. */
static int open_as_named(struct file_table *table, struct file *file, const struct file_hint *hint,
			 struct safe_file *opened)
{
	bool deleted;
	struct span named = without_deleted(hint->path, &deleted);
	char *path = strndup(named.data, named.size);
	if (!path)
		return -ENOMEM;
	pay(table, hint->payer);
	bool ours = false;
	int ret = table->reader ? open_file(table, file, hint, deleted ? NULL : path, opened, &ours)
				: -ENOENT;
	if (ret < 0)
		note_failure(file, hint, ret, hint->payer && is_spent(table));
	stop_paying(table);
	if (ret < 0)
		free(path);
	else if (take_path(table, file, hint, path))
		file->path_trusted = ours || is_trusted(hint);
	return ret;
}

static int identify(struct file_table *table, uint32_t number, const struct file_hint *hint)
{
	struct file *file = file_table_get(table, number);
	struct safe_file opened;
	note_user(file, hint);
	int ret = open_as_named(table, file, hint, &opened);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	file->pid = hint->pid;
	file->unread = file->refused = false;
	file->share = share_of_opened(table, &opened, hint->payer);
	stamp(file, &opened);
	struct identity *identity = calloc(1, sizeof(*identity));
	if (!identity) {
		close(opened.fd);
		return -ENOMEM;
	}
	pay(table, file->share);
	ret = reader_identify(table->reader, opened.fd, identity, NULL);
	bool spent = is_spent(table);
	stop_paying(table);
	if (ret < 0) {
		if (ret == -ENOEXEC)
			file->state = FILE_NOT_ELF;
		else
			note_failure(file, hint, ret, spent);
		free(identity);
		file->elsewhere = opened.copied || !held_files_harmless(&table->keeping, opened.fd);
		if (ret == -ENOEXEC && file_may_be_jitdump(file) && !file->elsewhere)
			hold(table, file, number, opened.fd);
		else
			close(opened.fd);
		return 0;
	}
	file->identity = identity;
	file->state = FILE_IDENTIFIED;
	file->image = 0; /* until now it was one without segments */
	file->sampled = file->looked_into = false;
	pay(table, file->share);
	keep(table, file, number, hint->payer, &opened);
	stop_paying(table);
	return 0;
}

static bool same_build(const struct identity *a, const struct identity *b)
{
	return a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
	       a->content == b->content && memcmp(&a->hash, &b->hash, sizeof(a->hash)) == 0;
}

static struct span unique_of(const struct file *file)
{
	return (struct span){ file->unique, sizeof(file->unique) };
}

/*
 * Whether what was opened again is what was identified; closes it when not. The kernel keeps the
 * time of the last change, but for file systems that a user serves.
 */
static bool is_unchanged(struct file_table *table, const struct file *file,
			 const struct safe_file *opened)
{
	bool told_by_kernel = writer_kind(opened->writer) != WRITER_MOUNTER;
	if (opened->inode == file->inode && opened->device == file->device &&
	    opened->size_bytes == file->size_bytes && opened->changed_ns == file->changed_ns &&
	    (told_by_kernel || !file->identity || file->identity->content == CONTENT_NONE))
		return true;
	struct identity identity;
	if (file->identity && opened->writer == file->writer &&
	    reader_identify_content(table->reader, opened->fd,
				    (enum content_kind)file->identity->content, unique_of(file),
				    &identity, NULL) == 0 &&
	    same_build(&identity, file->identity))
		return true;
	close(opened->fd);
	return false;
}

/* The descriptor of an answer of the reader's, when it is of the same file still. *code keeps that
 * it was refused. */
static int take_unchanged(struct file_table *table, const struct file *file, int ret,
			  const struct safe_file *opened, int *code)
{
	if (ret == 0 && is_unchanged(table, file, opened))
		return opened->fd;
	if (is_refused(ret))
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

/* Whether our own path leads to it, and nobody can make us wait there. */
static bool is_at_own_path(const struct file *file)
{
	return file->by_path && file->path_trusted;
}

/* As one of those who map it sees it, or as we do where nobody looked yet. */
static int open_as_seen(struct file_table *table, const struct file *file, int *code)
{
	struct safe_file opened;
	const uint32_t pids[] = { file->latest_pid, file->pid };
	int fd = open_at_path(table, file, pids[0], code);
	if (fd < 0 && pids[1] != pids[0])
		fd = open_at_path(table, file, pids[1], code);
	if (fd < 0 && !is_at_own_path(file))
		fd = open_at_path(table, file, 0, code);
	/* Without a name by now, yet still run by somebody. */
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

int file_table_open(struct file_table *table, uint32_t number)
{
	const struct file *file = file_table_get(table, number);
	if (file->fd < 0)
		return open_again(table, file);
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 ? fd : -errno;
}

bool file_may_stay_open(const struct file *file)
{
	return file->kind == FILE_PLAIN && file->state == FILE_IDENTIFIED &&
	       (file->fd >= 0 || !file->elsewhere);
}

int file_table_open_for_long(struct file_table *table, uint32_t number)
{
	int fd = file_may_stay_open(file_table_get(table, number)) ? file_table_open(table, number)
								   : -1;
	/* It may have been reached by another way this time. */
	const struct file *file = file_table_get(table, number);
	if (fd >= 0 && file->fd < 0 && !held_files_harmless(&table->keeping, fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A sample fell into a file of which nothing is kept, and which an open descriptor would pin. */
static void copy_when_sampled(struct file_table *table, struct file *file)
{
	if (file->state != FILE_IDENTIFIED || file->kind != FILE_PLAIN || !file->elsewhere ||
	    file->fd >= 0)
		return;
	make_room(table, file->size_bytes, file->by_path);
	if (!held_files_room(&table->keeping, file->size_bytes, file->by_path))
		return;
	pay(table, file->share);
	CLEANUP(close_fd) int fd = open_again(table, file);
	if (fd >= 0)
		copy_file(table, file, fd);
	stop_paying(table);
}

/* Of one user's files so much is hashed whole; the others' identity holds on this machine alone. */
static bool may_hash_whole(struct file_table *table, const struct file *file)
{
	uint64_t taken = (uint64_t)(uintptr_t)number_map_find(&table->hashed_bytes, file->writer);
	uint64_t size =
		file->size_bytes < CONTENT_WHOLE_BYTES ? file->size_bytes : CONTENT_WHOLE_BYTES;
	if (taken + size > HASHED_MOST_BYTES)
		return false;
	return number_map_put(&table->hashed_bytes, file->writer,
			      (void *)(uintptr_t)(taken + size)) == 0;
}

/*
 * Looks into a file that is sampled now. What cannot be read any more keeps its claim of a build-id
 * and is not taken for any other file.
 */
static void learn_content(struct file_table *table, struct file *file, uint32_t number)
{
	struct identity identity;
	if (file->state != FILE_IDENTIFIED || file->kind != FILE_PLAIN || file->looked_into)
		return;
	file->looked_into = true;
	pay(table, file->share);
	CLEANUP(close_fd) int fd = file_table_open(table, number);
	if (fd >= 0 && (!file->writer || may_hash_whole(table, file))) {
		int ret = reader_identify_content(table->reader, fd,
						  file->writer ? CONTENT_FILE : CONTENT_TEXT,
						  unique_of(file), &identity, NULL);
		if (ret == 0) /* its segments too: it may have been written over */
			*file->identity = identity;
		/* Of such a one nothing else is read then. */
		file->unread = is_beyond_budget(ret) && writer_kind(file->writer) == WRITER_MOUNTER;
	}
	stop_paying(table);
}

/* Its payer may have time again by now. */
static void try_again(struct file_table *table, const struct file *file, uint32_t number)
{
	if (!file->refused || !file->latest_payer ||
	    share_reading_left_ns(table->shares, file->latest_payer) < SHARE_LEAST_NS ||
	    (file->share && share_reading_left_ns(table->shares, file->share) < SHARE_LEAST_NS))
		return;
	const struct file_hint hint = { .pid = file->latest_pid,
					.start = file->start,
					.end = file->end,
					.share = file->through,
					.payer = file->latest_payer,
					.path = span_of_text(file->path) };
	(void)identify(table, number, &hint); /* without memory it stays as it is */
}

static void begin_sampling(struct file_table *table, struct file *file, uint32_t number)
{
	try_again(table, file, number);
	if (!file->sampled) {
		file->sampled = true;
		copy_when_sampled(table, file);
	}
	learn_content(table, file, number);
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

static int add_path(struct file_table *table, const struct file *file)
{
	bool seen = file->state == FILE_IDENTIFIED && (!file->elsewhere || file->by_path);
	return profile_add_seen_path(table->session, file->image, span_of_text(file->path),
				     seen ? PATH_SEEN_BY_US : PATH_TOLD);
}

/* Whether our own path of that name was looked at and was not the file. */
static bool is_known_elsewhere(const struct file *file, uint64_t path_hash)
{
	for (size_t i = 0; i < FILE_PATHS_REFUSED; i++)
		if (path_hash && file->paths_refused[i] == path_hash)
			return true;
	return false;
}

static void note_elsewhere(struct file *file, uint64_t path_hash)
{
	file->paths_refused[file->paths_refused_count++ % FILE_PATHS_REFUSED] = path_hash;
}

/*
 * The process that it was met in first named the file as nobody else knows it, which a bind mount
 * of its own does. Another one has a name for it that holds for us too.
 */
static int prefer_seen_path(struct file_table *table, struct file *file, struct span path,
			    struct share *payer)
{
	struct safe_file own;
	uint64_t hash = hash128_bytes(path.data, path.size).low;
	if (is_known_elsewhere(file, hash))
		return 0;
	char *text = strndup(path.data, path.size);
	if (!text)
		return -ENOMEM;
	int ret = open_visiting(table, text, payer, &own);
	if (ret < 0 || close(own.fd) < 0 || own.inode != file->inode ||
	    own.device != file->device) {
		if (!is_refused(ret))
			note_elsewhere(file, hash);
		free(text);
		return 0;
	}
	free(file->path);
	file->path = text;
	file->by_path = file->path_trusted = true;
	if (own.writer != file->writer) {
		/* other mounts, other rights: what is sampled from now on is another image */
		stamp(file, &own);
		file->share = share_of_opened(table, &own, payer);
		file->identity->content = CONTENT_NONE;
		file->image = 0;
		file->sampled = file->looked_into = false;
	}
	return file->image ? add_path(table, file) : 0;
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
		if (may_try(file, hint))
			return identify(table, *number, hint);
		if (span_equal(path, span_of_text(file->path))) {
			note_user(file, hint);
			file->path_trusted |= is_trusted(hint);
		} else if (file->state == FILE_IDENTIFIED && !file->by_path && !deleted) {
			return prefer_seen_path(table, file, path, hint->payer);
		}
		return 0;
	}
	/* Whoever maps files without end has the rest of them in common. */
	if (hint->share &&
	    !share_take(table->shares, hint->share, SHARE_FILES, 1 + path.size / UNIT_PATH_BYTES)) {
		*number = table->beyond;
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
	return kind == FILE_PLAIN ? identify(table, *number, hint) : 0;
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
	if (file->state == FILE_IDENTIFIED && file->identity->build_id_bytes)
		image.build_id =
			(struct span){ file->identity->build_id, file->identity->build_id_bytes };
	if (file->state != FILE_IDENTIFIED)
		image.space = SPACE_OFFSET;
	else if (file->kind == FILE_PLAIN)
		image.writer = file->writer;
	if (file->state == FILE_IDENTIFIED && file->identity->content != CONTENT_NONE)
		image.hash = (struct span){ &file->identity->hash, sizeof(file->identity->hash) };
	else if (file->kind != FILE_VDSO || !image.build_id.size)
		image.name = path;
	if (file->kind == FILE_VSYSCALL)
		image.kind = IMAGE_VDSO;
	int ret = profile_add_image(table->session, &image, &file->image);
	if (ret == 0)
		ret = add_path(table, file);
	return ret;
}

int file_table_image(struct file_table *table, uint32_t number, uint32_t *image)
{
	struct file *file = file_table_get(table, number);
	begin_sampling(table, file, number);
	int ret = file->image ? 0 : make_image(table, file);
	*image = file->image;
	return ret;
}

void file_table_names_read(struct file_table *table)
{
	number_map_release(&table->hashed_bytes);
	table->hashed_bytes = (struct number_map){ 0 };
	for (size_t i = 0; i < table->count; i++)
		if (!file_may_be_jitdump(table->files[i]))
			table->files[i]->sampled = false;
}

int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause)
{
	struct file *file = file_table_get(table, number);
	uint64_t vaddr = offset;
	begin_sampling(table, file, number); /* its segments may be others by now */
	if (file->state == FILE_IDENTIFIED &&
	    !identity_vaddr_of_offset(file->identity, offset, &vaddr)) {
		*cause = UNKNOWN_OUTSIDE_SEGMENTS;
		return 0;
	}
	frame->vaddr = vaddr;
	return file_table_image(table, number, &frame->image);
}
