/*
 * file_inode - whether an open file is the one that a recording of this machine saw mapped.
 *
 * The kernel's records name a file by device, inode and the inode's generation. They
 * are those of the file system below: overlayfs and btrfs tell stat(2) another device,
 * and /proc/self/maps the same as the records, so the file is mapped and looked up
 * there. A generation guards against an inode that was given away again, and where the
 * file system tells none the time of the inode's last change does; the time of the
 * content's against a file that was written over in place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct binary_inode {
	uint64_t device, inode, generation; /* inode 0: not known */
	/* since 1970: a file written to later is not the one that was seen; 0: not known, and
	 * then a file without generation is not taken */
	uint64_t unchanged_since_ns;
};

/* Reads and maps the file's first page, at most. */
bool file_inode_is(int fd, const struct binary_inode *wanted);
/* The device and inode by which the kernel names a mapping of the file. False: that is not known,
 * and both are 0. */
bool file_inode_mapped(int fd, uint64_t *device, uint64_t *inode);
