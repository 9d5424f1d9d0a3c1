/* The socket of a daemon: requests, rights, and clients that behave badly. Time is the test's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/control.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

#define SECOND_NS  UINT64_C(1000000000)
#define LONG_BYTES (UINT64_C(4) << 20) /* more than a socket holds */

struct scene {
	struct temporary_folder folder;
	char path[100];
	struct control control;
	struct control_handler handler;
	uint64_t now_ns;
	unsigned answered;
	char last[CONTROL_REQUEST_BYTES];
	enum control_rights rights;
};

static int answer(void *context, const char *request, enum control_rights rights,
		  struct buffer *out, struct error *err)
{
	struct scene *scene = context;
	scene->answered++;
	scene->rights = rights;
	snprintf(scene->last, sizeof(scene->last), "%s", request);
	if (strcmp(request, "fail") == 0)
		return error_set(err, -EINVAL, "no such thing");
	if (strcmp(request, "long") == 0)
		memset(buffer_extend(out, LONG_BYTES), 'x', LONG_BYTES);
	else
		buffer_printf(out, "<%s>", request);
	return 0;
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct error err = { 0 };
	assert_non_null(scene);
	scene->folder = temporary_folder_make();
	scene->now_ns = 100 * SECOND_NS;
	scene->handler = (struct control_handler){ answer, scene };
	snprintf(scene->path, sizeof(scene->path), "%s",
		 temporary_folder_path(&scene->folder, "socket"));
	if (control_open(&scene->control, scene->path, &scene->handler, &err) < 0)
		fail_msg("%s", err.text);
	*state = scene;
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;
	control_release(&scene->control);
	temporary_folder_remove(&scene->folder);
	free(scene);
	return 0;
}

