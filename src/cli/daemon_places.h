/*
 * daemon_places - where a daemon keeps things when nobody says where: a service manager's folders
 * (STATE_DIRECTORY and so on, systemd.exec(5)), those of the machine for root, and those of the
 * user (XDG base directories) for others.
 */
#pragma once

#include <stddef.h>

struct daemon_places {
	/* "" where there is no such place. */
	char database[512];
	char socket[512];
	char settings[512];
	char costs[512];  /* of what ends with the boot (collect/options.h, cost_folder) */
	char frames[512]; /* of what can be made again (likewise) */
};

void daemon_places_find(struct daemon_places *places);
/* For who asks a daemon: its own user's socket where there is one, else the machine's. */
void daemon_places_find_socket(char *path, size_t size);
/* Makes the folder that the path is in, and what is missing on the way to it. 0 or a negative
 * errno.
 */
int daemon_places_make_folder(const char *path);
