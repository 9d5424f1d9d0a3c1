/*
 * perf_data_private - what the parts of the perf.data reader share; nobody else
 * includes it. One reader, one thread.
 *
 * Bytes go: perf_data.c (where in the file) -> perf_data_split.c (where a record ends)
 * -> perf_data_records.c (one record) -> the queue, in order of time
 * -> perf_data_samples.c and the process table -> cells -> perf_data_result.c (the profile).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "base/buffer.h"
#include "image/process_table.h"
#include "import/importer.h"
#include "intake/calls.h"
#include "intake/cells.h"
#include "intake/read_window.h"
#include "import/perf_data/perf_data_events.h"
#include "import/perf_data/perf_data_here.h"
#include "import/perf_data/perf_data_places.h"
#include "import/perf_data/perf_data_queue.h"
#include "import/perf_data/perf_data_types.h"
#include "import/perf_data/simpleperf.h"
#include "import/unwind/unwind.h"
#include "profile/byte_pool.h"

struct error;
struct perf_waiting;
struct perf_waiting_sample;

/* Splits a stream into records, which may straddle its pieces. While a COMPRESSED record is
 * processed, which borrows from here, those that it unpacks to are: each stream has its own
 * buffers. */
struct perf_splitter {
	struct buffer pending; /* a record that has not come whole */
	struct buffer swapped; /* a record in our byte order */
	uint64_t at;	       /* offset of the next byte, in the file or the unpacked stream */
	uint64_t skip;	       /* bytes behind a record that belong to no record */
	bool unpacked;	       /* it is the stream from COMPRESSED records */
};

/* Who ran; numbers of texts in `names`, 0: unknown, or for the thread the name of the process. */
struct perf_context {
	uint32_t comm, thread, cgroup;
};
/* A slot of the cache of contexts, by thread id; `serial` is process_serial() of its process when
 * the context was looked up. */
struct perf_context_slot {
	uint64_t cgroup;
	uint32_t tid, serial, context;
};
#define PERF_CONTEXT_SLOTS (GROWTH_IS_WATCHED ? 16u : 4096u) /* few where sanitizers watch */

/* Counted while reading, for the bill and the remarks at the end. */
struct perf_data_counts {
	uint64_t lost;	       /* by LOST */
	uint64_t aux_lost;     /* pieces of a hardware trace that were cut short */
	uint64_t aux_bytes;    /* of hardware traces */
	enum perf_trace trace; /* what wrote them */
	uint64_t throttled;
	uint64_t late;	       /* records older than some that were processed already */
	uint64_t unknown_id;   /* samples and counts of no event of the file */
	uint64_t damaged;      /* records shorter than what they promise */
	uint64_t map_timeouts; /* processes with more mappings than perf had time to read */
	uint64_t guest_samples;
	uint64_t wrong_path; /* branches that were fetched, not taken */
	uint64_t unknown_records;
};

/* The header of a file, in native order. */
struct perf_section {
	uint64_t offset, size;
};
struct perf_file_header {
	uint64_t attr_size;
	struct perf_section attrs, data, event_types;
	uint64_t features[PERF_FEATURE_BITS / 64];
};

enum perf_data_state {
	PERF_AT_MAGIC,
	PERF_AT_HEADER,
	PERF_AT_PROLOGUE, /* attributes and ids, before the data */
	PERF_AT_DATA,
	PERF_AT_EPILOGUE, /* features */
	PERF_AT_WHOLE,	  /* attributes behind the data: all bytes are kept and read at the end */
};

/* The machine and the time of the recording, by the features; texts by their numbers in `names`. 0:
 * not said. */
struct perf_data_machine {
	uint32_t host, kernel, version, arch, cpu_name, cpu_id, command;
	uint64_t cpus;
	uint64_t first_ns, last_ns;   /* SAMPLE_TIME: of the first and the last sample */
	uint64_t wall_ns, wall_at_ns; /* CLOCK_DATA: as in struct perf_recording */
};

/* Samples whose user stacks are registers and bytes: perf_data_unwind.c. */
struct perf_unwinding {
	struct perf_waiting *waiting; /* NULL: no such sample yet */
	struct unwinder *unwinder;    /* NULL: none was needed, or none can be made */
	bool unwinder_failed;	      /* none can be made */
	struct unwind_run run;
	bool unwound; /* `run` is of the sample that is handed on */
};

struct perf_data {
	const struct import_options *options;
	enum perf_data_state state;
	struct perf_file_header header;
	bool swap;	    /* the file is in the other byte order */
	bool pipe;	    /* there is no file header, only records */
	bool killed;	    /* perf was: the header has no size of the records */
	bool stopped;	    /* at a fault, with options->force: no further record is read */
	uint64_t at;	    /* offset of the next byte of the file */
	uint64_t kept_from; /* where `kept` begins in the file */
	struct buffer kept; /* header, prologue, then the features */

	struct perf_splitter splitter; /* of the file */
	struct perf_splitter inner;    /* of what COMPRESSED records unpack to */
	ZSTD_DStream *unpacker;
	struct buffer unpacked; /* room for its output */

	struct perf_file_events events;
	uint64_t id_bytes; /* of all events' ids in the prologue */
	struct perf_queue queue;
	struct process_table processes;
	struct perf_places places;
	struct world world; /* perf_data_world(): processes and places as src/intake uses them */
	struct jit_beside *jit;
	struct cells cells;
	struct byte_pool names;
	struct perf_context *contexts; /* number - 1 */
	size_t context_count, context_capacity;
	struct hash_index context_index;
	struct number_map long_names; /* numbers in `names` of long process names, by address */
	struct number_map cgroups;    /* numbers in `names` of control groups' paths, by id */
	struct perf_context_slot context_slots[PERF_CONTEXT_SLOTS];
	struct chain chain; /* scratch */
	struct read_window reads;
	uint64_t losses;		 /* LOST records so far */
	uint64_t losses_anywhere;	 /* what `losses` was at the last one without a CPU */
	struct number_map losses_by_cpu; /* likewise by CPU, as a pointer */
	/* As in a profile, with our numbers for events, contexts and images; NULL: none yet. */
	struct table *edges, *ranges, *values;

