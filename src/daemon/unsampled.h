/*
 * unsampled - for how long a daemon did not sample before a recording of its own, though nobody had
 * asked for that: the one before was killed, or failed. All it can be is an estimate: samples since
 * the last merge are lost, and nobody knows when exactly that was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct database_end;
struct error;

struct unsampled {
	bool any;	/* there is such a time */
	bool known;	/* and its length, so far */
	uint64_t ns;	/* up to `at_ns` */
	uint64_t at_ns; /* clock_boot_ns() */
};

/*
 * Of the daemon before, which ended like that, until now: `now_ns` since 1970, `boot_ns` by
 * clock_boot_ns(), `boot_id` of this start of the machine, "": unknown. From its last merge, unless
 * it ended in order. Of one that ended before the machine began anew, the time since that at most;
 * not known where it ended after now, as the clock was set back since, nor, unless it was surely
 * before this start of the machine, where that is longer ago than it.
 */
struct unsampled unsampled_after(const struct database_end *end, const char *boot_id,
				 uint64_t now_ns, uint64_t boot_ns);
/* The same of the daemon that recorded the host into the database before. 0 or a negative errno
 * value with *err. */
int unsampled_since_last(const char *database, const char *host, struct unsampled *out,
			 struct error *err);
/* Since that time (clock_boot_ns()). */
struct unsampled unsampled_since(uint64_t boot_ns);
/* Up to now; 0 where there is none, or it is not known. */
uint64_t unsampled_now_ns(const struct unsampled *unsampled);
