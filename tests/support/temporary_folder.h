/*
 * temporary_folder - a folder of one test, which is removed with everything in it.
 * Where none can be made, the test program ends: nothing could be tested.
 */
#pragma once

struct temporary_folder {
	char path[256];
	char *given[8]; /* by temporary_folder_path() */
	int given_count;
};

struct temporary_folder temporary_folder_make(void);
/* In memory, if there is such a place: for tests that write hundreds of files. Its file system may
 * be any: not for tests of mounts, owners or set-user-ID programs. */
struct temporary_folder temporary_folder_make_in_memory(void);
/* PATH/name; valid as long as the folder, at most 8 of them. */
const char *temporary_folder_path(struct temporary_folder *folder, const char *name);
void temporary_folder_remove(struct temporary_folder *folder); /* for CLEANUP() */
