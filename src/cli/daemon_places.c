#include "cli/daemon_places.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MACHINE_SOCKET "/run/culprit-daemon/control"

/* The variable, where it is an absolute path; of a list the first one. */
static const char *folder_of(const char *variable, char *folder, size_t size)
{
	const char *value = secure_getenv(variable);
	if (!value || value[0] != '/')
		return NULL;
	int length = snprintf(folder, size, "%.*s", (int)strcspn(value, ":"), value);
	return length > 0 && (size_t)length < size ? folder : NULL;
}

/* An empty path where it has no room. */
__attribute__((format(printf, 3, 4))) static void set(char *path, size_t size, const char *format,
						      ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(path, size, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= size)
		path[0] = 0;
}

/* A place of the user's: below the folder of the variable, or below his home. */
static void set_own(char *path, size_t size, const char *variable, const char *below_home,
		    const char *name)
{
	char folder[400];
	path[0] = 0;
	if (folder_of(variable, folder, sizeof(folder)))
		set(path, size, "%s/%s", folder, name);
	else if (below_home && folder_of("HOME", folder, sizeof(folder)))
		set(path, size, "%s/%s/%s", folder, below_home, name);
}

static void find_own(struct daemon_places *places)
{
	set_own(places->database, sizeof(places->database), "XDG_STATE_HOME", ".local/state",
		"culprit");
	set_own(places->socket, sizeof(places->socket), "XDG_RUNTIME_DIR", NULL, "culprit/control");
	set_own(places->settings, sizeof(places->settings), "XDG_CONFIG_HOME", ".config",
		"culprit/daemon.conf");
	set_own(places->costs, sizeof(places->costs), "XDG_RUNTIME_DIR", NULL, "culprit");
	set_own(places->frames, sizeof(places->frames), "XDG_CACHE_HOME", ".cache",
		"culprit/frames");
}

static void find_machine(struct daemon_places *places)
{
	set(places->database, sizeof(places->database), "/var/lib/culprit");
	set(places->socket, sizeof(places->socket), MACHINE_SOCKET);
	set(places->settings, sizeof(places->settings), "/etc/culprit/daemon.conf");
	set(places->costs, sizeof(places->costs), "/run/culprit");
	set(places->frames, sizeof(places->frames), "/var/cache/culprit/frames");
}

void daemon_places_find(struct daemon_places *places)
{
	char folder[400];
	bool managed = folder_of("STATE_DIRECTORY", folder, sizeof(folder)) != NULL;
	if (geteuid() == 0 || managed)
		find_machine(places);
	else
		find_own(places);
	if (folder_of("STATE_DIRECTORY", folder, sizeof(folder)))
		set(places->database, sizeof(places->database), "%s", folder);
	if (folder_of("RUNTIME_DIRECTORY", folder, sizeof(folder))) {
		set(places->socket, sizeof(places->socket), "%s/control", folder);
		set(places->costs, sizeof(places->costs), "%s/costs", folder);
	}
	if (folder_of("CACHE_DIRECTORY", folder, sizeof(folder)))
		set(places->frames, sizeof(places->frames), "%s/frames", folder);
	if (folder_of("CONFIGURATION_DIRECTORY", folder, sizeof(folder)))
		set(places->settings, sizeof(places->settings), "%s/daemon.conf", folder);
}

void daemon_places_find_socket(char *path, size_t size)
{
	struct stat found;
	set_own(path, size, "XDG_RUNTIME_DIR", NULL, "culprit/control");
	if (!path[0] || lstat(path, &found) < 0)
		set(path, size, MACHINE_SOCKET);
}

int daemon_places_make_folder(const char *path)
{
	CLEANUP(free_pointer) char *folder = strdup(path);
	if (!folder)
		return -ENOMEM;
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(folder, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}
