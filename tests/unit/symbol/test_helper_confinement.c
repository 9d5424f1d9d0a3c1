/* Somebody hostile in a helper's place tries what there is to try: as root where the test is run
 * so, and as a user. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sanitizers.h"
#include "confine/confinement.h"
#include "confine/syscall_filter.h"
#include "support/filter_verdicts.h"
#include "support/hostile_acts.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "symbol/helper_process.h"
#include "symbol/reader.h"

#define A_USER	   12345
#define DEADLINE   5000
#define HOW_SIZE   1024
#define UNCONFINED CONFINEMENT_KINDS

/* The helper has no other way to learn of it. */
static struct hostile_scene scene;

static int serve(void *context, const struct message *request, struct message *answer,
		 struct error *err)
{
	(void)context;
	(void)err;
	scene.handed = request->header.fd_count ? request->fds[0] : -1;
	int64_t ret = hostile_act_at(request->header.operation)->run(&scene);
	buffer_append(&answer->payload, &ret, sizeof(ret));
	return 0;
}

static void parse(int socket)
{
	helper_serve(&(struct helper_service){ .name = "hostile-parse",
					       .serve = serve,
					       .without_rights = true },
		     socket);
}

static void open_files(int socket)
{
	helper_serve(&(struct helper_service){ .name = "hostile-open", .serve = serve }, socket);
}

/* Whether it succeeded; the helper's death is a refusal. */
static bool succeeds_in_helper(struct helper *helper, size_t act, char *how, size_t how_size)
{
	CLEANUP(close_fd) int handed = memfd_create("handed", MFD_CLOEXEC);
	struct message request = { .header = { .operation = (uint32_t)act, .fd_count = 1 },
				   .fds = { handed } };
	struct message answer;
	struct error err = { 0 };
	int64_t ret;
	if (helper_ask(helper, &request, DEADLINE, &answer, &err) < 0) {
		snprintf(how, how_size, "%s", err.text);
		return false;
	}
	memcpy(&ret, answer.payload.data, sizeof(ret));
	message_release(&answer);
	snprintf(how, how_size, "%s", ret < 0 ? strerror((int)-ret) : "SUCCEEDS");
	return ret >= 0;
}

/* As the stepper confines itself, or not at all. */
static bool succeeds_in_child(enum confinement_kind kind, size_t act)
{
	CLEANUP(close_fd) int handed = memfd_create("handed", MFD_CLOEXEC);
	int status;
	uint32_t missing;
	scene.handed = handed;
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL); /* else it is the test's */
		if (kind != UNCONFINED) {
			close(scene.inherited);
			if (confine(&(struct confinement){ .kind = kind, .socket = 99 }, &missing))
				_exit(2);
		}
		_exit(hostile_act_at(act)->run(&scene) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* How many attempts came out otherwise than they must. */
static int try_all(enum confinement_kind kind)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct helper helper = { .run = kind == CONFINEMENT_PARSE ? parse : open_files };
	int wrong = 0;
	hostile_scene_make(&scene, folder.path);
	const struct hostile_act *act;
	for (size_t i = 0; (act = hostile_act_at(i)); i++) {
		char how[HOW_SIZE] = "";
		if (SANITIZERS && (act->flags & HOSTILE_PROBES_MEMORY))
			continue;
		bool may = act->flags & 1u << kind;
		bool in_helper = kind == CONFINEMENT_PARSE || kind == CONFINEMENT_OPEN;
		bool done = in_helper ? succeeds_in_helper(&helper, i, how, sizeof(how))
				      : succeeds_in_child(kind, i);
		/* What it may do it must be able to: a filter that refuses everything is no proof.
		 */
		if (done == may)
			continue;
		fprintf(stderr, "user %d, kind %d: '%s' %s: %s\n", (int)geteuid(), kind, act->name,
			done ? "is possible" : "is refused", how);
		wrong++;
	}
	/* That is what those may write that open files. */
	if (!hostile_scene_is_unharmed(&scene)) {
		fprintf(stderr, "user %d, kind %d: harm was done\n", (int)geteuid(), kind);
		wrong++;
	}
	helper_stop(&helper);
	hostile_scene_end(&scene);
	return wrong;
}

/* Without confinement: else the attempts prove nothing. */
static int try_unconfined(enum confinement_kind kind)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	int wrong = 0;
	hostile_scene_make(&scene, folder.path);
	const struct hostile_act *act;
	for (size_t i = 0; (act = hostile_act_at(i)); i++) {
		unsigned int works = HOSTILE_WORKS | (geteuid() ? 0 : HOSTILE_WORKS_AS_ROOT);
		if (!(act->flags & works) || succeeds_in_child(kind, i))
			continue;
		fprintf(stderr, "user %d, unconfined: '%s' fails\n", (int)geteuid(), act->name);
		wrong++;
	}
	hostile_scene_end(&scene);
	return wrong;
}

