#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/image_paths.h"
#include "profile/profile.h"

static void add_path(struct profile *profile, uint32_t image, const char *path, enum path_seen seen)
{
	assert_int_equal(profile_add_seen_path(profile, image, span_of_text(path), seen), 0);
}

/* "b a", with a space between. */
static void must_have(const struct image_paths *paths, uint64_t image, const char *wanted)
{
	char text[256] = "";
	size_t count;
	const struct span *list = image_paths_of(paths, image, &count);
	for (size_t i = 0; i < count; i++) {
		strcat(text, i ? " " : "");
		strncat(text, list[i].data, list[i].size);
	}
	assert_string_equal(text, wanted);
	struct span best = image_paths_best(paths, image);
	assert_true(count ? span_equal(best, list[0]) : best.size == 0);
}

static void the_best_path_comes_first_and_the_others_as_they_were_added(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	CLEANUP(image_paths_release) struct image_paths paths;
	for (uint32_t i = 0; i < 4; i++) {
		const struct profile_image image = { .kind = IMAGE_FILE,
						     .build_id = { "abcd" + i, 1 } };
		uint32_t id;
		assert_int_equal(profile_add_image(profile, &image, &id), 0);
		assert_int_equal(id, i + 1);
	}
	add_path(profile, 3, "/z", PATH_REPORTED);
	add_path(profile, 1, "/d", PATH_REPORTED);
	add_path(profile, 1, "/c", PATH_REPORTED);
	add_path(profile, 4, "", PATH_SEEN_BY_US);
	add_path(profile, 1, "/e", PATH_SEEN_BY_US);
	add_path(profile, 3, "/y", PATH_REPORTED);
	assert_int_equal(image_paths_init(&paths, profile), 0);
	must_have(&paths, 1, "/e /d /c");
	must_have(&paths, 2, "");
	must_have(&paths, 3, "/y /z");
	must_have(&paths, 4, "");
	must_have(&paths, 0, "");
	must_have(&paths, 5, "");
	must_have(&paths, UINT64_MAX, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_path_comes_first_and_the_others_as_they_were_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
