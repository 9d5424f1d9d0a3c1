#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "profile/cgroup_names.h"
#include "profile/context_patterns.h"
#include "profile/profile.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID   "1b2f0f0e-7f9c-4b2e-9d8e-3b5e7c9a1d2f"
#define USER  "/user.slice/user-1000.slice/user@1000.service"

static void expect_span(const char *path, const char *what, struct span is, const char *wanted)
{
	if (is.size == strlen(wanted) && !is.data == !is.size &&
	    (!is.size || memcmp(is.data, wanted, is.size) == 0))
		return;
	fail_msg("%s of '%s' is '%.*s', not '%s'", what, path, (int)is.size,
		 is.data ? (const char *)is.data : "", wanted);
}

static void expect_service(const char *path, const char *manager, const char *unit)
{
	struct service_name service = cgroup_service(span_of_text(path));
	expect_span(path, "manager", service.manager, manager);
	expect_span(path, "unit", service.unit, unit);
}

static void expect_container(const char *path, const char *wanted)
{
	expect_span(path, "container", cgroup_container(span_of_text(path)), wanted);
}

static void a_service_is_the_first_group_below_slices(void **state)
{
	(void)state;
	expect_service("/system.slice/nginx.service", "", "nginx.service");
	expect_service("/system.slice/system-getty.slice/getty@tty1.service", "",
		       "getty@tty1.service");
	expect_service("/a.slice/a-b.slice/deep.service/worker/1", "", "deep.service");
	expect_service("/system.slice/x.service/y.service", "", "x.service");
	expect_service("/rootless.service", "", "rootless.service");
	expect_service("/system.slice/dev\\x2dmapper.service", "", "dev\\x2dmapper.service");
	expect_service("/../../system.slice/seen-from-inside.service", "",
		       "seen-from-inside.service");
	/* systemd keeps out of the way of the kernel's own files */
	expect_service("/system.slice/_cgroup.service", "", "cgroup.service");
	expect_service("/system.slice/containerd.service/docker-" ID ".scope", "",
		       "containerd.service");
}

static void a_users_service_is_told_from_the_machines(void **state)
{
	(void)state;
	expect_service(USER "/app.slice/sshd.service", "user@1000.service", "sshd.service");
	expect_service(USER "/session.slice/app-a.slice/pipewire.service/x", "user@1000.service",
		       "pipewire.service");
	expect_service(USER, "", "user@1000.service");
	expect_service(USER "/init.scope", "", "user@1000.service");
	expect_service(USER "/app.slice", "", "user@1000.service");
	expect_service(USER "/app.slice/app-firefox-12.scope", "", "");
	expect_service(USER "/app.slice/hand-made", "", "");
}

static void slices_sessions_and_scopes_are_no_services(void **state)
{
	(void)state;
	static const char *const paths[] = {
		"",
		"/",
		"//",
		"/system.slice",
		"/user.slice/user-1000.slice/session-3.scope",
		"/user.slice/user-1000.slice/session-3.scope/x.service",
		"/init.scope",
		"/system.slice/run-u12.scope",
		"/system.slice/docker-" ID ".scope/system.slice/nginx.service",
		"/lxc.payload.web/system.slice/nginx.service",
		"/docker/" ID,
		"/kubepods.slice/kubepods-pod12.slice/cri-containerd-" ID ".scope",
		"/system.slice/dev-sda1.swap",
		"/system.slice/.service",
		"/system.slice/@.service",
		"/system.slice/two words.service",
		"/system.slice/\033[2Jred.service",
		"/system.slice/\xff.service",
		"/system.slice/nginx.serviced",
		"/hand-made/nginx.service",
	};
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		expect_service(paths[i], "", "");
	struct service_name service = cgroup_service((struct span){ NULL, 0 });
	assert_null(service.unit.data);
	char longest[300] = "/";
	memset(longest + 1, 'a', 255 - 8);
	strcpy(longest + 1 + 255 - 8, ".service");
	expect_service(longest, "", longest + 1);
	memmove(longest + 2, longest + 1, strlen(longest));
	expect_service(longest, "", "");
}

