#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/status.h"
#include "cli/verbs.h"

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; verbs[i]; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

/* Data that did not reach stdout is a failure; a reader that left (`| head`) is not. */
static int finish(int status)
{
	bool failed = ferror(stdout);
	if (status == STATUS_DONE)
		status = 0;
	if (message_refused() && status == 0)
		status = 1;
	int ret = fflush(stdout) == 0 && !failed ? 0 : errno;
	pager_finish();
	if (!ret)
		return status;
	if (ret != EPIPE)
		message_error("cannot write the output: %s", strerror(ret));
	return status ? status : ret == EPIPE ? 0 : 1;
}

/*
 * Standard descriptors that we were started without are taken, so that no file or counter of ours
 * gets their number and what is meant for them. Reading or writing them fails as before (the wrong
 * mode), and programs that we start find them closed.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	occupy_standard_descriptors();
	/* Our parent may have it ignored: then ends of our children would never be reported. */
	signal(SIGCHLD, SIG_DFL);
	/* A file at its limit (ulimit -f) is an error like a full disk: EFBIG, cleaned up and said.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		message_error("no verb given; try 'culprit --help'");
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_print_overview(verbs);
		return finish(0);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("culprit %s\n", CULPRIT_VERSION);
		return finish(0);
	}
	if (strcmp(argv[1], "help") == 0 && argc < 3) {
		help_print_overview(verbs);
		return finish(0);
	}
	bool help = strcmp(argv[1], "help") == 0;
	const char *name = help ? argv[2] : argv[1];
	const struct verb *verb = find_verb(name);
	if (!verb) {
		message_error("unknown verb '%s'; try 'culprit --help'", name);
		return 2;
	}
	if (help) {
		char help_option[] = "--help";
		char *arguments[] = { argv[2], help_option, NULL };
		return finish(verb->run(2, arguments));
	}
	return finish(verb->run(argc - 1, argv + 1));
}
