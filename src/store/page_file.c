#include "store/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"

#define VFS_NAME  "culprit-pages"
#define NAME_ROOM 32 /* of a descriptor's number as text */

struct page_file {
	sqlite3_file base;
	int fd;
};

static int file_close(sqlite3_file *file)
{
	close(((struct page_file *)file)->fd);
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
	const struct page_file *pages = (const struct page_file *)file;
	int done = 0;
	while (done < size) {
		ssize_t got = pread(pages->fd, (char *)out + done, (size_t)(size - done),
				    (off_t)offset + done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (got == 0)
			break;
		done += (int)got;
	}
	budget_read_profile((uint64_t)done);
	if (done == size)
		return SQLITE_OK;
	memset((char *)out + done, 0, (size_t)(size - done));
	return SQLITE_IOERR_SHORT_READ;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct stat found;
	if (fstat(((struct page_file *)file)->fd, &found) < 0)
		return SQLITE_IOERR_FSTAT;
	*size = found.st_size;
	return SQLITE_OK;
}

static int refuse_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
	(void)file;
	(void)bytes;
	(void)size;
	(void)offset;
	return SQLITE_READONLY;
}

static int refuse_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file;
	(void)size;
	return SQLITE_READONLY;
}

static int nothing_to_do(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int nobody_locks(sqlite3_file *file, int *locked)
{
	(void)file;
	*locked = 0;
	return SQLITE_OK;
}

static int not_known(sqlite3_file *file, int operation, void *argument)
{
	(void)file;
	(void)operation;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
	(void)file;
	return 512;
}

static int characteristics(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = refuse_write,
	.xTruncate = refuse_truncate,
	.xSync = nothing_to_do,
	.xFileSize = file_size,
	.xLock = nothing_to_do,
	.xUnlock = nothing_to_do,
	.xCheckReservedLock = nobody_locks,
	.xFileControl = not_known,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
};

/* The name is the number of a descriptor. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *flags_out)
{
	struct page_file *pages = (struct page_file *)file;
	(void)vfs;
	pages->base.pMethods = NULL;
	if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	pages->fd = fcntl(atoi(name), F_DUPFD_CLOEXEC, 0);
	if (pages->fd < 0)
		return SQLITE_CANTOPEN;
	pages->base.pMethods = &methods;
	if (flags_out)
		*flags_out = SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_READONLY;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*result = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static sqlite3_vfs pages_vfs;
static int registered = SQLITE_ERROR;

/* Time and random numbers, which nothing here needs, are the default's. */
static void register_vfs(void)
{
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	if (!usual)
		return;
	pages_vfs = *usual;
	pages_vfs.szOsFile = sizeof(struct page_file);
	pages_vfs.mxPathname = NAME_ROOM;
	pages_vfs.pNext = NULL;
	pages_vfs.zName = VFS_NAME;
	pages_vfs.xOpen = vfs_open;
	pages_vfs.xDelete = vfs_delete;
	pages_vfs.xAccess = vfs_access;
	pages_vfs.xFullPathname = vfs_full_name;
	registered = sqlite3_vfs_register(&pages_vfs, 0);
}

int page_file_open(struct guard *guard, int fd, uint64_t file_bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char name[NAME_ROOM];
	pthread_once(&once, register_vfs);
	if (registered != SQLITE_OK)
		return registered;
	snprintf(name, sizeof(name), "%d", fd);
	int code = sqlite3_open_v2(name, &guard->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
				   VFS_NAME);
	return code == SQLITE_OK ? guard_harden(guard, file_bytes) : code;
}
