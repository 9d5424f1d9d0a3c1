#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/content_hash.h"
#include "image/mapped_elf.h"
#include "support/elf_bytes.h"
#include "support/skip.h"

#define MIB ((size_t)1 << 20)

static struct buffer make(size_t code_bytes)
{
	uint8_t *code = malloc(code_bytes);
	assert_non_null(code);
	for (size_t i = 0; i < code_bytes; i++)
		code[i] = (uint8_t)(i * 2654435761u >> 11);
	struct elf_bytes_section text = { .name = ".text",
					  .type = SHT_PROGBITS,
					  .flags = SHF_ALLOC | SHF_EXECINSTR,
					  .bytes = code,
					  .size_bytes = code_bytes };
	struct buffer bytes = elf_bytes_make(true, EM_X86_64, 0x10000, &text, 1);
	free(code);
	return bytes;
}

static int file_of(const struct buffer *bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t at = 0; at < bytes->size;) {
		ssize_t put = write(fd, (const char *)bytes->data + at, bytes->size - at);
		assert_true(put > 0);
		at += (size_t)put;
	}
	return fd;
}

/* In bytes, since the last forget_peak(). */
static size_t peak(void)
{
	char line[200];
	size_t kb = 0;
	FILE *status = fopen("/proc/self/status", "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %zu", &kb) == 1)
			break;
	fclose(status);
	return kb * 1024;
}

static bool forget_peak(void)
{
	CLEANUP(close_fd) int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "5", 1) == 1;
}

/* Hashes a file of so much code where it is mapped, and the same bytes in memory. */
static void hash_both(size_t code_bytes, enum content_kind kind, size_t *held_bytes)
{
	static const struct span unique = { "unique", 6 };
	CLEANUP(buffer_release) struct buffer bytes = make(code_bytes);
	CLEANUP(close_fd) int fd = file_of(&bytes);
	CLEANUP(elf_file_release) struct elf_file whole;
	CLEANUP(mapped_elf_release) struct mapped_elf mapped;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &whole, NULL), 0);
	assert_int_equal(mapped_elf_open(fd, &mapped, NULL), 0);
	if (!forget_peak())
		SKIP("the most memory that was in use cannot be set back");
	size_t before = peak();
	struct hash128 read = content_hash(&mapped.file, kind, unique);
	*held_bytes = peak() - before;
	struct hash128 due = content_hash(&whole, kind, unique);
	assert_memory_equal(&read, &due, sizeof(due));
	assert_memory_equal(mapped.file.bytes, whole.bytes, whole.size_bytes);
}

static void a_long_file_is_never_in_memory_as_a_whole(void **state)
{
	(void)state;
	static const size_t sizes[] = { 24 * MIB, 100 * MIB }; /* all of it; pages of it */
	static const enum content_kind kinds[] = { CONTENT_TEXT, CONTENT_FILE };
	size_t held_bytes = 0;
	for (size_t i = 0; i < 4; i++) {
		hash_both(sizes[i / 2], kinds[i % 2], &held_bytes);
		assert_true(held_bytes < 8 * MIB);
	}
}

/* The test above can fail. */
static void other_readers_hold_what_they_read(void **state)
{
	(void)state;
	size_t held_bytes = 0;
	hash_both(24 * MIB, CONTENT_OLD, &held_bytes);
	assert_true(held_bytes > 20 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_file_is_never_in_memory_as_a_whole),
		cmocka_unit_test(other_readers_hold_what_they_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