	struct buffer tracing; /* what follows TRACING_DATA, as far as it came */
	uint64_t tracing_left; /* bytes of it that are still to come */
	struct span record;    /* the one that is processed, in our byte order */
	struct perf_unwinding unwinding;
	struct perf_here here;
	struct simpleperf simpleperf;
	struct perf_data_machine machine;
	struct perf_data_counts counts;
	uint64_t first_sample_ns, last_sample_ns;
};

/* perf_data.c: reports a fault: -EBADMSG, or with options->force 0, and no further record is read.
 */
__attribute__((format(printf, 3, 4))) int perf_data_fault(struct perf_data *data, struct error *err,
							  const char *format, ...);

/* perf_data_split.c: the next bytes of a stream of records. 0 or an importer's error. */
int perf_data_split(struct perf_data *data, struct perf_splitter *splitter, const uint8_t *bytes,
		    size_t size, struct error *err);
/* The end of the stream, which must not be inside a record. 0 or an importer's error. */
int perf_data_end_split(struct perf_data *data, struct perf_splitter *splitter, struct error *err);

/* perf_data_records.c: one whole record, in the file's byte order, that the splitter found. 0 or an
 * importer's error. */
int perf_data_record(struct perf_data *data, struct perf_splitter *splitter, const uint8_t *bytes,
		     size_t size, struct error *err);
/* The end of all records: hands on what waits in the queue. */
int perf_data_end_records(struct perf_data *data, struct error *err);

/* perf_data_features.c: one feature's bytes, in the file's byte order. What makes no sense is left
 * out and reported. 0 or -ENOMEM. */
int perf_data_feature(struct perf_data *data, uint64_t feature, struct span bytes);
/* One entry of the table of build-ids, in native order: a BUILD_ID record. */
int perf_data_build_id(struct perf_data *data, const uint8_t *record, size_t size);

/* What is known by now of where and when the recording was made. */
struct perf_recording perf_data_recording(const struct perf_data *data);

/* perf_data_contexts.c: the number of a thread's context, in a control group of that id (0: none).
 * 0 or -ENOMEM. */
int perf_data_context(struct perf_data *data, struct process *process, uint32_t tid,
		      uint64_t cgroup, uint32_t *context);
/* Forgets what a thread's context was: its name changed, or its id is another thread's now. */
void perf_data_forget_thread(struct perf_data *data, uint32_t tid);
/* Notes a control group's path, of a CGROUP record. 0 or -ENOMEM. */
int perf_data_cgroup(struct perf_data *data, const struct perf_record *record);

/* perf_data_samples.c: a sample; they come in order of time. 0, -ENOMEM, -EOVERFLOW or an error of
 * unwinding, with *err filled. */
int perf_data_sample(struct perf_data *data, uint32_t event, const struct perf_record *record,
		     struct error *err);
/* What addresses mean in the recording, for src/intake. */
struct world perf_data_world(struct perf_data *data);
/* Fills *err by what adding to cells or tables returned: -EOVERFLOW or else -ENOMEM; 0 for no
 * error. */
int perf_data_error(int ret, struct error *err);
/* Adds a sample whose process and context are known. 0, -ENOMEM or -EOVERFLOW, with *err filled. */
int perf_data_add(struct perf_data *data, struct process *process, uint32_t event, uint32_t context,
		  const struct perf_record *record, struct error *err);
/* Notes a LOST record: what counters advance by until the next sample belongs in part to samples
 * that are missing. 0 or -ENOMEM. */
int perf_data_lost(struct perf_data *data, uint32_t event, const struct perf_record *record);

/* perf_data_unwind.c: keeps a sample, whose process and context are known, until it can be unwound.
 * 0, or an error of what was unwound to make room. */
int perf_data_wait(struct perf_data *data, const struct perf_waiting_sample *sample,
		   struct error *err);
/* Unwinds all that wait, and hands each to perf_data_add(). 0 or an error. */
int perf_data_unwind(struct perf_data *data, struct error *err);
/* The user's frames of the sample that is handed on, or NULL when there are none. */
const struct unwind_run *perf_data_unwound(const struct perf_data *data);
/* Reports how many stacks ended before their root, and why. */
void perf_data_report_unwound(const struct perf_data *data);
void perf_data_release_unwinding(struct perf_unwinding *unwinding);

/* perf_data_branches.c: adds the branch stack of a sample; its latencies and data source. 0 or
 * -ENOMEM. */
int perf_data_branches(struct perf_data *data, uint32_t event, uint32_t context,
		       struct process *process, const struct perf_record *record);
int perf_data_values(struct perf_data *data, uint32_t event, uint32_t context,
		     struct process *process, const struct perf_record *record);

/* perf_data_result.c: everything as a profile, which the caller frees; reports what was counted. 0,
 * -ENODATA (no samples), or an importer's error. */
int perf_data_result(struct perf_data *data, struct profile **out, struct error *err);

/* perf_data_remarks.c: reports what was counted while reading. */
void perf_data_report(const struct perf_data *data, const struct profile *profile);
/* " of Intel PT", for what wrote a trace; "" when that is not known. */
const char *perf_data_trace_words(enum perf_trace trace);
