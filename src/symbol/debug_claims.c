#include "symbol/debug_claims.h"

#include <errno.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/sum.h"

/* Sections of compilers unpack to 3 to 6 times their size, repeating texts to 12 times. Line tables
 * of one byte a row take a hundred times as much again when they are read. */
#define FREE_BYTES (UINT64_C(8) << 20) /* allowed however few bytes they are packed to */
#define MOST_TIMES 32

struct claims {
	uint64_t packed, unpacked; /* bytes, of all that are compressed */
};

/* The older form: "ZLIB", the size with its high byte first, and then the stream. */
static void add_old(Elf_Scn *section, struct claims *claims)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *bytes = data ? data->d_buf : NULL;
	uint64_t size = 0;
	if (!bytes || data->d_size < 12 || memcmp(bytes, "ZLIB", 4) != 0)
		return;
	for (int i = 4; i < 12; i++)
		size = size << 8 | bytes[i];
	sum_add(&claims->packed, data->d_size);
	sum_add(&claims->unpacked, size);
}

static void add_section(Elf_Scn *section, const char *name, const GElf_Shdr *header,
			struct claims *claims)
{
	GElf_Chdr compressed;
	if (header->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(section, &compressed))
			return;
		sum_add(&claims->packed, header->sh_size);
		sum_add(&claims->unpacked, compressed.ch_size);
	} else if (name && strncmp(name, ".zdebug", 7) == 0) {
		add_old(section, claims);
	}
}

int debug_claims_check(Elf *elf, struct error *err)
{
	struct claims claims = { 0 };
	struct rlimit memory;
	size_t names;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS)
			add_section(section, elf_strptr(elf, names, header.sh_name), &header,
				    &claims);
	}
	uint64_t most = FREE_BYTES + (claims.packed < UINT64_MAX / 2 / MOST_TIMES
					      ? MOST_TIMES * claims.packed
					      : UINT64_MAX / 2);
	if (getrlimit(RLIMIT_DATA, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY &&
	    memory.rlim_cur < most)
		most = memory.rlim_cur;
	if (claims.unpacked <= most)
		return 0;
	return error_set(err, -ENOBUFS,
			 "could not be read: %llu bytes of compressed debug information say that "
			 "they unpack to %llu, of which %llu are allowed",
			 (unsigned long long)claims.packed, (unsigned long long)claims.unpacked,
			 (unsigned long long)most);
}
