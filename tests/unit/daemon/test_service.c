/* What a daemon knows of the time in which nothing was sampled. Its collectors are made up, and
 * --wrap lets the first look at the database, or the first start of sampling, fail. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/recording_process.h"
#include "daemon/service.h"
#include "store/database.h"
#include "support/made_up_collector.h"
#include "support/temporary_folder.h"

#define RING_BYTES  (UINT64_C(1) << 20)
#define EPOCH_NS    UINT64_C(3600000000000)
#define MERGE_NS    UINT64_C(50000000)
#define PATIENCE_NS UINT64_C(120000000000)
#define PAUSE_NS    300000000

static bool look_fails, start_fails; /* the next time */

int __wrap_collector_new(const struct collect_options *options, struct collector **out,
			 struct error *err);
int __wrap_collector_new(const struct collect_options *options, struct collector **out,
			 struct error *err)
{
	(void)options;
	(void)err;
	*out = made_up_collector_new(RING_BYTES);
	return 0;
}

int __real_collector_start(struct collector *collector, struct error *err);
int __wrap_collector_start(struct collector *collector, struct error *err);
int __wrap_collector_start(struct collector *collector, struct error *err)
{
	if (!start_fails)
		return __real_collector_start(collector, err);
	start_fails = false;
	return error_set(err, -EPERM, "sampling is refused");
}

int __real_unsampled_since_last(const char *database, const char *host, struct unsampled *out,
				struct error *err);
int __wrap_unsampled_since_last(const char *database, const char *host, struct unsampled *out,
				struct error *err);
int __wrap_unsampled_since_last(const char *database, const char *host, struct unsampled *out,
				struct error *err)
{
	if (!look_fails)
		return __real_unsampled_since_last(database, host, out, err);
	look_fails = false;
	return error_set(err, -EACCES, "cannot look at the epochs before");
}

struct scene {
	struct temporary_folder folder;
	char database[100], socket[100];
	char said[4096];
	uint64_t begin_ns;	    /* before the daemon began */
	uint64_t least_ns, most_ns; /* that were not sampled */
};

static void hear(void *context, enum recorder_news kind, const char *sentence)
{
	struct scene *scene = context;
	size_t size = strlen(scene->said);
	(void)kind;
	snprintf(scene->said + size, sizeof(scene->said) - size, "%s\n", sentence);
}

/* Asks the daemon. Whether the answer has the words. */
static bool ask(const struct scene *scene, const char *request, const char *words)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[8192];
	size_t size = 0;
	ssize_t got = 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", scene->socket);
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return false;
	while (got > 0 && size < sizeof(text) - 1) {
		got = recv(fd, text + size, sizeof(text) - 1 - size, 0);
		size += got > 0 ? (size_t)got : 0;
	}
	text[size] = 0;
	return strstr(text, words) != NULL;
}

static bool await(const struct scene *scene, const char *state)
{
	uint64_t begin_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - begin_ns < PATIENCE_NS) {
		if (ask(scene, "status\n", state))
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	return false;
}

static void *stop_when_it_samples(void *context)
{
	await(context, "\"sampling\"");
	kill(getpid(), SIGTERM);
	return NULL;
}

static void *pause_while_it_waits(void *context)
{
	struct scene *scene = context;
	const struct timespec a_while = { .tv_nsec = PAUSE_NS };
	if (await(scene, "\"waiting\"")) {
		uint64_t waits_ns = clock_boot_ns();
		nanosleep(&a_while, NULL);
		scene->least_ns = clock_boot_ns() - waits_ns;
		ask(scene, "pause\n", "ok");
		uint64_t paused_ns = clock_boot_ns();
		nanosleep(&a_while, NULL);
		paused_ns = clock_boot_ns() - paused_ns;
		ask(scene, "resume\n", "ok");
		await(scene, "\"sampling\"");
		ask(scene, "flush\n", "ok"); /* it is in the bill */
		scene->most_ns = clock_boot_ns() - scene->begin_ns - paused_ns;
	}
	kill(getpid(), SIGTERM);
	return NULL;
}

/* Runs a daemon until the other thread stops it. */
static void run(struct scene *scene, void *(*other)(void *))
{
	const struct collect_options collect = { 0 };
	struct error err = { 0 };
	pthread_t thread;
	*scene = (struct scene){ .folder = temporary_folder_make() };
	snprintf(scene->database, sizeof(scene->database), "%s",
		 temporary_folder_path(&scene->folder, "db"));
	snprintf(scene->socket, sizeof(scene->socket), "%s",
		 temporary_folder_path(&scene->folder, "socket"));
	CLEANUP(close_fd) int signals = recording_process_signals(NULL);
	const struct service_options options = {
		.database = scene->database,
		.socket = scene->socket,
		.collect = &collect,
		.epoch_ns = EPOCH_NS,
		.merge_ns = MERGE_NS,
		.listener = { .say = hear, .context = scene },
		.signals = signals,
	};
	scene->begin_ns = clock_boot_ns();
	assert_int_equal(pthread_create(&thread, NULL, other, scene), 0);
	int ret = service_run(&options, &err);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	if (ret < 0)
		fail_msg("%s", err.text);
}

/* Of the one epoch. */
static uint64_t unsampled_ns(const struct scene *scene)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	const struct database_selection whole = { .whole = true };
	assert_int_equal(database_list(scene->database, &whole, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	return list.entries[0].unsampled_ns;
}

static void what_cannot_be_known_of_the_one_before_is_no_reason_to_end(void **state)
{
	(void)state;
	struct scene scene;
	look_fails = true;
	run(&scene, stop_when_it_samples);
	assert_false(look_fails);
	assert_non_null(strstr(scene.said, "cannot look at the epochs before"));
	assert_int_equal(unsampled_ns(&scene), 0);
	temporary_folder_remove(&scene.folder);
}

static void a_pause_ends_the_time_that_it_waits_and_hides_none(void **state)
{
	(void)state;
	struct scene scene;
	start_fails = true;
	run(&scene, pause_while_it_waits);
	assert_false(start_fails);
	assert_non_null(strstr(scene.said, "sampling is refused"));
	assert_true(scene.least_ns >= PAUSE_NS);
	assert_in_range(unsampled_ns(&scene), scene.least_ns, scene.most_ns);
	temporary_folder_remove(&scene.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_known_of_the_one_before_is_no_reason_to_end),
		cmocka_unit_test(a_pause_ends_the_time_that_it_waits_and_hides_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
