/* Places in this very program, as a user would write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/code_place.h"

/* The first instruction has more than one byte. */
__attribute__((noinline, used)) static uint64_t landmark(uint64_t value)
{
#ifdef __x86_64__
	__asm__ volatile("movabs $0x1122334455667788, %%rax\n\tadd %%rax, %0"
			 : "+r"(value)
			 :
			 : "rax");
#else
	__asm__ volatile("" : "+r"(value));
#endif
	return value;
}

static uint64_t address_of_landmark(void)
{
	return (uint64_t)(uintptr_t)landmark;
}

static const char *own_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	assert_true(size > 0);
	path[size] = 0;
	return path;
}

static struct code_place found(const char *text)
{
	struct code_place place = { .text = text };
	struct error err = { 0 };
	if (code_place_find(&place, getpid(), &err) != 0)
		fail_msg("'%s' is not found: %s", text, err.text);
	return place;
}

static void a_procedure_is_found_by_its_name(void **state)
{
	(void)state;
	struct code_place place = found("landmark");
	assert_int_equal(place.address, address_of_landmark());
	assert_int_equal(place.offset, 0);
	assert_string_equal(place.procedure, "landmark");
	assert_string_equal(place.path, own_path());
	assert_int_equal(place.identity.content, CONTENT_TEXT);
	code_place_release(&place);
	assert_null(place.path);
}

static void an_instruction_is_found_by_its_offset_or_its_vaddr(void **state)
{
	(void)state;
	char text[4200];
	struct code_place first = found("landmark");
	/* The program itself, by its path, its file's name or nothing. */
	snprintf(text, sizeof(text), "0x%lx", (unsigned long)first.vaddr);
	struct code_place bare = found(text);
	assert_int_equal(bare.address, first.address);
	assert_string_equal(bare.procedure, "landmark");
	code_place_release(&bare);
	snprintf(text, sizeof(text), "%s+0x%lx", own_path(), (unsigned long)first.vaddr);
	struct code_place by_path = found(text);
	assert_int_equal(by_path.address, first.address);
	code_place_release(&by_path);
	snprintf(text, sizeof(text), "%s+0x%lx", strrchr(own_path(), '/') + 1,
		 (unsigned long)first.vaddr);
	struct code_place by_name = found(text);
	assert_int_equal(by_name.address, first.address);
	code_place_release(&by_name);
	struct code_place same = found("landmark+0x0");
	assert_int_equal(same.address, first.address);
	code_place_release(&same);
	code_place_release(&first);
}

static void a_library_comes_after_the_program(void **state)
{
	(void)state;
	struct code_place place = found("gnu_get_libc_version");
	assert_non_null(strstr(place.path, "libc"));
	assert_int_equal(place.address, (uint64_t)(uintptr_t)gnu_get_libc_version);
	code_place_release(&place);
}

static void refuse(const char *text, int code, const char *sentence)
{
	struct code_place place = { .text = text };
	struct error err = { 0 };
	assert_int_equal(code_place_find(&place, getpid(), &err), code);
	if (sentence && !strstr(err.text, sentence))
		fail_msg("'%s' does not say '%s'", err.text, sentence);
	code_place_release(&place);
}

static void what_is_no_place_is_refused(void **state)
{
	(void)state;
	char text[64], sentence[128];
	static const char *const mistakes[] = { "", "+0x10", "0x", "0xg", "landmark+0x" };
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		snprintf(sentence, sizeof(sentence),
			 "'%s' is no place in code: IMAGE+0xVADDR, PROCEDURE, PROCEDURE+0xOFFSET "
			 "or 0xVADDR",
			 mistakes[i]);
		refuse(mistakes[i], -EINVAL, sentence);
	}
	refuse("no_such_procedure", -ENOENT, NULL);
	refuse("0x7fffffffffff", -ENOENT, NULL); /* in no segment */
	refuse("landmark+0x100000", -EINVAL, "lies behind its procedure, which has ");
#ifdef __x86_64__
	/* The instruction of ten bytes is one of the first. */
	uint8_t code[32];
	memcpy(code, (const void *)(uintptr_t)address_of_landmark(), sizeof(code));
	const uint8_t *move = memmem(code, sizeof(code), "\x48\xb8\x88\x77", 4);
	assert_non_null(move);
	snprintf(text, sizeof(text), "landmark+0x%zx", (size_t)(move - code) + 3);
	refuse(text, -EINVAL, "where nothing can be counted");
	snprintf(text, sizeof(text), "landmark+0x%zx", (size_t)(move - code) + 10);
	struct code_place behind = found(text);
	assert_int_equal(behind.offset, move - code + 10);
	code_place_release(&behind);
#else
	(void)text;
#endif
}

static void a_process_that_is_gone_is_said_to_be(void **state)
{
	(void)state;
	struct code_place place = { .text = "landmark" };
	struct error err;
	assert_int_equal(code_place_find(&place, 5000001, &err), -ENOENT);
	assert_string_equal(err.text, "cannot see what process 5000001 runs: No such file or "
				      "directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_procedure_is_found_by_its_name),
		cmocka_unit_test(an_instruction_is_found_by_its_offset_or_its_vaddr),
		cmocka_unit_test(a_library_comes_after_the_program),
		cmocka_unit_test(what_is_no_place_is_refused),
		cmocka_unit_test(a_process_that_is_gone_is_said_to_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