static int as_user(uid_t user, int (*attempt)(enum confinement_kind kind),
		   enum confinement_kind kind)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	int status;
	assert_int_equal(chown(folder.path, user, user), 0);
	pid_t child = fork();
	if (child == 0) {
		if (setenv("TMPDIR", folder.path, 1) || setgroups(0, NULL) ||
		    setresgid(user, user, user) || setresuid(user, user, user))
			_exit(100);
		/* as if a user's shell had started us */
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		_exit(attempt(kind));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool no_filter_here(void)
{
	uint32_t missing;
	return confinement_probe(CONFINEMENT_PARSE, &missing) < 0 || missing & CONFINEMENT_FILTER;
}

static void refused_to(enum confinement_kind kind)
{
	if (no_filter_here())
		SKIP("no filter of system calls here");
	assert_int_equal(try_all(kind), 0);
	if (geteuid() == 0)
		assert_int_equal(as_user(A_USER, try_all, kind), 0);
}

static void a_parser_can_do_nothing_but_parse(void **state)
{
	(void)state;
	refused_to(CONFINEMENT_PARSE);
}

static void an_opener_can_do_nothing_but_read(void **state)
{
	(void)state;
	refused_to(CONFINEMENT_OPEN);
}

static void a_stepper_can_do_nothing_but_trace(void **state)
{
	(void)state;
	refused_to(CONFINEMENT_STEP);
}

static void unconfined_all_of_it_is_possible(void **state)
{
	(void)state;
	if (no_filter_here())
		SKIP("no filter of system calls here");
	assert_int_equal(try_unconfined(UNCONFINED), 0);
	if (geteuid() == 0)
		assert_int_equal(as_user(A_USER, try_unconfined, UNCONFINED), 0);
}

/* Two calls of x86's probes (uretprobe, uprobe), which do nothing but from the kernel's own page.
 */
static bool passes_every_filter(uint32_t number)
{
#ifdef __x86_64__
	return number == 335 || number == 336;
#else
	(void)number;
	return false;
#endif
}

/* The kernel's own word on every number that no rule lets through, whatever its arguments. */
static int sweep(enum confinement_kind kind)
{
	const struct confinement wanted = { .kind = kind, .socket = 99 };
	struct syscall_filter filter;
	int wrong = 0, refused = 0;
	for (uint32_t number = 0; number < FILTER_CALLS; number++) {
		int status;
		if (passes_every_filter(number))
			continue;
		pid_t child = fork();
		if (child == 0) {
			uint32_t missing;
			if (confine(&wanted, &missing))
				_exit(2);
			confinement_filter(&wanted, &filter);
			unsigned int verdicts = filter_verdicts(filter.code, filter.count, number);
			/* What ends the list is put there when it is installed. */
			if (verdicts & (VERDICT_ALLOW | VERDICT_TRAP))
				_exit(3);
			long ret = syscall(number, -1, -1, -1, -1, -1, -1);
			_exit(ret == -1 && errno == EPERM ? 0 : 1);
		}
		waitpid(child, &status, 0);
		bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : killed ? 0 : 1;
		refused += code == 0;
		if (code == 0 || code == 3)
			continue;
		const char *name = filter_call_name(number);
		fprintf(stderr, "kind %d: %s (%u) reaches the kernel\n", kind, name ? name : "?",
			number);
		wrong++;
	}
	/* Of some 360 calls a parser has 35, and 10 by their arguments. */
	return wrong ? wrong : refused < 400 ? 99 : 0;
}

static void every_other_call_is_refused(void **state)
{
	(void)state;
	if (no_filter_here())
		SKIP("no filter of system calls here");
	for (enum confinement_kind kind = 0; kind < CONFINEMENT_KINDS; kind++)
		assert_int_equal(sweep(kind), 0);
}

static long status_value(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	long value = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			value = strtol(line + strlen(name) + 1, NULL, base);
	fclose(file);
	return value;
}

/* Started and at work: it has answered. */
static void start(struct helper *helper)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	char how[HOW_SIZE];
	hostile_scene_make(&scene, folder.path);
	succeeds_in_helper(helper, 0, how, sizeof(how));
	hostile_scene_end(&scene);
}

/* From outside: whoever has the user that helpers were given before. */
static int harm_from_outside(enum confinement_kind kind)
{
	(void)kind;
	pid_t pid = scene.victim;
	int wrong = kill(pid, SIGSTOP) == 0 || errno != EPERM;
	wrong += ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
	wrong += prlimit(pid, RLIMIT_CPU, &(struct rlimit){ 1, 1 }, NULL) == 0;
	return wrong;
}

