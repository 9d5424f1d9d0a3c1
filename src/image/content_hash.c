#include "image/content_hash.h"

#include <elf.h>
#include <nettle/sha2.h>
#include <string.h>

#include "image/elf_file.h"

#define PAGE_BYTES  4096u
#define PAGES_TAKEN 4096u /* 16 MiB of what is longer than CONTENT_WHOLE_BYTES */
#define EDGE_BYTES  ((size_t)1 << 20)
/* So much of a file is in memory at once; and so many of the pages, around each of which the kernel
 * maps up to 15 more. */
#define HELD_BYTES ((size_t)1 << 20)
#define HELD_PAGES 64u

static void put_u64(struct sha256_ctx *hash, uint64_t number)
{
	uint8_t bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	sha256_update(hash, sizeof(bytes), bytes);
}

/* With its size, so that two parts never look like two others. */
static void put_part(struct sha256_ctx *hash, const struct elf_file *file, struct span part)
{
	const uint8_t *bytes = part.data;
	put_u64(hash, part.size);
	for (size_t at = 0; at < part.size;) {
		size_t held = part.size - at < HELD_BYTES ? part.size - at : HELD_BYTES;
		sha256_update(hash, held, bytes + at);
		elf_file_let_go_of(file, (struct span){ bytes + at, held });
		at += held;
	}
}

static void put_even_pages(struct sha256_ctx *hash, const struct elf_file *file, struct span part)
{
	const uint8_t *bytes = part.data;
	size_t size = part.size, held_from = 0;
	put_u64(hash, size);
	for (size_t i = 0; i < PAGES_TAKEN; i++) {
		size_t at =
			(size_t)((unsigned __int128)(size - PAGE_BYTES) * i / (PAGES_TAKEN - 1));
		sha256_update(hash, PAGE_BYTES, bytes + at);
		if (i % HELD_PAGES == HELD_PAGES - 1) {
			elf_file_let_go_of(file,
					   (struct span){ bytes + held_from, at - held_from });
			held_from = at;
		}
	}
}

static struct span text_of(const struct elf_file *file, const struct elf_segment *segment)
{
	const size_t header = file->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	struct span code = elf_file_code(file, segment->vaddr, segment->file_bytes);
	const uint8_t *bytes = code.data;
	if (code.size && bytes == file->bytes) {
		size_t skipped = code.size < header ? code.size : header;
		code = (struct span){ bytes + skipped, code.size - skipped };
	}
	return code;
}

static void put_text(struct sha256_ctx *hash, const struct elf_file *file)
{
	uint64_t left = CONTENT_WHOLE_BYTES;
	put_u64(hash, file->machine);
	put_u64(hash, file->wide);
	put_part(hash, file, file->header_table);
	for (size_t i = 0, taken = 0; i < file->segment_count && taken < IDENTITY_MAX_SEGMENTS;
	     i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_LOAD || !(segment->flags & PF_X))
			continue;
		struct span code = text_of(file, segment);
		taken++;
		if (code.size <= left || code.size <= PAGES_TAKEN * PAGE_BYTES) {
			put_part(hash, file, code);
			left -= code.size < left ? code.size : left;
		} else {
			put_even_pages(hash, file, code);
		}
	}
}

static void put_file(struct sha256_ctx *hash, const struct elf_file *file, struct span unique)
{
	if (file->size_bytes <= CONTENT_WHOLE_BYTES) {
		put_part(hash, file, (struct span){ file->bytes, file->size_bytes });
		return;
	}
	put_even_pages(hash, file, (struct span){ file->bytes, file->size_bytes });
	put_part(hash, file, (struct span){ file->bytes, EDGE_BYTES });
	put_part(hash, file,
		 (struct span){ file->bytes + file->size_bytes - EDGE_BYTES, EDGE_BYTES });
	put_u64(hash, unique.size);
	if (unique.size)
		sha256_update(hash, unique.size, unique.data);
}

/* Over the hashes of the parts. */
static struct hash128 old_hash(const struct elf_file *file)
{
	struct hash128 parts[1 + IDENTITY_MAX_SEGMENTS];
	size_t count = 0;
	parts[count++] = hash128_bytes(file->header_table.data, file->header_table.size);
	for (size_t i = 0; i < file->segment_count && count <= IDENTITY_MAX_SEGMENTS; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_LOAD || !(segment->flags & PF_X))
			continue;
		struct span code = elf_file_code(file, segment->vaddr, segment->file_bytes);
		parts[count++] = hash128_bytes(code.data, code.size);
	}
	return hash128_bytes(parts, count * sizeof(parts[0]));
}

struct hash128 content_hash(const struct elf_file *file, enum content_kind kind, struct span unique)
{
	static const char text_word[] = "culprit text 1", file_word[] = "culprit file 1";
	struct hash128 made = { 0 };
	struct sha256_ctx hash;
	if (kind == CONTENT_NONE)
		return made;
	if (kind == CONTENT_OLD)
		return old_hash(file);
	sha256_init(&hash);
	if (kind == CONTENT_TEXT) {
		sha256_update(&hash, sizeof(text_word), (const uint8_t *)text_word);
		put_text(&hash, file);
	} else {
		sha256_update(&hash, sizeof(file_word), (const uint8_t *)file_word);
		put_file(&hash, file, unique);
	}
	sha256_digest(&hash, sizeof(made), (uint8_t *)&made);
	return made;
}
