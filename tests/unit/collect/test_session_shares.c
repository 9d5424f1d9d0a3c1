#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/session.h"

#define STRANGER 4242u

static struct session *new_session(void)
{
	struct session *session = calloc(1, sizeof(*session));
	assert_non_null(session);
	session->profile = profile_new();
	assert_non_null(session->profile);
	shares_init(&session->shares, &(struct share_limits){ 0 });
	return session;
}

static void free_session(struct session *session)
{
	process_table_release(&session->processes);
	profile_free(session->profile);
	shares_release(&session->shares);
	free(session);
}

/* One that need not be asked any more. */
static struct process *process_of(struct session *session, uint32_t pid, uint32_t user)
{
	struct process *process = process_need(&session->processes, pid);
	assert_non_null(process);
	process->share = shares_of_user(&session->shares, user);
	process->share_asked = process->asked = process->known = true;
	return process;
}

static uint32_t context_of(struct session *session, struct process *process, const char *name)
{
	uint32_t id;
	process->context = 0; /* a new name */
	strcpy(process->comm, name);
	assert_int_equal(session_context(session, process, process->pid, 0, &id), 0);
	return id;
}

static void a_name_is_paid_for_once(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_of(session, 1, STRANGER);
	struct share *share = process->share;
	uint32_t id = context_of(session, process, "worker");
	for (int i = 0; i < 10000; i++)
		assert_int_equal(context_of(session, process, "worker"), id);
	assert_int_equal(share->held[SHARE_CONTEXTS], 1);

	/* When there is room for no more of them, those that are known stay. */
	char name[PROCESS_COMM_SIZE];
	uint32_t last = id;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		last = context_of(session, process, name);
	}
	struct profile_context rest = profile_context(session->profile, last);
	assert_true(span_equal(rest.comm, span_of_text("[beyond the limit]")));
	assert_int_equal(context_of(session, process, "worker"), id);
	assert_int_not_equal(context_of(session, process, "n7"), last);
	uint64_t held = share->held[SHARE_CONTEXTS];
	assert_int_equal(profile_table(session->profile, PROFILE_CONTEXT)->count, held + 1);
	assert_int_equal(share->refused[SHARE_CONTEXTS], 20001 - held);
	free_session(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_paid_for_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
