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

/* Engines that know version 1 alone leave the process, in the unified hierarchy, where they are. */
static void a_container_says_more_than_the_unified_hierarchy(void **state)
{
	(void)state;
	expect_path("12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID
		    "\n0::/system.slice/containerd.service\n",
		    "/docker/" ID);
	expect_path("4:memory:/kubepods/pod12/" ID "\n1:name=systemd:/\n0::/a.service\n",
		    "/kubepods/pod12/" ID);
	expect_path("1:name=systemd:/docker/" ID "\n0::/docker/" ID "/inner\n",
		    "/docker/" ID "/inner");
	expect_path("1:name=systemd:/other/" ID "\n0::/a.service\n", "/a.service");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unified_hierarchy_comes_first),
		cmocka_unit_test(its_root_says_less_than_another_hierarchy),
		cmocka_unit_test(odd_text_is_no_path),
		cmocka_unit_test(a_container_says_more_than_the_unified_hierarchy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
