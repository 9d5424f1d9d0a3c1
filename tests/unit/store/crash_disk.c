#include "unit/store/crash_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/random.h"

enum kind { WRITE, TRUNCATE, SYNC, CREATE, UNLINK, RENAME, LINK, SYNC_NAMES, PROMISE };

#define NAME_BYTES 160 /* below the folder: "p", "p.open/profile" */
#define A_FOLDER   -2  /* in the place of a file's number */

struct operation {
	enum kind kind;
	int file; /* number of a file that was created, not of a name */
	char name[NAME_BYTES], other[NAME_BYTES];
	int64_t offset; /* or new size, or promise */
	size_t size;
	uint8_t *data;
};

#define FILES 512
#define FOLDER_DEPTH 8 /* folders in folders, at most */

static struct {
	char folder[256];
	bool active;
	struct operation *list;
	size_t count, capacity;
	ino_t inodes[FILES]; /* the file of a number; a number is given once */
	int files;
	/* atomic: a thread that writes may be stopped by another */
	atomic_size_t fail_at, done;
	atomic_bool fail_for_good, failed;
} disk;

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct operation *add(enum kind kind, int file)
{
	if (array_reserve(&disk.list, &disk.capacity, disk.count, sizeof(*disk.list)) < 0)
		abort();
	struct operation *made = &disk.list[disk.count++];
	*made = (struct operation){ .kind = kind, .file = file };
	return made;
}

/* Whether this operation is the one to fail. */
static bool fails(void)
{
	size_t at = disk.fail_at;
	if (!at)
		return false;
	size_t done = ++disk.done;
	bool now = done == at || (disk.fail_for_good && done > at);
	if (now)
		disk.failed = true;
	return now;
}

static int file_of(ino_t inode)
{
	for (int i = disk.files - 1; i >= 0; i--)
		if (disk.inodes[i] == inode)
			return i;
	return -1;
}

static int file_of_fd(int fd)
{
	struct stat found;
	return disk.active && fstat(fd, &found) == 0 && S_ISREG(found.st_mode)
		       ? file_of(found.st_ino)
		       : -1;
}

/* The name below the folder that is logged, or "" of what lies elsewhere. */
static void put_name(char out[NAME_BYTES], int folder, const char *name)
{
	char link[64], at[512];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	ssize_t size = readlink(link, at, sizeof(at) - 1);
	size_t prefix = strlen(disk.folder);
	at[size < 0 ? 0 : size] = 0;
	out[0] = 0;
	if (strcmp(at, disk.folder) == 0)
		snprintf(out, NAME_BYTES, "%s", name);
	else if (strncmp(at, disk.folder, prefix) == 0 && at[prefix] == '/')
		snprintf(out, NAME_BYTES, "%.60s/%.90s", at + prefix + 1, name);
}

/* Of a path that SQLite got: its folder is one of /proc/self/fd. */
static void put_sqlite_name(char out[NAME_BYTES], const char *path)
{
	int folder;
	out[0] = 0;
	if (path && sscanf(path, "/proc/self/fd/%d/", &folder) == 1)
		put_name(out, folder, strrchr(path, '/') + 1);
}

static void note_created(const char *name, ino_t inode)
{
	if (disk.files == FILES)
		abort();
	disk.inodes[disk.files] = inode;
	struct operation *made = add(CREATE, disk.files++);
	snprintf(made->name, sizeof(made->name), "%s", name);
}

static void note_folder(const char *name)
{
	struct operation *made = add(CREATE, A_FOLDER);
	snprintf(made->name, sizeof(made->name), "%s", name);
}

static void note_name(enum kind kind, const char *name, const char *other)
{
	struct operation *made = add(kind, -1);
	snprintf(made->name, sizeof(made->name), "%s", name);
	snprintf(made->other, sizeof(made->other), "%s", other);
}

static void note_write(int file, const void *data, size_t size, int64_t offset)
{
	if (file < 0)
		return;
	struct operation *made = add(WRITE, file);
	made->offset = offset;
	made->size = size;
	made->data = must(malloc(size + 1));
	memcpy(made->data, data, size);
}

/* ---- our own code's calls, by the linker */

int __real_openat64(int folder, const char *name, int flags, mode_t mode);
int __wrap_openat64(int folder, const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);
int __real_mkdirat(int folder, const char *name, mode_t mode);
int __wrap_mkdirat(int folder, const char *name, mode_t mode);
int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);

int __wrap_openat64(int folder, const char *name, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (flags & O_CREAT && fails()) {
		errno = ENOSPC;
		return -1;
	}
	int fd = __real_openat64(folder, name, flags, mode);
	struct stat found;
	if (fd >= 0 && disk.active && flags & O_CREAT && fstat(fd, &found) == 0) {
		char below[NAME_BYTES];
		put_name(below, folder, name);
		note_created(below, found.st_ino);
	}
	return fd;
}

