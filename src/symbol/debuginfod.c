#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* debuginfod_find_debuginfo(3). The header is not needed for these four. */
typedef void *(*begin_function)(void);
typedef void (*end_function)(void *client);
typedef int (*find_function)(void *client, const unsigned char *build_id, int build_id_bytes,
			     char **path);

struct debuginfod {
	void *library;
	void *client;
	end_function end;
	find_function find[2]; /* by enum debuginfod_what */
};

int debuginfod_new(struct debuginfod **out, struct error *err)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return error_set(err, -ENOMEM, "out of memory");
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

int debuginfod_open(struct debuginfod *debuginfod, struct span build_id, enum debuginfod_what what,
		    struct error *err)
{
	char *path = NULL;
	/* A size of 0 would mean a hexadecimal text. */
	if (build_id.size == 0)
		return error_set(err, -ENOENT, "the image has no build-id to ask servers for");
	int fd = debuginfod->find[what](debuginfod->client, build_id.data, (int)build_id.size,
					&path);
	free(path);
	if (fd < 0)
		return error_set(err, fd, "no debuginfod server gave the file: %s", strerror(-fd));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}
