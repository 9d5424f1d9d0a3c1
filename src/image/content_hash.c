#include "image/content_hash.h"

#include <elf.h>
#include <nettle/sha2.h>
#include <string.h>

#include "image/elf_file.h"

#define PAGE_BYTES  4096u
#define PAGES_TAKEN 4096u /* 16 MiB of what is longer than CONTENT_WHOLE_BYTES */
#define EDGE_BYTES  ((size_t)1 << 20)

static void put_u64(struct sha256_ctx *hash, uint64_t number)
{
	uint8_t bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	sha256_update(hash, sizeof(bytes), bytes);
}

/* With its size, so that two parts never look like two others. */
static void put_part(struct sha256_ctx *hash, const uint8_t *bytes, size_t size)
{
	put_u64(hash, size);
	if (size)
		sha256_update(hash, size, bytes);
}

static void put_even_pages(struct sha256_ctx *hash, const uint8_t *bytes, size_t size)
{
	put_u64(hash, size);
	for (size_t i = 0; i < PAGES_TAKEN; i++) {
		size_t at =
			(size_t)((unsigned __int128)(size - PAGE_BYTES) * i / (PAGES_TAKEN - 1));
		sha256_update(hash, PAGE_BYTES, bytes + at);
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
	put_part(hash, file->header_table.data, file->header_table.size);
	for (size_t i = 0, taken = 0; i < file->segment_count && taken < IDENTITY_MAX_SEGMENTS;
	     i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type != PT_LOAD || !(segment->flags & PF_X))
			continue;
		struct span code = text_of(file, segment);
		taken++;
		if (code.size <= left || code.size <= PAGES_TAKEN * PAGE_BYTES) {
			put_part(hash, code.data, code.size);
			left -= code.size < left ? code.size : left;
		} else {
			put_even_pages(hash, code.data, code.size);
		}
	}
}

static void put_file(struct sha256_ctx *hash, const struct elf_file *file, struct span unique)
{
	if (file->size_bytes <= CONTENT_WHOLE_BYTES) {
		put_part(hash, file->bytes, file->size_bytes);
		return;
	}
	put_even_pages(hash, file->bytes, file->size_bytes);
	put_part(hash, file->bytes, EDGE_BYTES);
	put_part(hash, file->bytes + file->size_bytes - EDGE_BYTES, EDGE_BYTES);
	put_part(hash, unique.data, unique.size);
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
