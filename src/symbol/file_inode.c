#include "symbol/file_inode.h"

#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define NS_PER_S UINT64_C(1000000000)

/* How /proc/self/maps names the mapping that begins at `mapped`. */
static bool find_mapped(const void *mapped, uint64_t *device, uint64_t *inode)
{
	char line[4608];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned long start, number;
		unsigned int major, minor;
		found = sscanf(line, "%lx-%*x %*s %*x %x:%x %lu", &start, &major, &minor,
			       &number) == 4 &&
			start == (unsigned long)mapped;
		if (found) {
			*device = makedev(major, minor);
			*inode = number;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

bool file_inode_mapped(int fd, uint64_t *device, uint64_t *inode)
{
	*device = *inode = 0;
	void *mapped = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return false;
	bool found = find_mapped(mapped, device, inode);
	munmap(mapped, 1);
	return found;
}

static bool is_mapped_as(int fd, const struct binary_inode *wanted)
{
	uint64_t device, inode;
	return file_inode_mapped(fd, &device, &inode) && device == wanted->device &&
	       inode == wanted->inode;
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

bool file_inode_is(int fd, const struct binary_inode *wanted)
{
	struct stat info;
	int generation = 0;
	if (!wanted->inode || fstat(fd, &info) < 0)
		return false;
	if (wanted->unchanged_since_ns && ns_of(&info.st_mtim) > wanted->unchanged_since_ns)
		return false;
	if ((info.st_dev != wanted->device || info.st_ino != wanted->inode) &&
	    !is_mapped_as(fd, wanted))
		return false;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		return (uint32_t)generation == wanted->generation;
	/* a file that is given the inode has a younger st_ctim, which nobody can set back; a new
	   link to it, or new rights, change it too, so it counts only here */
	return wanted->unchanged_since_ns && ns_of(&info.st_ctim) <= wanted->unchanged_since_ns;
}
