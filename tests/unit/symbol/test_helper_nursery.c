#include "symbol/helper_nursery.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/small_file.h"
#include "symbol/helper_process.h"
#include "symbol/reader_message.h"

#define DEADLINE_MS 10000
#define SECRET	    0x5ec4e7

/* What this process knows, and what its helper knows of it. */
static uint64_t known;

static int tell(void *context, const struct message *request, struct message *answer,
		struct error *err)
{
	(void)context;
	(void)err;
	if (request->header.what)
		_exit((int)request->header.what);
	buffer_append_u64(&answer->payload, known);
	return 0;
}

static void run(int socket)
{
	helper_serve(&(struct helper_service){ .name = "culprit-test", .serve = tell }, socket);
}

/* What the helper knows. */
static uint64_t ask(struct helper *helper)
{
	struct message request = { 0 }, answer;
	struct error err = { 0 };
	uint64_t told;
	int ret = helper_ask(helper, &request, DEADLINE_MS, &answer, &err);
	if (ret < 0)
		fail_msg("%s", err.text);
	assert_int_equal(answer.payload.size, sizeof(told));
	memcpy(&told, answer.payload.data, sizeof(told));
	message_release(&answer);
	return told;
}

static bool is_child(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

/* A child of this process, by its name; 0: none. */
static pid_t child_called(const char *name)
{
	char path[64], list[4096], comm[64], *rest = NULL;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (small_file_read_line(path, list, sizeof(list)) < 0)
		return 0;
	for (char *pid = strtok_r(list, " ", &rest); pid; pid = strtok_r(NULL, " ", &rest)) {
		snprintf(path, sizeof(path), "/proc/%s/comm", pid);
		if (small_file_read_line(path, comm, sizeof(comm)) >= 0 && strcmp(comm, name) == 0)
			return (pid_t)atoi(pid);
	}
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	known = 0;
	helper_nursery_start();
	known = SECRET;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	helper_nursery_stop();
	return child_called("culprit-nursery") ? -1 : 0;
}

static void what_became_known_later_its_helpers_do_not_know(void **state)
{
	(void)state;
	struct helper helper = { .run = run };
	assert_int_equal(helper_start(&helper, NULL), 0);
	assert_int_equal(ask(&helper), 0);
	assert_true(is_child(helper.pid));
	helper_kill(&helper);
	/* Nor those that are started in its place. */
	assert_int_equal(ask(&helper), 0);
	helper_stop(&helper);
	/* A fork does. */
	helper_nursery_stop();
	assert_int_equal(ask(&helper), SECRET);
	helper_stop(&helper);
}

static void how_its_helpers_end_is_known(void **state)
{
	(void)state;
	struct helper helper = { .run = run };
	struct message request = { .header.what = 42 }, answer;
	struct error err = { 0 };
	assert_int_equal(helper_start(&helper, NULL), 0);
	assert_int_equal(helper_ask(&helper, &request, DEADLINE_MS, &answer, &err), -EIO);
	assert_non_null(strstr(err.text, "ended with status 42"));
	helper_stop(&helper);
}

static void helpers_start_without_it_when_it_was_killed(void **state)
{
	(void)state;
	struct helper first = { .run = run }, second = { .run = run };
	assert_int_equal(helper_start(&first, NULL), 0);
	pid_t nursery = child_called("culprit-nursery");
	assert_true(nursery > 0);
	kill(nursery, SIGKILL);
	assert_int_equal(helper_start(&second, NULL), 0);
	assert_int_equal(ask(&first), 0);
	assert_int_equal(ask(&second), SECRET);
	assert_false(is_child(nursery)); /* it was reaped */
	helper_stop(&first);
	helper_stop(&second);
}

/* Which would count as children of this process. */
static void a_fork_of_its_owner_does_not_use_it(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct helper helper = { .run = run };
		pid_t pid = helper_nursery_fork(run, -1);
		bool right = pid == -ECHILD && helper_start(&helper, NULL) == 0 &&
			     ask(&helper) == SECRET && is_child(helper.pid);
		helper_stop(&helper);
		helper_nursery_stop();
		_exit(right ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_true(child_called("culprit-nursery") > 0);
	struct helper helper = { .run = run };
	assert_int_equal(helper_start(&helper, NULL), 0);
	assert_int_equal(ask(&helper), 0);
	helper_stop(&helper);
}

/* The nursery's own may be another one by then. */
static void its_helpers_have_our_nice_value(void **state)
{
	(void)state;
	struct helper helper = { .run = run };
	int before = getpriority(PRIO_PROCESS, 0);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, before + 3), 0);
	assert_int_equal(helper_start(&helper, NULL), 0);
	int nice = getpriority(PRIO_PROCESS, (id_t)helper.pid);
	setpriority(PRIO_PROCESS, 0, before);
	assert_int_equal(nice, before + 3);
	helper_stop(&helper);
}

static void where_there_is_none_nothing_is_forked(void **state)
{
	(void)state;
	helper_nursery_stop();
	helper_nursery_stop();
	assert_int_equal(helper_nursery_fork(run, 0), -ECHILD);
}

#define NURSERY_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NURSERY_TEST(what_became_known_later_its_helpers_do_not_know),
		NURSERY_TEST(how_its_helpers_end_is_known),
		NURSERY_TEST(helpers_start_without_it_when_it_was_killed),
		NURSERY_TEST(a_fork_of_its_owner_does_not_use_it),
		NURSERY_TEST(its_helpers_have_our_nice_value),
		NURSERY_TEST(where_there_is_none_nothing_is_forked),
	};
	return cmocka_run_group_tests_name("symbol helper_nursery", tests, NULL, NULL);
}
