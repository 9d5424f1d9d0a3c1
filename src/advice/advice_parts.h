/* advice_parts - shared by the files that make findings. Internal to src/advice. */
#pragma once

#include "advice/advice.h"

struct advising {
	const struct facts *facts;
	struct advice *advice;
	size_t capacity;
	bool failed; /* out of memory: later findings do nothing */
};

/* Text in the advice's arena; "" and `failed` when out of memory. */
__attribute__((format(printf, 2, 3))) const char *advising_text(struct advising *advising,
								const char *format, ...);
void advising_add(struct advising *advising, const char *key, enum finding_state state,
		  const char *what, const char *means, const char *cure);
/* "sysctl -w ASSIGNMENTS", by sudo for who is not root. */
const char *advising_sysctl(struct advising *advising, const char *assignments);
/* A command that writes `value` into a file of /sys. */
const char *advising_write(struct advising *advising, const char *value, const char *file);
/* What gives this binary its rights: setcap, or what stands in its way. */
const char *advising_setcap(struct advising *advising);
bool advising_refused(int code); /* EACCES or EPERM */

void advise_processor(struct advising *advising);
void advise_counters(struct advising *advising);
void advise_clock(struct advising *advising);
void advise_rights(struct advising *advising);
void advise_helpers(struct advising *advising);
void advise_limits(struct advising *advising);
