/*
 * flame_fixture - for tests: flame trees of profiles made by test_profile.h, and
 * what is in them in words.
 */
#pragma once

#include "analyze/flame/flame.h"
#include "base/error.h"
#include "support/test_profile.h"

/* Borrows the profiles, which so must outlive it. */
struct made_flame {
	struct resolver *resolvers[FLAME_SIDES];
	struct flame *flame; /* NULL after an error */
	struct error err;
	int ret;
};

/* `base` may be NULL. */
struct made_flame make_flame(const struct profile *profile, const struct profile *base,
			     struct flame_options options);
void made_flame_release(struct made_flame *made);

/* A profile whose current event is "cycles", of period 1. */
struct test_profile with_cycles(void);
/* Fails the test unless the frames are "all 9/0 >main 9/2 >>work 7/7": total and own of column 0,
 * a > a row. */
void must_spell(const struct flame *flame, const char *wanted);
