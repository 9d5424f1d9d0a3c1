/*
 * top_source - where top's samples come from: a collector of its own, or the snapshots of a daemon.
 * A thread fetches them, part by part, so that whoever looks at them never waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct collect_options;
struct error;
struct profile;
struct top_source;

struct top_source_times {
	uint64_t first_ns; /* until the first part */
	uint64_t next_ns;  /* from one part to the next */
};

/* Both begin at once. The options are borrowed until the source is closed, but for
 * `wish`, which is the source's; `note` is called by the thread, and no more once the source is
 * being closed. 0, or a negative errno value with
 * *err: what was refused, and the cure. */
int top_source_sample(const struct collect_options *options, struct top_source_times times,
		      struct top_source **out, struct error *err);
/*
 * The daemon is first asked by the thread: what
 * came after its first answer is the first part, and a daemon that is not there, or that refuses,
 * is a failure that top_source_take() tells of. Names come from files here
 * (analyze/names/names_here.h). 0, or a negative errno value with *err: there is no thread.
 */
int top_source_ask(const char *socket, struct top_source_times times, struct top_source **out,
		   struct error *err);
/* Whether the daemon has answered once; it has when the source is a collector. */
bool top_source_answers(struct top_source *source);

/* A descriptor that polls readable when the daemon has answered once, there is a part, or a
 * failure.
 */
int top_source_poll_fd(const struct top_source *source);
/* Takes what came since the last call, which the caller frees, and how long it is: *part is NULL
 * when there is nothing.
 * 0, or a negative errno value with *err: it has failed, and no more will come. -ENODATA: whatever
 * was watched has ended. */
int top_source_take(struct top_source *source, struct profile **part, uint64_t *ns,
		    struct error *err);
/*
 * Ends the thread and frees the source: at once where it waits, and of a collector soon, for it
 * leaves out what it has not gathered. A thread that reads a file for names is not waited for: it
 * frees the source, unless the program ends before.
 */
void top_source_close(struct top_source *source); /* NULL does nothing */
