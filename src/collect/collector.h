/*
 * collector - samples events and hands out profiles. It knows no files to
 * write, no terminal and no signals: the caller drives it from its own loop. A
 * collector belongs to one thread.
 *
 * Functions with an `err` return 0, or a negative errno with one sentence in *err.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/options.h"

struct error;
struct collector;
struct profile;

/* Opens everything; nothing is counted yet. *err names what was refused and the cure. The process,
 * and what it forks from here on, gets a better nice value where that is allowed (machine/haste.h).
 */
int collector_new(const struct collect_options *options, struct collector **out, struct error *err);
/* Begins to sample. */
int collector_start(struct collector *collector, struct error *err);

/*
 * A descriptor that polls readable ten times a second, and earlier when a ring is half
 * full, a process starts or maps a file, or a burst is due: then call
 * collector_service(), which empties the rings and adds up what they held.
 */
int collector_poll_fd(const struct collector *collector);
int collector_service(struct collector *collector, struct error *err);

/*
 * Stores in *delta a profile of what came since the last drain, which the caller
 * frees. Samples whose weight is not settled yet come with a later one.
 *
 * The caller may work for as long as it likes afterwards: a thread of the collector's empties the
 * rings until the collector is called again (collect/ring_keeper.h).
 */
int collector_drain(struct collector *collector, struct profile **delta, struct error *err);

/*
 * As collector_drain(), and ends an epoch: gathers names and code of what was first sampled
 * in it, and writes how much CPU time its clock samples missed (collect/ledger.h). What comes from
 * here on belongs to the next epoch, with a source row of its own.
 */
int collector_end_epoch(struct collector *collector, struct profile **delta, struct error *err);

/* Stops, drains to the end, settles every weight, gathers names and code, closes the bill. That is
 * urgent (collect/urgency.h), and so is what the caller does until collector_free(). */
int collector_finish(struct collector *collector, struct profile **delta, struct error *err);

/* Whether anything to be sampled is left; false when every watched process has exited. */
bool collector_alive(struct collector *collector);
/* How samples come: COLLECT_ENGINE_RING or COLLECT_ENGINE_BPF. */
enum collect_engine collector_engine(const struct collector *collector);
/* For reading files of /proc that may block (collect/proc_ask.h); it is the collector's. */
const struct proc_ask *collector_proc_ask(const struct collector *collector);

/*
 * After collector_finish(): what was to be watched and has no samples, and why, in one sentence;
 * "" when nothing is known to be missing. `samples`: of the whole recording.
 */
void collector_describe_missing(const struct collector *collector, uint64_t samples, char *text,
				size_t size);

void collector_free(struct collector *collector); /* NULL does nothing */
