/*
 * perf_data_events - the events of a perf.data file: how each was opened, what
 * it is called, and which samples are its own. Filled from the attributes of
 * the header or of ATTR records, and from what later parts of the file say.
 *
 * Everything here is in native byte order. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/span.h"
#include "image/unknown.h"
#include "import/perf_data/perf_data_units.h"
#include "machine/perf_record.h"

#define PERF_EVENTS_LIMIT 65536 /* more than any machine has: a wrong number in a file */
#define PERF_NO_EVENT	  UINT32_MAX

struct perf_event_counts {
	uint64_t runs;		/* samples in the file */
	uint64_t stored;	/* samples that were added to cells */
	uint64_t reads;		/* of a group's member: counts that another's samples read */
	uint64_t lost_estimate; /* counted across lost samples: belongs to none that is there */
	uint64_t lost_samples, lost_records, damaged, throttled;
	uint64_t unknown[UNKNOWN_CAUSES]; /* stored samples whose place is not known, by cause */
	uint64_t weight;		  /* of all samples and reads */
	uint64_t raw_bytes;		  /* of PERF_SAMPLE_RAW, which are left out */
};

/* Where the user's part of a call chain is when it is not in the chain. */
enum perf_user_part { PERF_USER_CHAIN, PERF_USER_STACK, PERF_USER_BRANCHES };

struct perf_file_event {
	struct perf_event_attr attr; /* 0 where the file's is shorter */
	struct perf_layout layout;
	char *name;	   /* NULL: not in the file */
	char *unit;	   /* likewise */
	double scale;	   /* of one count, in the unit; 0: not in the file */
	uint8_t user_part; /* enum perf_user_part */
	uint32_t leader;   /* whose samples read its group; itself when it has none */
	struct perf_event_counts counts;
	uint32_t row;		  /* in the profile, once it is made */
	struct perf_unit measure; /* unit of its estimates there */
};

/* An EVENT_UPDATE of an event that has not come yet; the last of each id and type. */
struct perf_update {
	uint64_t type; /* enum perf_update_type */
	char *value;   /* `size` bytes; NULL: the event came */
	size_t size;
	uint32_t previous; /* of the same id, its number plus one; 0: none */
};

struct perf_file_events {
	struct perf_file_event *list;
	size_t count, capacity;
	struct number_map by_id; /* event's number plus one, as a pointer */
	struct number_map pmus;	 /* names by type */
	struct number_map types; /* names by config, of perf 3.x */
	struct perf_update *updates;
	size_t update_count, update_capacity;
	size_t update_bytes;		 /* of `updates` and their values */
	struct number_map updates_by_id; /* the last one's number plus one, as a pointer */
	size_t bad_scales; /* events whose scale is no number; perf_events_write() counts them */
	/* Where the id of a record's event is, which is needed before the event is known. */
	bool same_layout;    /* all events' records have the same fields */
	bool all_identified; /* all events have PERF_SAMPLE_IDENTIFIER */
	int sample_id_at;    /* byte of the id in a sample, from the record's start; -1: none */
	int trailer_id_at;   /* in other records, from their end; -1: none */
};

void perf_events_release(struct perf_file_events *events);

/*
 * Adds an event from the bytes of a perf_event_attr, in native order. Returns 0, -EBADMSG (shorter
 * than any), -E2BIG (more than PERF_EVENTS_LIMIT) or -ENOMEM.
 */
int perf_events_add(struct perf_file_events *events, struct span attr);
/* An id of an event: samples with that id are its own. 0 or -ENOMEM. */
int perf_events_add_id(struct perf_file_events *events, uint32_t event, uint64_t id);

/* The event of an id, or PERF_NO_EVENT. */
uint32_t perf_events_find(const struct perf_file_events *events, uint64_t id);
/* The event of a record: 0 when the record has no id, PERF_NO_EVENT for an unknown id. */
uint32_t perf_events_of_record(const struct perf_file_events *events, const uint8_t *record,
			       size_t size);
/* The same of a record whose body is still in the other byte order. */
uint32_t perf_events_of_swapped(const struct perf_file_events *events, const uint8_t *record,
				size_t size);
/* The time of a record, or 0 when it has none. */
uint64_t perf_events_time(const struct perf_file_events *events, const uint8_t *record,
			  size_t size);

/* Sets the name of an event; an empty one changes nothing. 0 or -ENOMEM. */
int perf_events_set_name(struct perf_file_event *event, struct span name);
/* An EVENT_UPDATE: what it says of the event that has the id, or will get it. 0, -E2BIG (too much
 * of events that have not come) or -ENOMEM. */
int perf_events_update(struct perf_file_events *events, uint64_t id, uint64_t type,
		       struct span value);
/* Names of a PMU by its type and, in files of perf 3.x, of a tracepoint by its config. The first
 * name of each number stays. 0 or -ENOMEM. */
int perf_events_add_pmu(struct perf_file_events *events, uint32_t type, struct span name);
int perf_events_add_type(struct perf_file_events *events, uint64_t config, struct span name);
