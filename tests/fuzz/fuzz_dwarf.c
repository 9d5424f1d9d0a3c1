#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/elf_file.h"
#include "symbol/line_index.h"
#include "symbol/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

/* What libdw forgets of files that it gives up is its own; in culprit the helper process ends. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw\nleak:libelf\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

#define EXTENTS	     8
#define EXTENT_BYTES 64

/* Lines and inlined functions of the first text, whatever the file says of them: records are sound.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_file file;
	struct record_set records = { 0 };
	struct line_extent extents[EXTENTS];
	uint64_t first = 0;
	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	if (elf_file_parse(data, size, &file, NULL) < 0)
		return 0;
	const struct elf_section *text = elf_file_section(&file, ".text");
	if (text)
		first = text->vaddr < UINT64_MAX / 2 ? text->vaddr : 0;
	elf_file_release(&file);
	for (size_t i = 0; i < EXTENTS; i++)
		extents[i] = (struct line_extent){ first + i * EXTENT_BYTES,
						   first + (i + 1) * EXTENT_BYTES - 1, 0 };
	assert(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	int ret = line_index_records(fd, extents, EXTENTS, NULL, &records, NULL);
	assert(ret == 0 || ret == -EBADMSG || ret == -ENOBUFS);
	for (size_t i = 0; i < records.count; i++)
		assert(!record_fault(&records.list[i]));
	record_set_release(&records);
	return 0;
}
