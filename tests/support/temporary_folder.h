/*
 * temporary_folder - a folder of one test that goes with everything in it.
 * Failing to make one ends the test program: nothing could be tested.
 */
#pragma once

struct temporary_folder {
	char path[256];
	char *given[8]; /* by temporary_folder_path() */
	int given_count;
};

struct temporary_folder temporary_folder_make(void);
/* Where nothing waits for a disk, if there is such a place: for who writes files by the hundred. Of
 * its file system nothing is known: no mounts, owners or set-user-ID programs are tried there. */
struct temporary_folder temporary_folder_make_in_memory(void);
/* PATH/name; valid as long as the folder, at most 8 of them. */
const char *temporary_folder_path(struct temporary_folder *folder, const char *name);
void temporary_folder_remove(struct temporary_folder *folder); /* for CLEANUP() */