int __wrap_mkdirat(int folder, const char *name, mode_t mode)
{
	if (fails()) {
		errno = ENOSPC;
		return -1;
	}
	int ret = __real_mkdirat(folder, name, mode);
	if (ret == 0 && disk.active) {
		char below[NAME_BYTES];
		put_name(below, folder, name);
		note_folder(below);
	}
	return ret;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	struct stat found;
	bool ours = (disk.active || disk.fail_at) && fstat(fd, &found) == 0 &&
		    S_ISREG(found.st_mode) && fd > 2;
	if (ours && fails()) {
		errno = ENOSPC;
		return -1;
	}
	int64_t offset = ours ? lseek(fd, 0, SEEK_CUR) : 0;
	ssize_t written = __real_write(fd, data, size);
	if (ours && disk.active && written > 0)
		note_write(file_of_fd(fd), data, (size_t)written, offset);
	return written;
}

int __wrap_fsync(int fd)
{
	if (fails()) {
		errno = ENOSPC;
		return -1;
	}
	struct stat found;
	if (disk.active && fstat(fd, &found) == 0) {
		if (S_ISDIR(found.st_mode))
			add(SYNC_NAMES, -1);
		else
			add(SYNC, file_of_fd(fd));
	}
	return 0; /* the crash is made up: what a disk would keep is computed */
}

int __wrap_renameat(int a, const char *from, int b, const char *to)
{
	if (fails()) {
		errno = ENOSPC;
		return -1;
	}
	int ret = __real_renameat(a, from, b, to);
	if (ret == 0 && disk.active) {
		char before[NAME_BYTES], after[NAME_BYTES];
		put_name(before, a, from);
		put_name(after, b, to);
		note_name(RENAME, before, after);
	}
	return ret;
}

int __wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
	if (fails()) {
		errno = ENOSPC;
		return -1;
	}
	int ret = __real_linkat(a, from, b, to, flags);
	if (ret == 0 && disk.active) {
		char before[NAME_BYTES], after[NAME_BYTES];
		put_name(before, a, from);
		put_name(after, b, to);
		note_name(LINK, before, after);
	}
	return ret;
}

int __wrap_unlinkat(int folder, const char *name, int flags)
{
	int ret = __real_unlinkat(folder, name, flags);
	if (ret == 0 && disk.active) {
		char below[NAME_BYTES];
		put_name(below, folder, name);
		note_name(UNLINK, below, "");
	}
	return ret;
}

/* ---- SQLite's, by a VFS in front of the usual one */

struct shim_file {
	sqlite3_file base;
	int file; /* -1: not logged */
	bool names_synced;
	bool is_log;
	sqlite3_file *real; /* behind this struct */
};

static sqlite3_vfs *usual;

static struct shim_file *shim(sqlite3_file *file)
{
	return (struct shim_file *)file;
}

static sqlite3_file *real(sqlite3_file *file)
{
	return shim(file)->real;
}

static int shim_close(sqlite3_file *f)
{
	return real(f)->pMethods ? real(f)->pMethods->xClose(real(f)) : SQLITE_OK;
}

static int shim_read(sqlite3_file *f, void *data, int size, sqlite3_int64 offset)
{
	return real(f)->pMethods->xRead(real(f), data, size, offset);
}

static int shim_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 offset)
{
	if (fails())
		return SQLITE_FULL;
	int code = real(f)->pMethods->xWrite(real(f), data, size, offset);
	if (code == SQLITE_OK && disk.active)
		note_write(shim(f)->file, data, (size_t)size, offset);
	return code;
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if (fails())
		return SQLITE_IOERR_TRUNCATE;
	int code = real(f)->pMethods->xTruncate(real(f), size);
	if (code == SQLITE_OK && disk.active && shim(f)->file >= 0)
		add(TRUNCATE, shim(f)->file)->offset = size;
	return code;
}

static int shim_sync(sqlite3_file *f, int flags)
{
	if (fails())
		return SQLITE_IOERR_FSYNC;
	(void)flags;
	if (disk.active && shim(f)->file >= 0) {
		add(SYNC, shim(f)->file);
		/* os_unix.c syncs the folder with the first sync of a log it made */
		if (shim(f)->is_log && !shim(f)->names_synced)
			add(SYNC_NAMES, -1);
		shim(f)->names_synced = true;
	}
	return SQLITE_OK;
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real(f)->pMethods->xFileSize(real(f), size);
}

static int shim_lock(sqlite3_file *f, int lock)
{
	return real(f)->pMethods->xLock(real(f), lock);
}

static int shim_unlock(sqlite3_file *f, int lock)
{
	return real(f)->pMethods->xUnlock(real(f), lock);
}

