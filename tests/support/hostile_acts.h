/*
 * hostile_acts - what somebody would try who has taken over a helper process: one
 * function for each attempt, which really makes it. A test runs them in a helper's place
 * and checks that they are refused, and unconfined to check that they are real attempts.
 */
#pragma once

#include <stddef.h>

#include "confine/confinement.h"
#include "support/hostile_scene.h"

enum hostile_flag {
	/* A helper of this kind may do it, since that is its work. */
	HOSTILE_MAY_PARSE = 1 << CONFINEMENT_PARSE,
	HOSTILE_MAY_OPEN = 1 << CONFINEMENT_OPEN,
	HOSTILE_MAY_STEP = 1 << CONFINEMENT_STEP,
	HOSTILE_WORKS = 16, /* unconfined it must succeed, for root and for users */
	HOSTILE_WORKS_AS_ROOT = 32,
	HOSTILE_PROBES_MEMORY = 64, /* not under sanitizers, which have no limits */
};

struct hostile_act {
	const char *name;
	unsigned int flags;
	long (*run)(const struct hostile_scene *scene); /* a negative errno: refused */
};

/* The attempt of that number, from 0 on; NULL behind the last. */
const struct hostile_act *hostile_act_at(size_t number);
