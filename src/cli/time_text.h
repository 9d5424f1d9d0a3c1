/*
 * time_text - moments as options take them; TIMES in culprit(1) has every form.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/*
 * Stores ns since 1970 for one of
 *
 *	now
 *	today, yesterday, with or without a time of day: local time
 *	14:00, 14:00:30: today, local time
 *	2026-01-31, 2026-01-31T14:00[:30], with a space for the T, without or with a zone behind it
 *	(Z, +01, +0100, +01:00): UTC without one
 *	20260131, 20260131T120000Z: as epochs are named, UTC
 *	@1700000000: seconds since 1970
 *	2h, 90 minutes, 3 days ago: that long before now
 *
 * Of a local time that there was twice it is the first one; of one that a clock which was set
 * forward skipped, the moment when that was done. False when it is none of these, no such day, or
 * before 1970. `now_ns` is since 1970, too. *ns is never 0, which is no limit to a database: of
 *1970 itself it is 1.
 */
bool time_text_parse(const char *text, uint64_t now_ns, uint64_t *ns);

/* The same for the value of an option ("--since"), by the clock. `text` may be NULL: *ns stays.
 * 0; or -EINVAL and *err, which names both and says what times are. */
int time_text_read(const char *option, const char *text, uint64_t *ns, struct error *err);
