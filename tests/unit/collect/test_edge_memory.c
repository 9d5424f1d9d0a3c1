#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/edge_helper.h"
#include "collect/edge_memory.h"
#include "own_mappings.h"
#include "support/elf_bytes.h"

struct own {
	struct own_mapping mappings[OWN_MAPPINGS];
	struct mapping list[OWN_MAPPINGS];
	size_t count;
	struct edge_memory memory;
	struct edge_space space;
	int fd; /* of our memory: reading it through pointers would be undefined */
};

static struct own *own_new(void)
{
	struct own *own = calloc(1, sizeof(*own));
	assert_non_null(own);
	own->memory.isa = edge_isa();
	own->count = own_mappings_read(own->mappings);
	for (size_t i = 0; i < own->count; i++) {
		CLEANUP(close_fd) int fd = open(own->mappings[i].path, O_RDONLY | O_CLOEXEC);
		own->list[i] = own->mappings[i].mapping;
		if (fd >= 0)
			assert_int_equal(
				edge_memory_set_file(&own->memory, own->list[i].file, fd, NULL), 0);
	}
	assert_int_equal(edge_space_init(&own->space, &own->memory, own->list, own->count), 0);
	own->fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(own->fd >= 0);
	return own;
}

static void own_free(struct own *own)
{
	close(own->fd);
	edge_space_release(&own->space);
	edge_memory_release(&own->memory);
	free(own);
}

/* What is mapped of files whose names have that in them. */
static uint64_t mapped_bytes(const char *name)
{
	uint64_t sum = 0, start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, name) && sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			sum += end - start;
	fclose(maps);
	return sum;
}

static void holes_of_files_are_not_mapped(void **state)
{
	(void)state;
	struct own *own = own_new();
	const size_t hole = 64 << 20;
	char bytes[65536];
	CLEANUP(close_fd) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int fd = memfd_create("with-a-hole", MFD_CLOEXEC);
	assert_true(from >= 0 && fd >= 0);
	off_t size = 0;
	for (ssize_t got; (got = read(from, bytes, sizeof(bytes))) > 0; size += got)
		assert_int_equal(write(fd, bytes, (size_t)got), got);
	assert_int_equal(ftruncate(fd, size + (off_t)hole), 0);
	assert_int_equal(edge_memory_set_file(&own->memory, 77, fd, NULL), 0);
	assert_true(mapped_bytes("with-a-hole") >= (uint64_t)size / 2);
	assert_true(mapped_bytes("with-a-hole") < (uint64_t)size + (1 << 20));
	own_free(own);
}

static const struct {
	const void *pointer;
	uint64_t number;
} constants[] = { { constants, 0x1122334455667788 }, { own_branch, 42 } };
static uint64_t variable = 5;

/* The eight bytes at an address of our own memory; a page is read once. */
static uint64_t word_of(const struct own *own, uint64_t at)
{
	static uint64_t page[512], of = 1;
	uint64_t start = at & ~(sizeof(page) - 1);
	if (of != start) {
		assert_int_equal(pread(own->fd, page, sizeof(page), (off_t)start), sizeof(page));
		of = start;
	}
	return page[(at - start) / 8];
}

static void what_is_known_is_what_memory_has(void **state)
{
	(void)state;
	struct own *own = own_new();
	size_t known = 0;
	assert_true(own->space.image_count >= 2); /* this program and a library */
	for (size_t i = 0; i < own->space.image_count; i++) {
		const struct edge_image *image = &own->space.images[i];
		for (uint64_t at = image->start; at < image->end - 8; at += 8) {
			uint64_t told;
			if (!edge_space_read(&own->space, at, 8, &told))
				continue;
			uint64_t there = word_of(own, at);
			if (told != there)
				fail_msg("%#lx of image %zu: %#lx, not %#lx", at - image->bias, i,
					 told, there);
			known++;
		}
	}
	assert_true(known > 10000);
	own_free(own);
}

static void constants_are_known_and_variables_are_not(void **state)
{
	(void)state;
	struct own *own = own_new();
	uint64_t value;
	assert_true(edge_space_read(&own->space, (uintptr_t)&constants[0].number, 8, &value));
	assert_int_equal(value, 0x1122334455667788);
	assert_true(edge_space_read(&own->space, (uintptr_t)&constants[0].number + 1, 2, &value));
	assert_int_equal(value, 0x6677);
	/* what the loader wrote, whole and in part */
	assert_true(edge_space_read(&own->space, (uintptr_t)&constants[1].pointer, 8, &value));
	assert_int_equal(value, (uintptr_t)own_branch);
	assert_true(edge_space_read(&own->space, (uintptr_t)&constants[1].pointer + 1, 1, &value));
	assert_int_equal(value, (uintptr_t)own_branch >> 8 & 0xff);
	assert_false(edge_space_read(&own->space, (uintptr_t)&variable, 8, &value));
	assert_false(edge_space_read(&own->space, (uintptr_t)&value, 8, &value));
	assert_false(edge_space_read(&own->space, 8, 8, &value));
	assert_false(edge_space_read(&own->space, UINT64_MAX - 3, 8, &value));
	assert_false(edge_space_read(&own->space, (uintptr_t)constants, 16, &value));
	own_free(own);
}