static void nobody_else_can_stop_or_trace_a_helper(void **state)
{
	(void)state;
	struct helper parser = { .run = parse };
	struct helper opener = { .run = open_files };
	if (geteuid() != 0) {
		SKIP("needs root, to be another user");
	}
	start(&parser);
	start(&opener);
	scene.victim = parser.pid;
	assert_int_equal(as_user(65534, harm_from_outside, 0), 0);
	assert_true(status_value(parser.pid, "Uid", 10) >= 0x70000000);
	scene.victim = opener.pid;
	assert_int_equal(as_user(65534, harm_from_outside, 0), 0);
	helper_stop(&parser);
	helper_stop(&opener);
}

/* Another process of the very user's: it may stop it, and not look into it. */
static int trace_own(enum confinement_kind kind)
{
	(void)kind;
	struct helper helper = { .run = parse };
	start(&helper);
	pid_t child = fork();
	int status;
	if (child == 0) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/mem", helper.pid);
		_exit((ptrace(PTRACE_SEIZE, helper.pid, 0, 0) == 0) + (open(path, O_RDONLY) >= 0));
	}
	waitpid(child, &status, 0);
	helper_stop(&helper);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void its_own_user_cannot_look_into_a_helper(void **state)
{
	(void)state;
	assert_int_equal(geteuid() ? trace_own(0) : as_user(A_USER, trace_own, 0), 0);
}

static void a_helper_has_what_it_needs_and_no_more(void **state)
{
	(void)state;
	struct helper parser = { .run = parse };
	struct helper opener = { .run = open_files };
	if (no_filter_here())
		SKIP("no filter of system calls here");
	start(&parser);
	assert_int_equal(status_value(parser.pid, "CapPrm", 16), 0);
	assert_int_equal(status_value(parser.pid, "CapEff", 16), 0);
	assert_int_equal(status_value(parser.pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_value(parser.pid, "Seccomp", 10), 2);
	start(&opener);
	/* cap_dac_read_search, cap_sys_ptrace, cap_checkpoint_restore */
	assert_int_equal(status_value(opener.pid, "CapEff", 16) & ~(1L << 2 | 1L << 19 | 1L << 40),
			 0);
	assert_int_equal(status_value(opener.pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_value(opener.pid, "Seccomp", 10), 2);
	assert_int_equal(parser.layers_missing & CONFINEMENT_FILTER, 0);
	assert_int_equal(opener.layers_missing & CONFINEMENT_SEALED_OPEN, 0);
	helper_stop(&parser);
	helper_stop(&opener);
}

static void a_helper_ends_with_its_starter(void **state)
{
	(void)state;
	int ends[2], hold[2];
	pid_t pid;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid_t starter = fork();
	if (starter == 0) {
		struct helper helper = { .run = parse };
		start(&helper);
		/* Its socket stays open elsewhere: only the signal can end it. */
		close(hold[1]);
		if (fork() == 0)
			_exit((int)read(hold[0], &pid, 1)); /* until the test has seen it */
		_exit(write(ends[1], &helper.pid, sizeof(pid)) != sizeof(pid));
	}
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	waitpid(starter, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	/* The signal was sent while the starter ended; init may have reaped it by now. */
	bool ended = false;
	for (int tries = 0; tries < 2000 && !ended; tries++) {
		char path[64], text[512] = "";
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		FILE *file = fopen(path, "re");
		if (file) {
			size_t got = fread(text, 1, sizeof(text) - 1, file);
			text[got] = 0;
			fclose(file);
		}
		const char *end = strrchr(text, ')');
		ended = !end || end[2] == 'Z';
		if (!ended)
			usleep(1000);
	}
	close(hold[0]);
	close(hold[1]);
	assert_true(ended);
}

static void missing_layers_have_names(void **state)
{
	(void)state;
	char text[256];
	confinement_missing_text(0, text, sizeof(text));
	assert_string_equal(text, "");
	confinement_missing_text(CONFINEMENT_FILTER | CONFINEMENT_LANDLOCK |
					 CONFINEMENT_LANDLOCK_TCP | CONFINEMENT_LANDLOCK_PEER,
				 text, sizeof(text));
	assert_string_equal(text, "no filter of system calls (seccomp), no Landlock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parser_can_do_nothing_but_parse),
		cmocka_unit_test(an_opener_can_do_nothing_but_read),
		cmocka_unit_test(a_stepper_can_do_nothing_but_trace),
		cmocka_unit_test(every_other_call_is_refused),
		cmocka_unit_test(unconfined_all_of_it_is_possible),
		cmocka_unit_test(nobody_else_can_stop_or_trace_a_helper),
		cmocka_unit_test(its_own_user_cannot_look_into_a_helper),
		cmocka_unit_test(a_helper_has_what_it_needs_and_no_more),
		cmocka_unit_test(a_helper_ends_with_its_starter),
		cmocka_unit_test(missing_layers_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