static void engines_name_their_containers(void **state)
{
	(void)state;
	static const char *const paths[] = {
		"/docker/" ID,
		"/docker/" ID "/inner/group",
		"/system.slice/docker-" ID ".scope",
		"/system.slice/docker-" ID ".scope/init.scope",
		USER "/user.slice/libpod-" ID ".scope/container",
		"/machine.slice/libpod-" ID ".scope",
		"/libpod_parent/libpod-" ID,
		"/machine.slice/web.service/libpod-payload-" ID,
		"/system.slice/nerdctl-" ID ".scope",
		"/default/" ID,
		"/k8s.io/" ID,
		"/ecs/0123456789abcdef0123456789abcdef/" ID,
		"/kubepods/burstable/pod" UID "/" ID,
		"/kubepods/pod" UID "/" ID,
		"/kubepods/besteffort/pod" UID "/crio-" ID,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12.slice/"
		"cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-pod12.slice/crio-" ID ".scope/container",
		"/kubepods.slice/kubepods-pod12.slice/docker-" ID ".scope",
		"/kubepods.slice/kubepods-pod12.slice/" ID,
		"/system.slice/containerd.service/kubepods-pod12.slice:cri-containerd:" ID,
		"/system.slice:docker:" ID,
		/* the innermost of several */
		"/docker/" OTHER "/kubelet/kubepods/pod" UID "/" ID,
		"/docker/" OTHER "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" ID
		".scope",
		"/lxc.payload.node/docker/" ID,
	};
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		expect_container(paths[i], ID);
}

static void lxc_names_its_containers_in_words(void **state)
{
	(void)state;
	expect_container("/lxc/web", "web");
	expect_container("/lxc/101/ns/system.slice/x.service", "101");
	expect_container("/lxc.payload/web", "web");
	expect_container("/lxc.payload.web.2/init.scope", "web.2");
	expect_container("/user.slice/user-1000.slice/session-1.scope/lxc.payload.mine", "mine");
	expect_container("/lxc/outer/lxc/inner", "inner");
	expect_container("/lxc.payload.\033[2J\xff", "\033[2J\xff");
	expect_container("/lxc", "");
	expect_container("/lxc.payload.", "");
	expect_container("/lxc.monitor/web", "");
	expect_container("/lxc.monitor.web", "");
	expect_container("/system.slice/build/lxc/results", "");
}

static void digits_elsewhere_are_no_container(void **state)
{
	(void)state;
	static const char *const paths[] = {
		"",
		"/",
		ID,
		"/" ID,
		"/system.slice/" ID,
		"/user.slice/user-1000.slice/session-3.scope/" ID,
		"/system.slice/backup-" ID ".service",
		"/system.slice/backup-" ID ".scope",
		"/system.slice/xdocker-" ID ".scope",
		"/system.slice/docker-" ID ".service",
		"/system.slice/docker-" ID ".scopes",
		"/system.slice/docker_" ID ".scope",
		"/system.slice/docker-" ID "0.scope",
		"/docker/" ID "0",
		"/docker/x" ID,
		"/docker/" ID ".scope",
		"/docker/0123456789abcdef",
		"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
		"/machine.slice/libpod-conmon-" ID ".scope",
		"/kubepods.slice/kubepods-pod12.slice/crio-conmon-" ID ".scope",
		"/kubepods/burstable/pod" UID,
		"/mykubepods/" ID,
		"/system.slice/docker.service",
	};
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		expect_container(paths[i], "");
	assert_null(cgroup_container((struct span){ NULL, 0 }).data);
}