static void addresses_of_symbols_are_those_of_their_only_definition(void **state)
{
	(void)state;
	struct own *own = own_new();
	size_t slots = 0;
	for (size_t i = 0; i < own->space.image_count; i++) {
		const struct edge_image *image = &own->space.images[i];
		for (uint64_t at = image->start; at < image->end - 8; at += 8) {
			uint64_t told;
			slots += edge_space_read(&own->space, at, 8, &told) &&
				 told == (uintptr_t)cmocka_set_message_output;
		}
	}
	assert_true(slots > 0); /* of the address that stands here */
	own_free(own);
}

static void code_is_found_with_its_place(void **state)
{
	(void)state;
	struct own *own = own_new();
	struct span code = edge_space_code(&own->space, (uintptr_t)own_branch);
	uint8_t there[8];
	assert_true(code.size >= sizeof(there));
	assert_int_equal(pread(own->fd, there, sizeof(there), (off_t)(uintptr_t)own_branch),
			 sizeof(there));
	assert_memory_equal(code.data, there, sizeof(there));
	assert_int_equal(edge_space_code(&own->space, (uintptr_t)&variable).size, 0);
	uint32_t file;
	uint64_t first;
	uint64_t second;
	assert_true(edge_space_place(&own->space, (uintptr_t)own_branch, &file, &first));
	assert_true(edge_space_place(&own->space, (uintptr_t)own_branch_jump, &file, &second));
	assert_int_equal(second - first, own_branch_jump - own_branch);
	assert_true(file > 0 && file <= own->count);
	assert_false(edge_space_place(&own->space, (uintptr_t)&variable, &file, &first));
	own_free(own);
}

static void mappings_that_make_no_sense_show_nothing(void **state)
{
	(void)state;
	struct own *own = own_new();
	struct mapping wrong[] = {
		{ 0x1000, 0x2000, UINT64_MAX - 10, own->list[0].file },
		{ 0x3000, 0x3000, own->list[0].offset, own->list[0].file },
		{ 0x4000, 0x5000, own->list[0].offset, 1000000 },
		{ 0x6000, UINT64_MAX, own->list[0].offset, own->list[0].file },
	};
	struct edge_space space;
	assert_int_equal(edge_space_init(&space, &own->memory, wrong, 4), 0);
	assert_int_equal(space.mapping_count, 1);
	assert_int_equal(edge_space_code(&space, 0x1000).size, 0);
	assert_true(edge_space_code(&space, 0x6000).size > 0);
	assert_int_equal(edge_space_code(&space, UINT64_MAX - 1).size, 0); /* past the file */
	edge_space_release(&space);
	own_free(own);
}

static void damaged_files_and_other_machines_are_refused(void **state)
{
	(void)state;
	struct elf_bytes_section sections[] = { { .name = ".text",
						  .type = SHT_PROGBITS,
						  .flags = SHF_ALLOC | SHF_EXECINSTR,
						  .bytes = "\x90\x90\x90\xc3",
						  .size_bytes = 4 } };
	struct edge_memory memory = { .isa = ISA_X86_64 };
	CLEANUP(buffer_release)
	struct buffer other = elf_bytes_make(true, EM_AARCH64, 0x10000, sections, 1);
	struct span bytes = { other.data, other.size };
	assert_int_equal(edge_memory_set_bytes(&memory, 3, bytes, NULL), -ENOEXEC);
	assert_int_equal(edge_memory_set_bytes(&memory, UINT32_MAX, bytes, NULL), -E2BIG);
	CLEANUP(buffer_release)
	struct buffer whole = elf_bytes_make(true, EM_X86_64, 0x10000, sections, 1);
	const struct mapping mapping = { 0x10000, 0x20000, 0, 3 };
	for (size_t size = 0; size <= whole.size; size++) {
		uint8_t *cut = malloc(size + 1); /* whose end the sanitizer watches */
		assert_non_null(cut);
		memcpy(cut, whole.data, size);
		int ret = edge_memory_set_bytes(&memory, 3, (struct span){ cut, size }, NULL);
		struct edge_space space;
		uint64_t value;
		assert_int_equal(edge_space_init(&space, &memory, &mapping, 1), 0);
		for (uint64_t at = 0x10000; ret == 0 && at < 0x10200; at++) {
			struct span code = edge_space_code(&space, at);
			assert_true(code.size <= size);
			edge_space_read(&space, at, 8, &value);
		}
		edge_space_release(&space);
		edge_memory_release(&memory);
		free(cut);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	/* Slots that are bound when first called show where they lead only afterwards. */
	if (!getenv("LD_BIND_NOW")) {
		setenv("LD_BIND_NOW", "1", 1);
		execv("/proc/self/exe", argv);
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_of_files_are_not_mapped),
		cmocka_unit_test(what_is_known_is_what_memory_has),
		cmocka_unit_test(constants_are_known_and_variables_are_not),
		cmocka_unit_test(addresses_of_symbols_are_those_of_their_only_definition),
		cmocka_unit_test(code_is_found_with_its_place),
		cmocka_unit_test(mappings_that_make_no_sense_show_nothing),
		cmocka_unit_test(damaged_files_and_other_machines_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