static int connect_to(const struct scene *scene)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", scene->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void serve(struct scene *scene)
{
	control_serve(&scene->control, scene->now_ns);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What has come so far, up to 4095 bytes; *over: the connection is closed. */
static const char *heard(int fd, bool *over)
{
	static char text[4096];
	size_t size = 0;
	ssize_t got = 1;
	while (got > 0 && size < sizeof(text) - 1) {
		got = recv(fd, text + size, sizeof(text) - 1 - size, 0);
		size += got > 0 ? (size_t)got : 0;
	}
	*over = got == 0 || (got < 0 && errno == ECONNRESET);
	text[size] = 0;
	return text;
}

static void assert_answer(struct scene *scene, const char *request, const char *expected)
{
	bool over;
	CLEANUP(close_fd) int fd = connect_to(scene);
	serve(scene);
	if (request[0])
		say(fd, request);
	serve(scene);
	assert_string_equal(heard(fd, &over), expected);
	assert_true(over);
}

static void a_request_is_answered_and_the_connection_closed(void **state)
{
	struct scene *scene = *state;
	assert_answer(scene, "status\n", "ok 8\n<status>");
	assert_int_equal(scene->rights, CONTROL_ALL);
	assert_answer(scene, "fail\n", "error no such thing\n");
	assert_answer(scene, "\n", "ok 2\n<>");
	assert_int_equal(scene->answered, 3);
}

static void a_line_may_come_in_pieces_and_what_follows_it_is_ignored(void **state)
{
	struct scene *scene = *state;
	bool over;
	CLEANUP(close_fd) int fd = connect_to(scene);
	say(fd, "sta");
	serve(scene);
	assert_string_equal(heard(fd, &over), "");
	assert_false(over);
	say(fd, "tus\nstop\n");
	serve(scene);
	assert_string_equal(heard(fd, &over), "ok 8\n<status>");
	assert_true(over);
	assert_int_equal(scene->answered, 1);
}

static void garbage_is_refused_and_not_answered(void **state)
{
	struct scene *scene = *state;
	char line[CONTROL_REQUEST_BYTES + 2];
	memset(line, 'a', sizeof(line));
	line[sizeof(line) - 1] = 0;
	assert_answer(scene, line, "error the request is longer than 1024 bytes\n");
	line[CONTROL_REQUEST_BYTES - 1] = '\n'; /* the longest line that there may be */
	line[CONTROL_REQUEST_BYTES] = 0;
	bool over;
	CLEANUP(close_fd) int longest = connect_to(scene);
	say(longest, line);
	serve(scene);
	assert_string_equal(scene->last + CONTROL_REQUEST_BYTES - 3, "aa");
	heard(longest, &over);
	assert_answer(scene, "\033[31m\n", "error the request is no line of text\n");
	assert_answer(scene, "caf\303\251\177\n", "error the request is no line of text\n");
	CLEANUP(close_fd) int zero = connect_to(scene);
	assert_int_equal(send(zero, "status\0stop\n", 12, 0), 12);
	serve(scene);
	assert_string_equal(heard(zero, &over), "error the request is no line of text\n");
	assert_int_equal(scene->answered, 1);
}

static void who_says_nothing_is_dropped_and_others_are_served_meanwhile(void **state)
{
	struct scene *scene = *state;
	bool over;
	CLEANUP(close_fd) int silent = connect_to(scene);
	serve(scene);
	assert_int_equal(control_next_ns(&scene->control), scene->now_ns + 5 * SECOND_NS);
	assert_answer(scene, "status\n", "ok 8\n<status>");
	scene->now_ns += 5 * SECOND_NS - 1;
	serve(scene);
	heard(silent, &over);
	assert_false(over);
	scene->now_ns++;
	serve(scene);
	heard(silent, &over);
	assert_true(over);
	assert_int_equal(control_next_ns(&scene->control), UINT64_MAX);
}

static void who_hangs_up_early_harms_nobody(void **state)
{
	struct scene *scene = *state;
	int fd = connect_to(scene);
	close(fd);
	serve(scene);
	fd = connect_to(scene);
	say(fd, "long\n");
	serve(scene);
	close(fd); /* with most of the answer still to come */
	serve(scene);
	fd = connect_to(scene);
	say(fd, "half a li");
	close(fd);
	serve(scene);
	assert_answer(scene, "status\n", "ok 8\n<status>");
	assert_int_equal(control_next_ns(&scene->control), UINT64_MAX);
}

static void a_long_answer_is_sent_as_it_is_taken(void **state)
{
	struct scene *scene = *state;
	bool over = false;
	uint64_t received = 0;
	CLEANUP(close_fd) int fd = connect_to(scene);
	say(fd, "long\n");
	serve(scene);
	while (!over) {
		received += strlen(heard(fd, &over));
		scene->now_ns += SECOND_NS; /* which takes longer than 10 s in all */
		serve(scene);
	}
	assert_int_equal(received, strlen("ok 4194304\n") + LONG_BYTES);
	assert_true(scene->now_ns > 110 * SECOND_NS);
}

static void who_does_not_take_the_answer_is_dropped(void **state)
{
	struct scene *scene = *state;
	CLEANUP(close_fd) int fd = connect_to(scene);
	say(fd, "long\n");
	serve(scene);
	scene->now_ns += 11 * SECOND_NS; /* what answering took counts in addition */
	serve(scene);
	assert_int_equal(control_next_ns(&scene->control), UINT64_MAX);
	bool over = false;
	uint64_t received = 0;
	while (!over)
		received += strlen(heard(fd, &over));
	assert_true(received < LONG_BYTES);
}

/* While all places are taken, and after 50 in a second, nothing polls readable. */
static void a_flood_waits_in_the_queue(void **state)
{
	struct scene *scene = *state;
	int fds[CONTROL_CLIENTS + 1];
	bool over;
	for (size_t i = 0; i <= CONTROL_CLIENTS; i++)
		fds[i] = connect_to(scene);
	serve(scene);
	say(fds[CONTROL_CLIENTS], "status\n");
	serve(scene);
	assert_string_equal(heard(fds[CONTROL_CLIENTS], &over), ""); /* it waits */
	say(fds[0], "status\n");
	serve(scene);
	serve(scene);
	assert_string_equal(heard(fds[CONTROL_CLIENTS], &over), "ok 8\n<status>");
	for (size_t i = 0; i <= CONTROL_CLIENTS; i++)
		close(fds[i]);
	serve(scene);
	unsigned answered = 0;
	for (unsigned i = 0; i < 60; i++) {
		CLEANUP(close_fd) int fd = connect_to(scene);
		say(fd, "status\n");
		serve(scene);
		answered += heard(fd, &over)[0] != 0;
	}
	assert_in_range(answered, 35, 50);
	assert_true(control_next_ns(&scene->control) <= scene->now_ns + SECOND_NS);
	scene->now_ns += SECOND_NS;
	serve(scene);
	assert_answer(scene, "status\n", "ok 8\n<status>");
}

static void a_second_daemon_is_refused_and_a_leftover_replaced(void **state)
{
	struct scene *scene = *state;
	struct control second = CONTROL_NONE;
	struct error err = { 0 };
	pid_t child = fork(); /* locks are of open files: another process is surer */
	if (child == 0)
		_exit(control_open(&second, scene->path, &scene->handler, &err) == -EBUSY ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_answer(scene, "status\n", "ok 8\n<status>");
	/* As after a kill: the socket stays, its lock does not. */
	char kept[110];
	snprintf(kept, sizeof(kept), "%s.kept", scene->path);
	assert_int_equal(link(scene->path, kept), 0);
	control_release(&scene->control);
	assert_int_equal(rename(kept, scene->path), 0);
	if (control_open(&scene->control, scene->path, &scene->handler, &err) < 0)
		fail_msg("%s", err.text);
	assert_answer(scene, "status\n", "ok 8\n<status>");
	struct stat made;
	assert_int_equal(stat(scene->path, &made), 0);
	assert_int_equal(made.st_mode & 07777, 0660);
}

/* It takes none of our locks. */
static void the_socket_of_another_program_stays(void **state)
{
	struct scene *scene = *state;
	struct control control = CONTROL_NONE;
	struct error err = { 0 };
	struct stat before, after;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.other", scene->path);
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(stat(address.sun_path, &before), 0);
	assert_int_equal(control_open(&control, address.sun_path, &scene->handler, &err),
			 -EADDRINUSE);
	control_release(&control);
	assert_int_equal(stat(address.sun_path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* What came in time is answered, however late the daemon is. */
static void who_was_kept_waiting_is_answered(void **state)
{
	struct scene *scene = *state;
	bool over;
	CLEANUP(close_fd) int fd = connect_to(scene);
	serve(scene);
	say(fd, "status\n");
	scene->now_ns += 60 * SECOND_NS;
	serve(scene);
	assert_string_equal(heard(fd, &over), "ok 8\n<status>");
}

static void what_is_no_socket_stays(void **state)
{
	struct scene *scene = *state;
	struct control control = CONTROL_NONE;
	struct error err = { 0 };
	const char *path = temporary_folder_path(&scene->folder, "file");
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(control_open(&control, path, &scene->handler, &err), -EEXIST);
	control_release(&control);
	assert_int_equal(access(path, F_OK), 0);
	char longest[200];
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	const char *too_long = temporary_folder_path(&scene->folder, longest);
	assert_int_equal(control_open(&control, too_long, &scene->handler, &err), -ENAMETOOLONG);
	control_release(&control);
}

static void rights_follow_from_user_and_groups(void **state)
{
	(void)state;
	const gid_t ours[] = { getegid() + 1, getegid() }, others[] = { getegid() + 1 };
	uid_t stranger = geteuid() + 1;
	assert_int_equal(control_rights_of(0, NULL, 0), CONTROL_ALL);
	assert_int_equal(control_rights_of(geteuid(), NULL, 0), CONTROL_ALL);
	assert_int_equal(control_rights_of(stranger, ours, 2), CONTROL_LOOK);
	assert_int_equal(control_rights_of(stranger, others, 1), CONTROL_NOTHING);
	assert_int_equal(control_rights_of(stranger, NULL, 0), CONTROL_NOTHING);
}

/* Somebody without rights gets one sentence, whatever he says. */
static void a_stranger_is_refused(void **state)
{
	struct scene *scene = *state;
	if (geteuid() != 0) {
		SKIP("another user needs root");
	}
	assert_int_equal(chmod(scene->path, 0666), 0); /* else the file keeps him out */
	assert_int_equal(chmod(scene->folder.path, 0755), 0);
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		bool over = false;
		char go, all[200] = "";
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		int fd = connect_to(scene);
		send(fd, "stop\n", 5, MSG_NOSIGNAL);
		if (read(ready[0], &go, 1) != 1)
			_exit(3);
		while (!over)
			strncat(all, heard(fd, &over), sizeof(all) - strlen(all) - 1);
		_exit(strcmp(all, "error this daemon answers root, its own user, and its group's "
				  "members\n") == 0
			      ? 0
			      : 1);
	}
	while (scene->control.refused == 0)
		serve(scene);
	assert_int_equal(write(ready[1], "x", 1), 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(scene->answered, 0);
	close(ready[0]);
	close(ready[1]);
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCENE(a_request_is_answered_and_the_connection_closed),
		IN_SCENE(a_line_may_come_in_pieces_and_what_follows_it_is_ignored),
		IN_SCENE(garbage_is_refused_and_not_answered),
		IN_SCENE(who_says_nothing_is_dropped_and_others_are_served_meanwhile),
		IN_SCENE(who_hangs_up_early_harms_nobody),
		IN_SCENE(a_long_answer_is_sent_as_it_is_taken),
		IN_SCENE(who_does_not_take_the_answer_is_dropped),
		IN_SCENE(a_flood_waits_in_the_queue),
		IN_SCENE(a_second_daemon_is_refused_and_a_leftover_replaced),
		IN_SCENE(the_socket_of_another_program_stays),
		IN_SCENE(who_was_kept_waiting_is_answered),
		IN_SCENE(what_is_no_socket_stays),
		cmocka_unit_test(rights_follow_from_user_and_groups),
		IN_SCENE(a_stranger_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
