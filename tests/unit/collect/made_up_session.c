#include "made_up_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct session *made_up_session_new(void)
{
	struct session *session = calloc(1, sizeof(*session));
	static const struct collect_options options = { 0 };
	assert_non_null(session);
	session->options = &options;
	session->profile = profile_new();
	assert_non_null(session->profile);
	assert_int_equal(tally_init(&session->tally, session->profile), 0);
	shares_init(&session->shares, &(struct share_limits){ 0 });
	return session;
}

void made_up_session_free(struct session *session)
{
	tally_release(&session->tally);
	profile_free(session->profile);
	shares_release(&session->shares);
	free(session->named.list);
	free(session->owed.list);
	free(session);
}
