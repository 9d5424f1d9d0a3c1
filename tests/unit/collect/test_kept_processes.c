#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"
#include "collect/kept_processes.h"
#include "image/process_table.h"

static struct kept_processes choose(const char *const *texts, size_t count)
{
	struct kept_processes kept;
	struct error err = { 0 };
	if (kept_processes_init(&kept, texts, count, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(kept.count, count);
	return kept;
}

static bool has(const struct kept_processes *kept, const char *comm, const char *cgroup)
{
	return kept_processes_have(kept, span_of_text(comm), span_of_text(cgroup), false);
}

static void commands_and_groups_are_chosen_by_patterns(void **state)
{
	(void)state;
	static const char *const texts[] = { "nginx", "cc1*", "cgroup:/web", "images:x" };
	struct kept_processes kept = choose(texts, COUNT_OF(texts));
	assert_true(has(&kept, "nginx", "/"));
	assert_true(has(&kept, "cc1plus", NULL));
	assert_true(has(&kept, "bash", "/web/inner"));
	assert_true(has(&kept, "images:x", "/"));
	assert_false(has(&kept, "bash", "/"));
	assert_false(has(&kept, "nginx2", "/website"));
	assert_false(has(&kept, "/web", "nginx"));
	assert_false(has(&kept, NULL, NULL));
	assert_true(kept_processes_have(&kept, span_of_text("bash"), span_of_text("/"), true));
	assert_false(kept.images);
	kept_processes_release(&kept);
	/* without a choice nobody is, whatever is mapped */
	struct kept_processes none = choose(NULL, 0);
	struct process process = { .context = 7 };
	assert_false(has(&none, "nginx", "/web"));
	assert_false(kept_processes_map(&none, &process, span_of_text("/usr/bin/nginx")));
	kept_processes_release(&none);
}

static void images_are_chosen_by_what_is_mapped(void **state)
{
	(void)state;
	char link[64], target[64], choice[80];
	snprintf(link, sizeof(link), "/tmp/kept-processes-%d.link", (int)getpid());
	snprintf(target, sizeof(target), "/tmp/kept-processes-%d", (int)getpid());
	snprintf(choice, sizeof(choice), "image:%s", link);
	FILE *file = fopen(target, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(symlink(target, link), 0);
	const char *const texts[] = { "image:/lib/libx.so*", choice, "image:/nowhere/program" };
	struct kept_processes kept = choose(texts, COUNT_OF(texts));
	unlink(link);
	unlink(target);
	assert_true(kept.images);
	static const char *const others[] = { "/lib/liby.so", "/nowhere/program2", "program",
					      "/lib/libx", "" };
	const char *const fits[] = { "/lib/libx.so.6", "/nowhere/program (deleted)", link, target };
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		struct process process = { .context = 7 };
		assert_false(kept_processes_map(&kept, &process, span_of_text(others[i])));
		assert_false(process.kept);
		assert_int_equal(process.context, 7);
	}
	for (size_t i = 0; i < COUNT_OF(fits); i++) {
		struct process process = { .context = 7 };
		assert_true(kept_processes_map(&kept, &process, span_of_text(fits[i])));
		assert_true(process.kept);
		assert_int_equal(process.context, 0); /* another one is made */
		process.context = 8;
		assert_false(kept_processes_map(&kept, &process, span_of_text(fits[i])));
		assert_int_equal(process.context, 8); /* once */
	}
	assert_false(has(&kept, "program", "/nowhere/program"));
	kept_processes_release(&kept);
}

static void a_choice_that_fits_nothing_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "no command is called ''" },
		{ "image:", "no image is called ''" },
		{ "cgroup:", "no control group is called ''" },
		{ "image:bin/cc", "the path 'bin/cc' does not begin with '/'" },
		{ "cgroup:web", "the path 'web' does not begin with '/'" },
		{ "containerd-shim-runc-v2", "no command has a name of more than 15 bytes; "
					     "'containerd-shim-runc-v2' is 'containerd-shim' "
					     "there" },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *const texts[] = { "image:/usr/bin/env", cases[i].text };
		struct kept_processes kept;
		struct error err = { 0 };
		assert_int_equal(kept_processes_init(&kept, texts, 2, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].why);
		assert_null(kept.choices);
	}
	static const char *const right[] = { "fifteen-bytes-1", "containerd-shim-*-v2",
					     "image:*/cc", "cgroup:*" };
	struct kept_processes kept = choose(right, COUNT_OF(right));
	kept_processes_release(&kept);
}

static void what_is_mapped_ends_with_the_program(void **state)
{
	(void)state;
	static const char *const texts[] = { "image:/program" };
	struct kept_processes kept = choose(texts, 1);
	struct process_table table = { 0 };
	struct process *parent = process_need(&table, 10);
	assert_true(kept_processes_map(&kept, parent, span_of_text("/program")));
	assert_int_equal(process_fork(&table, 11, 11, 10, 10, 0), 0);
	struct process *child = process_find(&table, 11);
	assert_true(child->kept); /* it has the same mapped */
	assert_int_equal(process_comm(&table, 11, 11, span_of_text("renamed"), false, 0), 0);
	assert_true(child->kept);
	assert_int_equal(process_comm(&table, 11, 11, span_of_text("other"), true, 0), 0);
	assert_false(child->kept);
	assert_true(child->kept_before);
	assert_int_equal(process_comm(&table, 11, 11, span_of_text("third"), true, 0), 0);
	assert_false(child->kept_before);
	assert_true(parent->kept);
	assert_int_equal(process_disinherit(&table, 10), 0);
	assert_false(parent->kept);
	process_table_release(&table);
	kept_processes_release(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_and_groups_are_chosen_by_patterns),
		cmocka_unit_test(images_are_chosen_by_what_is_mapped),
		cmocka_unit_test(a_choice_that_fits_nothing_is_refused),
		cmocka_unit_test(what_is_mapped_ends_with_the_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
