/*
 * collector - samples events and hands out profiles. It knows no files to
 * write, no terminal and no signals: the caller drives it from its own loop.
 *
 * Engines (perf rings now, in-kernel aggregation later) sit behind this
 * interface and give the same profile. A collector belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/options.h"

struct error;
struct collector;
struct profile;

/* Opens everything; nothing is counted yet. One sentence in *err names what was refused and the
 * cure. The process, and what it forks from here on, goes before others by its nice value
 * (machine/haste.h). */
int collector_new(const struct collect_options *options, struct collector **out, struct error *err);
int collector_start(struct collector *collector, struct error *err);

/*
 * A descriptor that polls readable ten times a second, and earlier when a ring
 * fills up: then call collector_service(), which empties the rings into memory.
 */
int collector_poll_fd(const struct collector *collector);
int collector_service(struct collector *collector, struct error *err);

/*
 * Takes what came since the last drain and stores in *delta a profile of it,
 * which the caller frees. Samples whose weight is not settled stay inside.
 *
 * The caller may take its time with the profile, and with what else it has to do then: a thread of
 * the collector's empties the rings until it is called again (collect/ring_keeper.h).
 */
int collector_drain(struct collector *collector, struct profile **delta, struct error *err);

/*
 * As collector_drain(), and ends an epoch: names and code of what was first sampled in it
 * are gathered, its clocks compared. What comes from here on belongs to the next one, with a
 * source row of its own.
 */
int collector_end_epoch(struct collector *collector, struct profile **delta, struct error *err);

/* Stops, drains to the end, settles every weight, gathers names and code, closes the bill. To
 * write it is urgent as well (collect/urgency.h), until collector_free(). */
int collector_finish(struct collector *collector, struct profile **delta, struct error *err);

/* Whether anything that could be sampled is left (every asked process has exited: false). */
bool collector_alive(struct collector *collector);
/* By which its processes are asked; lives as long as the collector. */
const struct proc_ask *collector_proc_ask(const struct collector *collector);

/*
 * After collector_finish(): what was to be watched and has no samples, and why, in one sentence;
 * "" when nothing is known to be missing. `samples`: of the whole recording.
 */
void collector_describe_missing(const struct collector *collector, uint64_t samples, char *text,
				size_t size);

void collector_free(struct collector *collector); /* NULL does nothing */
