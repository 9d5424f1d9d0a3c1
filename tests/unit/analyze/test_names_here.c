/* Names for parts of samples: from files here, at each part's own images, and each address once. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/names/names_here.h"
#include "analyze/names/resolver_options.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/stash.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "support/toolchain.h"

static const uint8_t build_id[20] = { 0xab, 0xcd, 0xef, 0x01 };

#define BASE 0x600000 /* where offset 0 of the file is */

struct built {
	struct temporary_folder folder;
	const char *path;
	uint64_t work, main;
};

/* A program of two functions. */
static struct built build(void)
{
	struct built built = { .folder = temporary_folder_make() };
	toolchain_write(built.folder.path, "p.c",
			"__attribute__((noinline)) int work(int x) { return x / 7 * x; }\n"
			"int main(int c, char **v) { (void)v; return work(c); }\n");
	toolchain_run(built.folder.path,
		      "cc -no-pie -O2 -Wl,--build-id=0xabcdef0100000000000000000000000000000000 "
		      "-Wl,-Ttext-segment=0x600000 p.c -o p");
	built.work = toolchain_address(built.folder.path, "nm p | grep ' work'");
	built.main = toolchain_address(built.folder.path, "nm p | grep ' main'");
	built.path = temporary_folder_path(&built.folder, "p");
	return built;
}

static void built_release(struct built *built)
{
	temporary_folder_remove(&built->folder);
}

/* A part whose images before the program's are so many others. */
static struct test_profile part_of(const struct built *built, size_t others, enum vaddr_space space)
{
	static const char *const names[] = { "/no/a", "/no/b", "/no/c" };
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	for (size_t i = 0; i < others; i++)
		test_image(&test, IMAGE_FILE, names[i], names[i]);
	const struct profile_image file = { .kind = IMAGE_FILE,
					    .space = space,
					    .build_id = { build_id, sizeof(build_id) } };
	test_image_full(&test, &file);
	assert_int_equal(profile_add_path(test.profile, test.image, span_of_text(built->path)), 0);
	return test;
}

static void add(struct names_here *names, struct test_profile *test, uint64_t vaddr)
{
	struct error err;
	test_address(test, vaddr, 1, 1);
	assert_int_equal(names_here_add(names, test->profile, &err), 0);
	assert_null(profile_fault(test->profile));
}

/* The function there that the part itself has; NULL: it has none. */
static void assert_named(const struct test_profile *test, uint64_t vaddr, const char *name)
{
	CLEANUP(stash_index_freep) struct stash_index *index = NULL;
	struct stash_function found;
	assert_int_equal(stash_index_new(test->profile, &index), 0);
	bool named = stash_find_function(index, test->image, vaddr, &found);
	assert_int_equal(named, name != NULL);
	assert_true(!name || span_equal(found.function.name, span_of_text(name)));
}

static struct names_here *new_names(void)
{
	const struct resolver_options options = { 0 };
	struct names_here *names = names_here_new(&options);
	assert_non_null(names);
	return names;
}

static void a_part_gets_the_names_of_its_addresses(void **state)
{
	(void)state;
	CLEANUP(built_release) struct built built = build();
	struct names_here *names = new_names();
	struct test_profile test = part_of(&built, 2, SPACE_ELF);
	add(names, &test, built.work + 1);
	assert_named(&test, built.work, "work");
	assert_named(&test, built.main, NULL); /* nobody was there */
	profile_free(test.profile);
	names_here_free(names);
}

static void names_are_at_the_addresses_that_the_part_counts_by(void **state)
{
	(void)state;
	CLEANUP(built_release) struct built built = build();
	struct names_here *names = new_names();
	struct test_profile test = part_of(&built, 0, SPACE_OFFSET);
	add(names, &test, built.work - BASE);
	assert_named(&test, built.work - BASE, "work");
	assert_named(&test, built.work, NULL);
	profile_free(test.profile);
	names_here_free(names);
}

/* The file is gone after the first part, so that whoever reads it again finds nothing. */
static void what_a_part_before_had_is_not_looked_for_again(void **state)
{
	(void)state;
	CLEANUP(built_release) struct built built = build();
	struct names_here *names = new_names();
	struct test_profile first = part_of(&built, 2, SPACE_ELF);
	struct test_profile second = part_of(&built, 0, SPACE_ELF);
	struct test_profile third = part_of(&built, 1, SPACE_ELF);
	struct test_profile fourth = part_of(&built, 1, SPACE_ELF);
	add(names, &first, built.work);
	toolchain_run(built.folder.path, "mv p away");
	add(names, &second, built.main);
	assert_named(&second, built.main, NULL);
	toolchain_run(built.folder.path, "mv away p");
	/* neither what was found, nor what was not */
	add(names, &third, built.work + 1);
	add(names, &third, built.main);
	assert_named(&third, built.work, NULL);
	assert_named(&third, built.main, NULL);
	/* but an address that is new, of the image that has another number now */
	add(names, &fourth, built.main + 1);
	assert_named(&fourth, built.main, "main");
	assert_named(&fourth, built.work, NULL);
	profile_free(first.profile);
	profile_free(second.profile);
	profile_free(third.profile);
	profile_free(fourth.profile);
	names_here_free(names);
}

static void another_build_has_no_names_for_it(void **state)
{
	(void)state;
	CLEANUP(built_release) struct built built = build();
	struct names_here *names = new_names();
	struct test_profile test = part_of(&built, 1, SPACE_ELF);
	toolchain_run(built.folder.path, "cc -no-pie -O2 -Wl,--build-id=0x77 "
					 "-Wl,-Ttext-segment=0x600000 p.c -o p");
	add(names, &test, built.work);
	assert_named(&test, built.work, NULL);
	profile_free(test.profile);
	names_here_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_gets_the_names_of_its_addresses),
		cmocka_unit_test(names_are_at_the_addresses_that_the_part_counts_by),
		cmocka_unit_test(what_a_part_before_had_is_not_looked_for_again),
		cmocka_unit_test(another_build_has_no_names_for_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