/* Paths without a NUL behind them, each in memory of its very size. */
static void a_path_is_not_read_beyond_its_end(void **state)
{
	(void)state;
	static const char longest[] =
		"/_a.slice/user@1.service/kubepods-x.slice:docker:" ID ".scope/"
		"lxc/lxc.payload.b/libpod-" OTHER;
	for (size_t size = 1; size < sizeof(longest); size++) {
		char *path = malloc(size);
		assert_non_null(path);
		memcpy(path, longest, size);
		struct span span = { path, size };
		struct span found[] = { cgroup_container(span), cgroup_service(span).unit,
					cgroup_service(span).manager };
		for (size_t i = 0; i < COUNT_OF(found); i++)
			assert_true(!found[i].data ||
				    ((const char *)found[i].data >= path &&
				     (const char *)found[i].data + found[i].size <= path + size));
		free(path);
	}
}

static void what_a_context_names_comes_before_what_its_path_shows(void **state)
{
	(void)state;
	struct profile_context context = { .cgroup = span_of_text("/docker/" ID) };
	expect_span("", "container", profile_context_container(&context), ID);
	context.container = span_of_text("named");
	expect_span("", "container", profile_context_container(&context), "named");
}

static void patterns_choose_services_and_containers(void **state)
{
	(void)state;
	const struct profile_context ours = { .cgroup =
						      span_of_text("/system.slice/web@1.service") };
	assert_true(context_is_in_service("web@1.service", &ours));
	assert_true(context_is_in_service("web@1", &ours));
	assert_true(context_is_in_service("web@*", &ours));
	assert_false(context_is_in_service("web", &ours));
	assert_false(context_is_in_service("web@1.", &ours));
	assert_false(context_is_in_service("", &ours));
	const struct profile_context users = { .cgroup = span_of_text(USER
								      "/app.slice/web@1.service") };
	assert_false(context_is_in_service("web@1.service", &users));
	assert_true(context_is_in_service("user@1000.service/web@1", &users));
	assert_true(context_is_in_service("user@*/web@1.service", &users));
	const struct profile_context none = { .cgroup = span_of_text("/init.scope") };
	assert_false(context_is_in_service("*", &none));
	assert_false(context_is_in_container("*", &none));
	const struct profile_context in = { .cgroup = span_of_text("/docker/" ID) };
	assert_true(context_is_in_container(ID, &in));
	assert_true(context_is_in_container("012345", &in));
	assert_true(context_is_in_container("0123*", &in));
	assert_false(context_is_in_container("01234", &in)); /* too few */
	assert_false(context_is_in_container("123456", &in));
	assert_false(context_is_in_container(ID "0", &in));
}

static void patterns_choose_groups_and_what_is_below(void **state)
{
	(void)state;
	assert_true(pattern_matches_cgroup("/web", span_of_text("/web")));
	assert_true(pattern_matches_cgroup("/web", span_of_text("/web/a/b")));
	assert_true(pattern_matches_cgroup("/", span_of_text("/web")));
	assert_true(pattern_matches_cgroup("/w*", span_of_text("/web/a")));
	assert_false(pattern_matches_cgroup("/web", span_of_text("/webs")));
	assert_false(pattern_matches_cgroup("/web/a", span_of_text("/web")));
	assert_false(pattern_matches_cgroup("", span_of_text("/web")));
	assert_false(pattern_matches_cgroup("*", (struct span){ NULL, 0 }));
	assert_true(pattern_is_glob("a*"));
	assert_true(pattern_is_glob("a[b]"));
	assert_false(pattern_is_glob("/usr/bin/a.b-c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_is_the_first_group_below_slices),
		cmocka_unit_test(a_users_service_is_told_from_the_machines),
		cmocka_unit_test(slices_sessions_and_scopes_are_no_services),
		cmocka_unit_test(engines_name_their_containers),
		cmocka_unit_test(lxc_names_its_containers_in_words),
		cmocka_unit_test(digits_elsewhere_are_no_container),
		cmocka_unit_test(a_path_is_not_read_beyond_its_end),
		cmocka_unit_test(what_a_context_names_comes_before_what_its_path_shows),
		cmocka_unit_test(patterns_choose_services_and_containers),
		cmocka_unit_test(patterns_choose_groups_and_what_is_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
