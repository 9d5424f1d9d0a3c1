/*
 * make-profile-fixture - writes tests/data/profile-v1.prof, which every later
 * version must read. Run once, when a format version is settled:
 *
 *	make-profile-fixture tests/data/profile-v1.prof
 */
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"
#include "support/random_profile.h"

int main(int argc, char **argv)
{
	struct error err;
	if (argc != 2)
		return 2;
	struct profile *profile = random_profile_new(2026, RANDOM_WITH_STRANGERS);
	if (profile_file_write(argv[1], profile, &err) < 0) {
		fprintf(stderr, "make-profile-fixture: %s\n", err.text);
		return 1;
	}
	profile_free(profile);
	return 0;
}
