#include "store/open_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/write_all.h"
#include "store/output_folder.h"
#include "store/passing_name.h"
#include "store/replace_file.h"

/* The byte of the profile that readers lock; replace_lock() locks byte 0, SQLite those at 1 GiB. */
#define READERS_BYTE 1

#define LOCK_STEP_NS	 2000000
#define READER_STEPS	 1000 /* 2 s: the recorder locks it for one checkpoint */
#define RECORDER_STEPS	 25   /* 50 ms: readers lock it for one copy */
#define MAKE_ATTEMPTS	 5
#define PASSING_PURPOSE	 "." /* NAME.open.abcdefghij */
#define SQLITE_VFS_NAME	 "culprit-as-named"
#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot write '%s': %s", path, strerror(-code));
}

void open_folder_release(struct open_folder *folder)
{
	if (!folder->path)
		return;
	if (folder->profile >= 0)
		close(folder->profile);
	if (folder->folder >= 0)
		close(folder->folder);
	if (folder->parent >= 0)
		close(folder->parent);
	free(folder->path);
	*folder = (struct open_folder)OPEN_FOLDER_NONE;
}

static int start(const char *path, struct open_folder *out, struct error *err)
{
	*out = (struct open_folder)OPEN_FOLDER_NONE;
	out->path = strdup(path);
	if (!out->path)
		return failed(err, -ENOMEM, path);
	out->parent = output_folder_open(path, err);
	return out->parent < 0 ? out->parent : 0;
}

