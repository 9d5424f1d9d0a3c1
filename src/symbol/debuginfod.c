#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"

#define SECOND_NS UINT64_C(1000000000)

/* debuginfod_find_debuginfo(3). The header is not needed for these. */
typedef void *(*begin_function)(void);
typedef void (*end_function)(void *client);
typedef int (*find_function)(void *client, const unsigned char *build_id, int build_id_bytes,
			     char **path);
typedef int (*progress_function)(void *client, long done, long all);
typedef void (*set_progress_function)(void *client, progress_function progress);

/* Limits that the library reads from the environment, and their values where the user sets none: by
 * itself it lets servers send as much as they like for as long as they like. */
static const struct {
	const char *name, *value;
} limits[] = {
	{ DEBUGINFOD_SIZE_VARIABLE, DEBUGINFOD_MOST_BYTES },
	{ DEBUGINFOD_TIME_VARIABLE, DEBUGINFOD_MOST_SECONDS },
	{ "DEBUGINFOD_TIMEOUT", DEBUGINFOD_STALL_SECONDS },
};

struct debuginfod {
	void *library;
	void *client;
	end_function end;
	find_function find[2]; /* by enum debuginfod_what */
	uint64_t most_bytes;   /* of a file; 0: any number */
	uint64_t most_ns;      /* of all downloads; 0: any time */
	uint64_t spent_ns;
	uint64_t began_ns; /* of the download that runs */
	int stopped;	   /* why we ended it: a negative errno */
};

/* Whose download runs, one at a time: not every version of the library passes go_on() a context. */
static struct debuginfod *running;

/* Called by the library at least once a second. Other than 0 ends the download. */
static int go_on(void *client, long done, long all)
{
	(void)client;
	const uint64_t bytes = (uint64_t)(all > done ? all : done);
	if (!running)
		return 0;
	if (running->most_ns &&
	    running->spent_ns + (clock_monotonic_ns() - running->began_ns) > running->most_ns)
		running->stopped = -ETIME;
	else if (running->most_bytes && done > 0 && bytes > running->most_bytes)
		running->stopped = -EFBIG;
	return running->stopped;
}

/* The number in a variable, as the library reads it; 0: no limit. */
static uint64_t limit_of(const char *name)
{
	const char *text = getenv(name);
	const long long value = text ? atoll(text) : 0;
	return value > 0 ? (uint64_t)value : 0;
}

static int set_limits(struct debuginfod *debuginfod)
{
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		if (setenv(limits[i].name, limits[i].value, 0) < 0)
			return -ENOMEM;
	debuginfod->most_bytes = limit_of(DEBUGINFOD_SIZE_VARIABLE);
	debuginfod->most_ns = limit_of(DEBUGINFOD_TIME_VARIABLE);
	if (debuginfod->most_ns > UINT64_MAX / 2 / SECOND_NS)
		debuginfod->most_ns = 0;
	debuginfod->most_ns *= SECOND_NS;
	return 0;
}

int debuginfod_new(struct debuginfod **out, struct error *err)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return error_set(err, -ENOMEM, "out of memory");
	if (set_limits(debuginfod) < 0) {
		free(debuginfod);
		return error_set(err, -ENOMEM, "out of memory");
	}
	debuginfod->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (debuginfod->library) {
		begin_function begin =
			(begin_function)dlsym(debuginfod->library, "debuginfod_begin");
		debuginfod->end = (end_function)dlsym(debuginfod->library, "debuginfod_end");
		debuginfod->find[DEBUGINFOD_EXECUTABLE] =
			(find_function)dlsym(debuginfod->library, "debuginfod_find_executable");
		debuginfod->find[DEBUGINFOD_DEBUG_FILE] =
			(find_function)dlsym(debuginfod->library, "debuginfod_find_debuginfo");
		if (begin && debuginfod->end && debuginfod->find[0] && debuginfod->find[1])
			debuginfod->client = begin();
		set_progress_function set_progress = (set_progress_function)dlsym(
			debuginfod->library, "debuginfod_set_progressfn");
		if (debuginfod->client && set_progress)
			set_progress(debuginfod->client, go_on);
	}
	if (!debuginfod->client) {
		debuginfod_free(debuginfod);
		return error_set(
			err, -ENOTSUP,
			"debuginfod cannot be asked: libdebuginfod.so.1 is not installed or "
			"does not start (Debian: libdebuginfod1)");
	}
	*out = debuginfod;
	return 0;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays loaded: libcurl's threads do not survive dlclose(). */
	free(debuginfod);
}

static int refused(const struct debuginfod *debuginfod, int code, struct error *err)
{
	switch (code) {
	case -ETIME:
		return error_set(err, code,
				 "servers of debug files took %llu s, the limit; "
				 "$" DEBUGINFOD_TIME_VARIABLE " says another, 0 none",
				 (unsigned long long)(debuginfod->most_ns / SECOND_NS));
	case -EFBIG:
		return error_set(err, code,
				 "it has more than %llu bytes, the limit; "
				 "$" DEBUGINFOD_SIZE_VARIABLE " says another, 0 none",
				 (unsigned long long)debuginfod->most_bytes);
	case -ENOSYS:
		return error_set(err, code, "$DEBUGINFOD_URLS names no server");
	default:
		return error_set(err, code, "no debuginfod server gave the file: %s",
				 strerror(-code));
	}
}

/* The file as it lies in the library's cache. */
static int fetch(struct debuginfod *debuginfod, struct span build_id, enum debuginfod_what what)
{
	char *path = NULL;
	running = debuginfod;
	debuginfod->stopped = 0;
	debuginfod->began_ns = clock_monotonic_ns();
	int fd = debuginfod->find[what](debuginfod->client, build_id.data, (int)build_id.size,
					&path);
	debuginfod->spent_ns += clock_monotonic_ns() - debuginfod->began_ns;
	running = NULL;
	free(path);
	return fd < 0 && debuginfod->stopped ? debuginfod->stopped : fd;
}

int debuginfod_open(struct debuginfod *debuginfod, struct span build_id, enum debuginfod_what what,
		    struct error *err)
{
	struct stat file;
	/* A size of 0 would mean a hexadecimal text. */
	if (build_id.size == 0)
		return error_set(err, -ENOENT, "the image has no build-id to ask servers for");
	if (debuginfod->most_ns && debuginfod->spent_ns >= debuginfod->most_ns)
		return refused(debuginfod, -ETIME, err);
	int fd = fetch(debuginfod, build_id, what);
	if (fd < 0)
		return refused(debuginfod, fd, err);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* a fast server may be done before anybody asks */
	if (debuginfod->most_bytes &&
	    (fstat(fd, &file) < 0 || (uint64_t)file.st_size > debuginfod->most_bytes)) {
		close(fd);
		return refused(debuginfod, -EFBIG, err);
	}
	return fd;
}
