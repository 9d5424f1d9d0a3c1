/* Where the perf.data file of a sampler goes, and what happens when it cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampled_file.h"

static void a_file_is_made_anew_and_private(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct stat status;
	static char old[1u << 20];
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, old, sizeof(old)), sizeof(old));
	close(fd);
	assert_int_equal(chmod(path, 0644), 0);
	culprit_sampler_close(opened((struct culprit_sampler_options){ .path = path }), NULL);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_true(status.st_size > 0 && status.st_size < (off_t)sizeof(old));
}

static void refused(struct culprit_sampler_options options, int code, const char *text)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error = { .code = 0 };
	options.period = PERIOD_NS;
	assert_int_equal(culprit_sampler_open("cpu-clock:u", &options, &sampler, &error), code);
	if (!strstr(error.text, text))
		fail_msg("'%s' does not say '%s'", error.text, text);
}

static void what_cannot_be_written_is_refused_in_a_sentence(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "link");
	culprit_sampler_close(opened((struct culprit_sampler_options){
				      .path = temporary_folder_path(&folder, "d") }),
			      NULL);
	assert_int_equal(symlink("target", path), 0);
	refused((struct culprit_sampler_options){ .path = path }, -ELOOP, "it is a symbolic link");
	assert_int_equal(access(temporary_folder_path(&folder, "target"), F_OK), -1);
	refused((struct culprit_sampler_options){ .path = "/nowhere/data" }, -ENOENT,
		"cannot write '/nowhere/data': No such file");
	refused((struct culprit_sampler_options){ .path = "/dev/full" }, -ENOSPC,
		"cannot write '/dev/full': No space left");
	refused((struct culprit_sampler_options){ .fd = 1000 }, -EBADF,
		"descriptor 1000: it is not open");
	int fd = open("/dev/null", O_RDONLY);
	refused((struct culprit_sampler_options){ .fd = fd }, -EBADF, "not open for writing");
	close(fd);
}

static void a_reader_that_leaves_is_an_error_and_no_signal(void **state)
{
	(void)state;
	struct culprit_error error;
	char room[4096];
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	void (*before)(int) = signal(SIGPIPE, SIG_DFL); /* which would end this program */
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .fd = ends[1] });
	assert_true(read(ends[0], room, sizeof(room)) > 0);
	close(ends[0]);
	assert_int_equal(culprit_sampler_start(sampler), 0);
	struct culprit_sampler_counts counts = { .samples = 0 };
	int ret = 0;
	for (double since = cpu_s(); ret == 0 && cpu_s() - since < PATIENCE_S;) {
		spin();
		ret = culprit_sampler_drain(sampler);
		culprit_sampler_counts(sampler, &counts);
	}
	assert_int_equal(ret, -EPIPE);
	assert_int_equal(culprit_sampler_stop(sampler), -EPIPE);
	assert_int_equal(culprit_sampler_close(sampler, &error), -EPIPE);
	assert_string_equal(error.text, "cannot write samples to the descriptor: Broken pipe");
	close(ends[1]);
	signal(SIGPIPE, before);
}

static void a_signal_that_waited_before_still_waits(void **state)
{
	(void)state;
	sigset_t broken, before, waiting;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .fd = ends[1] });
	close(ends[0]);
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	raise(SIGPIPE);
	int ret = culprit_sampler_start(sampler);
	spin();
	while (ret == 0) {
		spin();
		ret = culprit_sampler_drain(sampler);
	}
	sigpending(&waiting);
	assert_true(sigismember(&waiting, SIGPIPE));
	sigwait(&broken, &ret);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(culprit_sampler_close(sampler, NULL), -EPIPE);
	close(ends[1]);
}

/* In a child: the limit stays. */
static int fill_up(const char *path)
{
	const struct rlimit limit = { 96u << 10, 96u << 10 };
	struct culprit_sampler_options options = { .path = path, .period = 100000 };
	struct culprit_sampler *sampler;
	struct culprit_error error = { .code = 0 };
	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &limit) ||
	    culprit_sampler_open("cpu-clock:u", &options, &sampler, &error) ||
	    culprit_sampler_start(sampler))
		return 1;
	int ret = 0;
	for (double since = cpu_s(); ret == 0 && cpu_s() - since < PATIENCE_S;) {
		spin();
		ret = culprit_sampler_drain(sampler);
	}
	if (ret != -EFBIG)
		return 2;
	ret = culprit_sampler_close(sampler, &error);
	return ret == -EFBIG && strstr(error.text, "File too large") ? 0 : 3;
}

static void a_file_that_may_grow_no_more_is_an_error_and_no_signal(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	culprit_sampler_close(opened((struct culprit_sampler_options){ .path = path }), NULL);
	pid_t child = fork();
	if (child == 0)
		_exit(fill_up(path));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_leaves_the_file_alone(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct culprit_sampler_counts counts;
	static struct file_content content;
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .path = path });
	assert_int_equal(culprit_sampler_start(sampler), 0);
	spin();
	assert_int_equal(culprit_sampler_stop(sampler), 0); /* waits for more in its buffer */
	pid_t child = fork();
	if (child == 0)
		_exit(culprit_sampler_close(sampler, NULL) ? 1 : 0);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	sample_once(sampler);
	culprit_sampler_counts(sampler, &counts);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	read_content(&content, path);
	assert_int_equal(content.samples, counts.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_made_anew_and_private),
		cmocka_unit_test(what_cannot_be_written_is_refused_in_a_sentence),
		cmocka_unit_test(a_reader_that_leaves_is_an_error_and_no_signal),
		cmocka_unit_test(a_signal_that_waited_before_still_waits),
		cmocka_unit_test(a_file_that_may_grow_no_more_is_an_error_and_no_signal),
		cmocka_unit_test(a_child_leaves_the_file_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
