/*
 * process_support - what the process has open and mapped, for tests of what libculprit leaves
 * behind.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Descriptors that are open, that of the listing left out; `inherited` alone those that a program
   which is executed would have. */
static inline int open_descriptors(bool inherited)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || fd == dirfd(folder))
			continue;
		count += !inherited || !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	if (folder)
		closedir(folder);
	return folder ? count : -1;
}

/* Lines of /proc/self/maps that hold `text`. */
static inline int mappings_of(const char *text)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "re");
	int count = 0;
	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, text) != NULL;
	if (maps)
		fclose(maps);
	return maps ? count : -1;
}

/* Has the kernel bring `pages` new pages, each by a page fault of this thread. */
static inline void touch_pages(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (memory == MAP_FAILED)
		abort();
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		((volatile char *)memory)[i * page] = 1;
	munmap(memory, pages * page);
}
