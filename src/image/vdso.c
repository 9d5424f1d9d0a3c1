#include "image/vdso.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

#define VDSO_MAX_BYTES (64u << 10) /* it is 4 to 16 KiB */

/* Where the mapping that starts at the vdso's header ends. */
static uint64_t mapping_end(uint64_t start)
{
	CLEANUP(close_file) FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t first, end;
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &end) == 2 && first == start)
			return end;
	return 0;
}

int vdso_read(struct buffer *out, struct error *err)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	if (!start)
		return error_set(err, -ENOENT, "this kernel gives processes no vdso");
	uint64_t end = mapping_end(start);
	if (end <= start || end - start > VDSO_MAX_BYTES)
		return error_set(err, -ENOENT, "the vdso's mapping is not in /proc/self/maps");
	/* Readable for as long as we live, and nobody writes to it. */
	buffer_append(out, (const void *)(uintptr_t)start, (size_t)(end - start));
	return buffer_failed(out) ? error_set(err, -ENOMEM, "out of memory") : 0;
}
