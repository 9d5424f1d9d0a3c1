/* advice_parts - what the files that make findings share. Internal to src/advice. */
#pragma once

#include "advice/advice.h"

struct advising {
	const struct facts *facts;
	struct advice *advice;
	size_t capacity;
	bool failed; /* memory ran out: nothing is added any more */
};

/* Text in the advice's arena; "" and `failed` when out of memory. */
__attribute__((format(printf, 2, 3))) const char *advising_text(struct advising *advising,
								const char *format, ...);
void advising_add(struct advising *advising, const char *key, enum finding_state state,
		  const char *what, const char *means, const char *cure);
/* The command "sysctl -w ASSIGNMENTS", with sudo for users other than root. */
const char *advising_sysctl(struct advising *advising, const char *assignments);
/* A command that writes `value` into a file of /sys. */
const char *advising_write(struct advising *advising, const char *value, const char *file);
/* How to give this binary its rights: setcap, or what must be done before. */
const char *advising_setcap(struct advising *advising);
bool advising_refused(int code); /* -EACCES or -EPERM */

/* Each adds findings of one area. */

void advise_processor(struct advising *advising);
void advise_counters(struct advising *advising);
void advise_clock(struct advising *advising);
void advise_rights(struct advising *advising);
void advise_helpers(struct advising *advising);
void advise_limits(struct advising *advising);
