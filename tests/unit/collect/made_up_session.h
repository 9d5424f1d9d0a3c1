/*
 * made_up_session - a session without an engine: tests put processes, files and places into it.
 */
#pragma once

#include "collect/session.h"

/* With a profile, a tally and shares without limits; fails the test when out of memory. */
struct session *made_up_session_new(void);
/* Frees also what names are owed for and were asked for. */
void made_up_session_free(struct session *session);
