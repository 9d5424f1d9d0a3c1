#include "support/own_rules.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/mapped_file.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "unwind/frame_pool.h"
#include "unwind/frame_rules.h"
#include "unwind/frame_table.h"

struct found {
	uint64_t address;
	char path[256];
	bool vdso;
};

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct found *found = context;
	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD ||
		    found->address - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz)
			continue;
		found->vdso = info->dlpi_addr == getauxval(AT_SYSINFO_EHDR);
		snprintf(found->path, sizeof(found->path), "%s",
			 info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	return 0;
}

static bool put_table(const void *bytes, size_t size, struct buffer *out)
{
	CLEANUP(frame_rules_release) struct frame_rules rules = { 0 };
	struct elf_file file;
	if (elf_file_parse(bytes, size, &file, NULL) < 0)
		return false;
	bool done = frame_rules_read(&file, &rules) == 0 &&
		    frame_table_put(&rules, file.machine, out) == 0;
	elf_file_release(&file);
	return done;
}

bool own_rules_table(uint64_t address, struct buffer *out)
{
	CLEANUP(mapped_file_close) struct mapped_file mapped = { 0 };
	CLEANUP(buffer_release) struct buffer vdso = { 0 };
	struct found found = { .address = address };
	if (dl_iterate_phdr(find_library, &found) != 1)
		return false;
	if (found.vdso)
		return vdso_read(&vdso, NULL) == 0 && put_table(vdso.data, vdso.size, out);
	CLEANUP(close_fd) int fd = open(found.path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && mapped_file_open(fd, &mapped, NULL) == 0 &&
	       put_table(mapped.bytes, mapped.size_bytes, out);
}

bool own_rules_add(uint64_t address, struct frame_pool *pool, struct frame_pool_entry *entry)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct frame_table table;
	return own_rules_table(address, &bytes) &&
	       frame_table_read((struct span){ bytes.data, bytes.size }, &table) &&
	       frame_pool_add(pool, &table, entry) == 0;
}
