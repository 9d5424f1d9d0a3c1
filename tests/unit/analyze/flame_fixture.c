#include "flame_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "analyze/names/resolve.h"

struct made_flame make_flame(const struct profile *profile, const struct profile *base,
			     struct flame_options options)
{
	struct made_flame made = { 0 };
	struct resolver_options naming = { .stash_only = true };
	assert_int_equal(resolver_new(profile, &naming, &made.resolvers[0], &made.err), 0);
	if (base)
		assert_int_equal(resolver_new(base, &naming, &made.resolvers[1], &made.err), 0);
	const struct flame_input main = { profile, made.resolvers[0], NULL };
	const struct flame_input other = { base, made.resolvers[1], NULL };
	made.ret = flame_new(&main, base ? &other : NULL, &options, &made.flame, &made.err);
	return made;
}

void made_flame_release(struct made_flame *made)
{
	flame_free(made->flame);
	resolver_free(made->resolvers[0]);
	resolver_free(made->resolvers[1]);
}

struct test_profile with_cycles(void)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	return test;
}

void must_spell(const struct flame *flame, const char *wanted)
{
	char text[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < flame->count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s%s %d/%d",
					 i ? " " : "", (int)flame->frames[i].depth,
					 ">>>>>>>>>>>>>>>>", flame_label_of(flame, i)->name,
					 (int)flame_total(flame, FLAME_MAIN, i)[0].estimate,
					 (int)flame_self(flame, FLAME_MAIN, i)[0].estimate);
	assert_string_equal(text, wanted);
}
