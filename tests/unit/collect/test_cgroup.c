#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/cgroup.h"

static void expect_path(const char *text, const char *wanted)
{
	struct span path = cgroup_path(span_of_text(text));
	assert_int_equal(path.size, strlen(wanted));
	if (path.size)
		assert_memory_equal(path.data, wanted, path.size);
}

static void the_unified_hierarchy_comes_first(void **state)
{
	(void)state;
	expect_path("0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope");
	expect_path("5:cpu,cpuacct:/a\n1:name=systemd:/b\n0::/c\n", "/c");
}

static void its_root_says_less_than_another_hierarchy(void **state)
{
	(void)state;
	expect_path("4:perf_event:/p\n1:name=systemd:/b\n0::/\n", "/b");
	expect_path("4:perf_event:/p\n1:name=systemd:/\n0::/\n", "/p");
	expect_path("0::/\n", "/");
	expect_path("9:memory:/m\n", "");
}

static void odd_text_is_no_path(void **state)
{
	(void)state;
	expect_path("", "");
	expect_path("0", "");
	expect_path("0:\n\n::\n", "");
	expect_path("0::/cut", "/cut");
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_container_is_64_hexadecimal_digits(void **state)
{
	(void)state;
	const char *const with[] = { "/docker/" ID, "/system.slice/docker-" ID ".scope",
				     "/kubepods/pod12/cri-containerd-" ID ".scope/inner", ID };
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		struct span id = cgroup_container(span_of_text(with[i]));
		assert_int_equal(id.size, 64);
		assert_memory_equal(id.data, ID, 64);
	}
	assert_int_equal(cgroup_container(span_of_text("/docker/" ID "0")).size, 0);
	assert_int_equal(cgroup_container(span_of_text("/docker/0123456789abcdef")).size, 0);
	assert_null(cgroup_container((struct span){ NULL, 0 }).data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unified_hierarchy_comes_first),
		cmocka_unit_test(its_root_says_less_than_another_hierarchy),
		cmocka_unit_test(odd_text_is_no_path),
		cmocka_unit_test(a_container_is_64_hexadecimal_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