/* Removes the profile first: without it a folder counts as empty. */
static int empty_folder(int folder)
{
	static const char *const names[] = { OPEN_FOLDER_PROFILE, OPEN_FOLDER_LOG,
					     OPEN_FOLDER_PROFILE "-shm",
					     OPEN_FOLDER_PROFILE "-journal" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (unlinkat(folder, names[i], 0) < 0 && errno != ENOENT)
			return -errno;
	return 0;
}

/* Removes a folder whose maker or remover was killed: it never had, or no longer has, a name of its
 * own. */
static void remove_stale(int parent, const char *name)
{
	struct stat found;
	CLEANUP(close_fd)
	int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0 && fstat(folder, &found) == 0 && found.st_uid == geteuid() &&
	    !(found.st_mode & OTHERS_MAY_WRITE) && flock(folder, LOCK_EX | LOCK_NB) == 0 &&
	    empty_folder(folder) == 0 && output_is_named(parent, name, folder))
		unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- making */

/* The mode of the folder by that of its files: those who may read the files may search the folder.
 * The set-group-id bit that the parent gave stays. */
static mode_t folder_mode(const struct stat *made, mode_t mode)
{
	return (made->st_mode & S_ISGID) | 0700 | (mode & 0055) | ((mode & 0044) >> 2);
}

/* Where others may rename things, another folder may have the name by now. */
static int check_ours(int folder, const char *path, struct stat *found, struct error *err)
{
	if (fstat(folder, found) < 0)
		return failed(err, -errno, path);
	if (found->st_uid != geteuid())
		return error_set(err, -EPERM,
				 "cannot write '%s': it belongs to another user (uid %u)", path,
				 (unsigned)found->st_uid);
	if (found->st_mode & OTHERS_MAY_WRITE)
		return error_set(err, -EPERM,
				 "cannot write '%s': other users may write in that folder", path);
	return 0;
}

/* Makes the folder under a passing name. 0; -ENOENT when another recorder removed it as stale
 * before it was locked; or another negative errno value. */
static int make_passing(struct open_folder *made, char passing[PASSING_NAME_BYTES])
{
	int ret = passing_name_make(output_base_name(made->path), PASSING_PURPOSE, passing);
	if (ret < 0)
		return ret;
	if (mkdirat(made->parent, passing, 0700) < 0)
		return -errno;
	made->folder =
		openat(made->parent, passing, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made->folder < 0)
		return -errno;
	flock(made->folder, LOCK_EX | LOCK_NB); /* for remove_stale() */
	return output_is_named(made->parent, passing, made->folder) ? 0 : -ENOENT;
}

static int fill(struct open_folder *made, mode_t mode, const void *bytes, size_t size,
		struct error *err)
{
	struct stat found;
	int ret = check_ours(made->folder, made->path, &found, err);
	if (ret < 0)
		return ret;
	made->profile = openat(made->folder, OPEN_FOLDER_PROFILE,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (made->profile < 0)
		return failed(err, -errno, made->path);
	ret = replace_lock(made->profile); /* before anybody else can open it */
	if (ret == 0)
		ret = write_all(made->profile, bytes, size);
	if (ret == 0 &&
	    (fchmod(made->profile, mode) < 0 ||
	     fchmod(made->folder, folder_mode(&found, mode)) < 0 || fsync(made->profile) < 0))
		ret = -errno;
	if (ret == 0)
		ret = replace_sync_folder(made->folder);
	return ret < 0 ? failed(err, ret, made->path) : 0;
}

/* Renames the folder to its own name. rename(2) replaces an empty folder, which is fine. */
static int give_name(struct open_folder *made, const char *passing, struct error *err)
{
	if (renameat(made->parent, passing, made->parent, output_base_name(made->path)) < 0)
		return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR || errno == EPERM
			       ? -EEXIST
			       : failed(err, -errno, made->path);
	int ret = replace_sync_folder(made->parent);
	return ret < 0 ? failed(err, ret, made->path) : 0;
}

int open_folder_make(const char *path, mode_t mode, const void *bytes, size_t size,
		     struct open_folder *out, struct error *err)
{
	CLEANUP(open_folder_release) struct open_folder made;
	char passing[PASSING_NAME_BYTES];
	int ret = start(path, &made, err);
	if (ret < 0)
		return ret;
	passing_names_each(made.parent, output_base_name(path), PASSING_PURPOSE, remove_stale);
	ret = -ENOENT;
	for (int i = 0; ret == -ENOENT && i < MAKE_ATTEMPTS; i++) {
		if (made.folder >= 0)
			close(made.folder);
		made.folder = -1;
		ret = make_passing(&made, passing);
	}
	if (ret < 0)
		return failed(err, ret, path);
	ret = fill(&made, mode, bytes, size, err);
	if (ret == 0)
		ret = give_name(&made, passing, err);
	if (ret < 0) {
		empty_folder(made.folder);
		if (output_is_named(made.parent, output_base_name(path), made.folder))
			unlinkat(made.parent, output_base_name(path), AT_REMOVEDIR);
		else if (output_is_named(made.parent, passing, made.folder))
			unlinkat(made.parent, passing, AT_REMOVEDIR);
		return ret;
	}
	*out = made;
	made = (struct open_folder)OPEN_FOLDER_NONE;
	return 0;
}

/* ---- a leftover */

static int no_folder(const struct open_folder *folder, int code, struct error *err)
{
	struct stat found;
	if (code == -ENOENT)
		return code;
	if (fstatat(folder->parent, output_base_name(folder->path), &found, AT_SYMLINK_NOFOLLOW) <
	    0)
		return errno == ENOENT ? -ENOENT : failed(err, -errno, folder->path);
	if (found.st_uid != geteuid())
		return error_set(err, -EPERM,
				 "cannot write '%s': it belongs to another user (uid %u)",
				 folder->path, (unsigned)found.st_uid);
	if (!S_ISDIR(found.st_mode))
		return error_set(err, -ENOTDIR,
				 "cannot write '%s': it is no folder of an open profile",
				 folder->path);
	return failed(err, code, folder->path);
}

static int reopen_profile(struct open_folder *reopened, struct error *err)
{
	struct stat found;
	const char *path = reopened->path;
	reopened->profile = openat(reopened->folder, OPEN_FOLDER_PROFILE,
				   O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (reopened->profile < 0)
		return errno == ENOENT ? 0 : failed(err, -errno, path);
	if (fstat(reopened->profile, &found) < 0)
		return failed(err, -errno, path);
	if (!S_ISREG(found.st_mode))
		return error_set(err, -EPROTO,
				 "cannot write '%s': '" OPEN_FOLDER_PROFILE
				 "' in it is no regular file",
				 path);
	if (found.st_uid != geteuid())
		return error_set(err, -EPERM,
				 "cannot write '%s': '" OPEN_FOLDER_PROFILE
				 "' in it belongs to another user (uid %u)",
				 path, (unsigned)found.st_uid);
	int ret = replace_lock(reopened->profile);
	if (ret == -EAGAIN)
		return error_set(err, -EBUSY, "cannot write '%s': another recording is writing it",
				 path);
	return ret < 0 ? failed(err, ret, path) : 0;
}

int open_folder_reopen(const char *path, struct open_folder *out, struct error *err)
{
	CLEANUP(open_folder_release) struct open_folder reopened;
	struct stat found;
	int ret = start(path, &reopened, err);
	if (ret < 0)
		return ret;
	reopened.folder = openat(reopened.parent, output_base_name(path),
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (reopened.folder < 0)
		return no_folder(&reopened, -errno, err);
	ret = check_ours(reopened.folder, path, &found, err);
	if (ret == 0)
		ret = reopen_profile(&reopened, err);
	if (ret < 0)
		return ret;
	/* The process that had it locked may have removed it just now. */
	if (!output_is_named(reopened.parent, output_base_name(path), reopened.folder) ||
	    (reopened.profile >= 0 &&
	     !output_is_named(reopened.folder, OPEN_FOLDER_PROFILE, reopened.profile)))
		return -ENOENT;
	*out = reopened;
	reopened = (struct open_folder)OPEN_FOLDER_NONE;
	return 0;
}

int open_folder_remove(struct open_folder *folder, struct error *err)
{
	char passing[PASSING_NAME_BYTES];
	const char *name = output_base_name(folder->path);
	int ret = passing_name_make(name, PASSING_PURPOSE, passing);
	/* Where others may rename, something else may have the name: that stays. */
	bool named = output_is_named(folder->parent, name, folder->folder);
	if (ret == 0 && named && renameat(folder->parent, name, folder->parent, passing) < 0)
		ret = -errno;
	if (ret == 0)
		ret = empty_folder(folder->folder);
	if (ret == 0 && named && output_is_named(folder->parent, passing, folder->folder) &&
	    unlinkat(folder->parent, passing, AT_REMOVEDIR) < 0)
		ret = -errno;
	/* What somebody put into it stays where he finds it. */
	if (ret == -ENOTEMPTY &&
	    renameat2(folder->parent, passing, folder->parent, name, RENAME_NOREPLACE) < 0 &&
	    errno == EINVAL) /* not there; and a folder replaces none but an empty one */
		renameat(folder->parent, passing, folder->parent, name);
	if (ret == 0)
		ret = replace_sync_folder(folder->parent);
	return ret < 0 ? error_set(err, ret, "cannot remove '%s': %s", folder->path, strerror(-ret))
		       : 0;
}

/* ---- SQLite */

/* Leaves the name as it is. SQLite's own function would resolve /proc/self/fd/N to a path. */
static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	if (strlen(name) >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(out, name, strlen(name) + 1);
	return SQLITE_OK;
}

static void register_vfs(void)
{
	static sqlite3_vfs vfs;
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	if (!usual)
		return;
	vfs = *usual;
	vfs.zName = SQLITE_VFS_NAME;
	vfs.pNext = NULL;
	vfs.xFullPathname = full_name;
	sqlite3_vfs_register(&vfs, 0);
}

int open_folder_sqlite(const struct open_folder *folder, sqlite3 **db)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char name[64];
	pthread_once(&once, register_vfs);
	snprintf(name, sizeof(name), "/proc/self/fd/%d/" OPEN_FOLDER_PROFILE, folder->folder);
	int code = sqlite3_open_v2(name, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				   SQLITE_VFS_NAME);
	/* Exclusive: readers copy the files without SQLite's locks (file_source.h). */
	if (code == SQLITE_OK)
		code = sqlite3_exec(*db,
				    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL;"
				    "PRAGMA wal_autocheckpoint=0; PRAGMA temp_store=MEMORY;"
				    "PRAGMA mmap_size=0",
				    NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return code;
}

/* ---- locks */

static int lock_readers_byte(int fd, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = READERS_BYTE, .l_len = 1
	};
	return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

/* Locks the byte, trying every 2 ms; -EBUSY when another still has it. On a file system without
 * locks
 * (-ENOLCK, ...) nobody can have one, and 0 is right. */
static int lock_patiently(int fd, short type, int steps)
{
	for (int i = 0;; i++) {
		int ret = lock_readers_byte(fd, type);
		if (ret != -EAGAIN && ret != -EACCES)
			return 0;
		if (i == steps)
			return -EBUSY;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_STEP_NS }, NULL);
	}
}

bool open_folder_lock_readers(const struct open_folder *folder)
{
	return lock_patiently(folder->profile, F_WRLCK, RECORDER_STEPS) == 0;
}

void open_folder_unlock_readers(const struct open_folder *folder)
{
	lock_readers_byte(folder->profile, F_UNLCK);
}

/* Tests for a lock for reading, with which only a writer's lock conflicts, not other readers'. */
bool open_folder_has_writer(int profile)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };
	return fcntl(profile, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int open_folder_begin_read(int profile)
{
	return lock_patiently(profile, F_RDLCK, READER_STEPS);
}

void open_folder_end_read(int profile)
{
	lock_readers_byte(profile, F_UNLCK);
}
