/*
 * refused_program - whether a BPF program that was not loaded is a reason to skip a test. The kernel's
 * verifier has not let it pass: that is a mistake of ours, where the kernel has all that it takes.
 * After cmocka.h.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "skip.h"

/* Linux 6.1 has what all of our programs take. */
static inline bool refused_by_verifier(int error)
{
	struct utsname machine;
	unsigned major = 0, minor = 0;
	bool verdict = error == -EACCES || error == -EINVAL || error == -E2BIG || error == -ENOSPC;
	return verdict && uname(&machine) == 0 &&
	       sscanf(machine.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 1));
}

#define SKIP_UNLOADED(error, text)                                                                 \
	do {                                                                                       \
		if (refused_by_verifier(error))                                                    \
			fail_msg("%s", text);                                                      \
		SKIP("%s", text);                                                                  \
	} while (0)
