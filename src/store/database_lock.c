#include "store/database_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/small_file.h"
#include "store/database_folder.h"
#include "store/output_folder.h"
#include "store/replace_file.h"

#define LOCK_STEP_NS   5000000
#define CLAIM_NAME     ".claim"
#define CLAIM_MODE     0600 /* so that nobody else can lock it */
#define CLAIM_ATTEMPTS 5

static int lock_patiently(int fd, int how, uint64_t patience_ns)
{
	uint64_t until_ns = clock_monotonic_ns() + patience_ns;
	for (;;) {
		if (flock(fd, how | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -ENOTSUP;
		if (clock_monotonic_ns() >= until_ns)
			return -EBUSY;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_STEP_NS }, NULL);
	}
}

int database_lock_images(const char *database, enum database_lock how, uint64_t patience_ns)
{
	CLEANUP(free_pointer) char *path = database_below(database, DATABASE_IMAGES);
	if (!path)
		return -ENOMEM;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int ret = lock_patiently(fd, how == DATABASE_LOCK_ALONE ? LOCK_EX : LOCK_SH, patience_ns);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

/* ---- claims */

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot claim '%s': %s", path, strerror(-code));
}

/* Says who has the claim, as far as the file knows. */
static int is_claimed(int fd, const char *database, const char *host, struct error *err)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	unsigned pid = 0;
	if (small_file_read_fd(fd, 64, &text) < 0 || sscanf(buffer_text(&text), "%u", &pid) != 1)
		return error_set(err, -EBUSY,
				 "another process records host '%s' into database '%s' already",
				 host, database);
	return error_set(err, -EBUSY, "process %u records host '%s' into database '%s' already",
			 pid, host, database);
}

static int open_claim(int folder)
{
	int fd = openat(folder, CLAIM_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			CLAIM_MODE);
	struct stat found;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

/* 0; -EAGAIN when another has it, or the file was replaced meanwhile. */
static int take_claim(int folder, int fd)
{
	char text[32];
	int ret = replace_lock(fd);
	if (ret < 0)
		return ret;
	if (!output_is_named(folder, CLAIM_NAME, fd))
		return -ESTALE;
	int size = snprintf(text, sizeof(text), "%u\n", (unsigned)getpid());
	/* For messages alone: a full disk is no reason to refuse. */
	bool told = ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)size, 0) == size;
	(void)told;
	return 0;
}

int database_claim(const char *database, const char *host, struct error *err)
{
	if (!database_host_is_usable(host))
		return error_set(err, -EINVAL, "'%s' cannot be a host's name in a database", host);
	CLEANUP(free_pointer) char *path = database_below(database, host);
	if (!path)
		return failed(err, -ENOMEM, database);
	int ret = database_make_folder(database, err);
	if (ret == 0)
		ret = database_make_folder(path, err);
	if (ret < 0)
		return ret;
	CLEANUP(close_fd)
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return failed(err, -errno, path);
	ret = -ESTALE;
	for (int i = 0; ret == -ESTALE && i < CLAIM_ATTEMPTS; i++) {
		int fd = open_claim(folder);
		if (fd < 0)
			return failed(err, fd, path);
		ret = take_claim(folder, fd);
		if (ret == 0)
			return fd;
		if (ret == -EAGAIN)
			ret = is_claimed(fd, database, host, err);
		close(fd);
		if (ret == -EBUSY)
			return ret;
	}
	return failed(err, ret, path);
}