static int shim_check_lock(sqlite3_file *f, int *out)
{
	return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int shim_control(sqlite3_file *f, int operation, void *argument)
{
	return real(f)->pMethods->xFileControl(real(f), operation, argument);
}

static int shim_sector(sqlite3_file *f)
{
	return real(f)->pMethods->xSectorSize(real(f));
}

static int shim_traits(sqlite3_file *f)
{
	return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

static int shim_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *f, int offset, int count, int flags)
{
	return real(f)->pMethods->xShmLock(real(f), offset, count, flags);
}

static void shim_barrier(sqlite3_file *f)
{
	real(f)->pMethods->xShmBarrier(real(f));
}

static int shim_unmap(sqlite3_file *f, int remove_it)
{
	return real(f)->pMethods->xShmUnmap(real(f), remove_it);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_check_lock,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_traits,
	.xShmMap = shim_map,
	.xShmLock = shim_shm_lock,
	.xShmBarrier = shim_barrier,
	.xShmUnmap = shim_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out)
{
	(void)vfs;
	struct shim_file *file = shim(f);
	struct stat found;
	file->base.pMethods = NULL;
	file->real = (sqlite3_file *)(file + 1);
	file->file = -1;
	file->is_log = flags & SQLITE_OPEN_WAL;
	file->names_synced = false;
	bool there = path && stat(path, &found) == 0;
	if (path && !there && fails())
		return SQLITE_FULL;
	int code = usual->xOpen(usual, path, file->real, flags, out);
	if (code != SQLITE_OK)
		return code;
	file->base.pMethods = &methods;
	char name[NAME_BYTES];
	put_sqlite_name(name, path);
	if (disk.active && name[0] && stat(path, &found) == 0) {
		if (!there)
			note_created(name, found.st_ino);
		file->file = file_of(found.st_ino);
		file->names_synced = there;
	}
	return SQLITE_OK;
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
	(void)vfs;
	char name[NAME_BYTES];
	put_sqlite_name(name, path);
	int code = usual->xDelete(usual, path, sync_folder);
	if (code == SQLITE_OK && disk.active && name[0]) {
		note_name(UNLINK, name, "");
		if (sync_folder)
			add(SYNC_NAMES, -1);
	}
	return code;
}

static void install(void)
{
	static sqlite3_vfs vfs;
	if (usual)
		return;
	usual = sqlite3_vfs_find(NULL);
	vfs = *usual;
	vfs.zName = "crash";
	vfs.szOsFile = (int)sizeof(struct shim_file) + usual->szOsFile;
	vfs.xOpen = shim_open;
	vfs.xDelete = shim_delete;
	sqlite3_vfs_register(&vfs, 1);
}

/* ---- the log */

void crash_disk_begin(const char *folder)
{
	install();
	for (size_t i = 0; i < disk.count; i++)
		free(disk.list[i].data);
	disk.count = 0;
	disk.files = 0;
	snprintf(disk.folder, sizeof(disk.folder), "%s", folder);
	disk.active = true;
}

void crash_disk_end(void)
{
	disk.active = false;
}

void crash_disk_promise(int number)
{
	if (disk.active)
		add(PROMISE, -1)->offset = number;
}

size_t crash_disk_operations(void)
{
	return disk.count;
}

int crash_disk_promised(size_t count)
{
	int promised = 0;
	for (size_t i = 0; i < count; i++)
		if (disk.list[i].kind == PROMISE)
			promised = (int)disk.list[i].offset;
	return promised;
}

void crash_disk_fail(size_t k, int for_good)
{
	install();
	disk.fail_at = k;
	disk.fail_for_good = for_good;
	disk.done = 0;
	disk.failed = false;
}

int crash_disk_failed(void)
{
	return disk.failed;
}

/* ---- the folder after a crash */

struct content {
	uint8_t *data;
	size_t size;
};

static void apply(struct content *content, const struct operation *operation)
{
	size_t end = operation->kind == WRITE ? (size_t)operation->offset + operation->size
					      : (size_t)operation->offset;
	if (operation->kind == TRUNCATE || end > content->size) {
		content->data = must(realloc(content->data, end + 1));
		if (end > content->size)
			memset(content->data + content->size, 0, end - content->size);
		content->size = end;
	}
	if (operation->kind == WRITE)
		memcpy(content->data + operation->offset, operation->data, operation->size);
}

/* The last of the first `count` operations that made this file's content durable, plus one. */
static size_t synced_until(int file, size_t count)
{
	for (size_t i = count; i > 0; i--)
		if (disk.list[i - 1].kind == SYNC && disk.list[i - 1].file == file)
			return i;
	return 0;
}

/* Returns a number of the content. */
static uint64_t restore_file(const char *path, int file, size_t count, enum crash_kind kind,
			     struct random_state *random)
{
	struct content content = { 0 };
	size_t synced = kind == CRASH_KILLED ? count : synced_until(file, count);
	for (size_t i = 0; i < count; i++) {
		const struct operation *operation = &disk.list[i];
		if (operation->file != file ||
		    (operation->kind != WRITE && operation->kind != TRUNCATE))
			continue;
		if (i < synced || (kind == CRASH_REORDERED && random_below(random, 2)))
			apply(&content, operation);
	}
	FILE *out = fopen(path, "w");
	if (!out ||
	    fwrite(content.data ? content.data : (uint8_t *)"", 1, content.size, out) !=
		    content.size ||
	    fclose(out) != 0)
		abort();
	uint64_t number = hash_bytes(content.data ? content.data : (uint8_t *)"", content.size);
	free(content.data);
	return number;
}

struct name {
	char text[NAME_BYTES];
	int file;
};

static int find(const struct name *names, int count, const char *text)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i].text, text) == 0)
			return i;
	return -1;
}

static void drop(struct name *names, int *count, const char *text)
{
	int at = find(names, *count, text);
	if (at >= 0)
		names[at] = names[--*count];
}

static void put(struct name *names, int *count, const char *text, int file)
{
	drop(names, count, text);
	struct name *made = &names[(*count)++];
	snprintf(made->text, sizeof(made->text), "%s", text);
	made->file = file;
}

static bool is_below(const char *name, const char *folder)
{
	size_t size = strlen(folder);
	return strncmp(name, folder, size) == 0 && name[size] == '/';
}

/* A folder takes what is in it along. */
static void rename_below(struct name *names, int count, const char *from, const char *to)
{
	for (int i = 0; i < count; i++) {
		char text[NAME_BYTES];
		if (!is_below(names[i].text, from))
			continue;
		snprintf(text, sizeof(text), "%.60s%.90s", to, names[i].text + strlen(from));
		memcpy(names[i].text, text, sizeof(text));
	}
}

/* What is lost with a folder whose own name did not become durable. */
static bool has_folder(const struct name *names, int count, const char *text)
{
	const char *slash = strchr(text, '/');
	if (!slash)
		return true;
	for (int i = 0; i < count; i++)
		if (names[i].file == A_FOLDER && is_below(text, names[i].text))
			return true;
	return false;
}

static int depth_of(const char *name)
{
	int depth = 0;
	for (; *name; name++)
		depth += *name == '/';
	return depth;
}

/* Such numbers are summed up, for the names are in no order of their own. */
static uint64_t number_of(const char *name)
{
	return hash_u64(hash_bytes(name, strlen(name)));
}

static uint64_t restore_folder(const char *folder, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", folder, name) < 0 || mkdir(path, 0700) < 0)
		abort();
	free(path);
	return number_of(name);
}

uint64_t crash_disk_restore(const char *folder, size_t count, enum crash_kind kind, uint64_t seed)
{
	struct random_state random = random_seed(seed);
	struct name names[FILES];
	int name_count = 0;
	size_t named = count;
	uint64_t number = 0;
	if (kind == CRASH_POWER_NAMES)
		while (named > 0 && disk.list[named - 1].kind != SYNC_NAMES)
			named--;
	for (size_t i = 0; i < named; i++) {
		const struct operation *operation = &disk.list[i];
		int at = operation->name[0] ? find(names, name_count, operation->name) : -1;
		int file = at >= 0 ? names[at].file : -1;
		if (operation->kind == CREATE)
			put(names, &name_count, operation->name, operation->file);
		else if (operation->kind == UNLINK)
			drop(names, &name_count, operation->name);
		else if (operation->kind == LINK && file >= 0)
			put(names, &name_count, operation->other, file);
		else if (operation->kind == RENAME && at >= 0) {
			/* Two names of one file: rename does nothing. */
			int to = find(names, name_count, operation->other);
			if (to >= 0 && file >= 0 && names[to].file == file)
				continue;
			drop(names, &name_count, operation->name);
			put(names, &name_count, operation->other, file);
			if (file == A_FOLDER)
				rename_below(names, name_count, operation->name, operation->other);
		}
	}
	/* Folders first, and those that others are in before these. */
	for (int depth = 0; depth <= FOLDER_DEPTH; depth++)
		for (int i = 0; i < name_count; i++)
			if (names[i].file == A_FOLDER && depth_of(names[i].text) == depth &&
			    has_folder(names, name_count, names[i].text))
				number += restore_folder(folder, names[i].text);
	for (int i = 0; i < name_count; i++) {
		char *path = NULL;
		if (names[i].file == A_FOLDER || !has_folder(names, name_count, names[i].text))
			continue;
		if (asprintf(&path, "%s/%s", folder, names[i].text) < 0)
			abort();
		number += hash_u64(number_of(names[i].text) +
				   restore_file(path, names[i].file, count, kind, &random));
		free(path);
	}
	return number;
}
