/*
 * profile - aggregated counts of events, with all that is needed to read them
 * again on another machine. The one noun in the middle: collectors and
 * importers make one, analyses and exporters read one.
 *
 * A profile is a set of tables (profile/table.h) over one pool of bytes. The
 * tables below are declared in profile_columns.c; a file may bring others, which are
 * kept, merged and written by their declaration. Ids are dense and local to
 * one profile: an id is a row number plus one, and 0 means "none".
 *
 * Adding copies what it needs. All functions that add return 0 or -ENOMEM; when
 * they fail, no row was added or changed, though the pool may have new texts. A
 * profile belongs to one thread at a time; readers may share one that nobody
 * changes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/byte_pool.h"
#include "profile/table.h"

struct error;

enum profile_table {
	PROFILE_EVENT, /* these four are referred to by others */
	PROFILE_IMAGE,
	PROFILE_CONTEXT,
	PROFILE_NODE,
	PROFILE_SOURCE,
	PROFILE_PATH,
	PROFILE_FLAT,
	PROFILE_STACK,
	PROFILE_EDGE,
	PROFILE_RANGE,
	PROFILE_VALUE,
	PROFILE_COUNTER,
	PROFILE_STRIP,
	PROFILE_BILL,
	PROFILE_STASH,
	PROFILE_KNOWN_TABLES,
};
#define PROFILE_DICTIONARIES 4 /* the tables before this number */

struct profile {
	struct byte_pool bytes;
	struct table **tables; /* the known ones by enum profile_table, then others by arrival */
	size_t table_count;
};

struct profile *profile_new(void); /* NULL when out of memory */
void profile_free(struct profile *profile);
void profile_freep(struct profile **profile); /* for CLEANUP() */

/* For tests and fuzzers: the first invariant of the tables that does not hold, or NULL. Each row is
 * found by its key, and only it; references and texts exist; parents of nodes come first. */
const char *profile_fault(const struct profile *profile);

/* The declared columns of a known table; their slots are the enums below. */
const struct column *profile_columns(enum profile_table table, size_t *count);
const char *profile_table_name(enum profile_table table);
struct table *profile_find_table(const struct profile *profile, const char *name); /* or NULL */
/* Adds a table of that declaration, or returns the one of that name when it is there. NULL: out of
 * memory. */
struct table *profile_add_table(struct profile *profile, const char *name,
				const struct column *columns, size_t column_count);

static inline const struct table *profile_table(const struct profile *profile,
						enum profile_table table)
{
	return profile->tables[table];
}

static inline struct span profile_bytes(const struct profile *profile, uint64_t id)
{
	return byte_pool_get(&profile->bytes, id);
}
int profile_add_bytes(struct profile *profile, struct span bytes, uint32_t *id);
int profile_add_text(struct profile *profile, const char *text,
		     uint32_t *id); /* NULL: absent, id 0 */

/* An optional number: absent, or a value below 2^64 - 1. */
static inline uint64_t optional_of(uint64_t value)
{
	return value + 1;
}
#define OPTIONAL_ABSENT 0

/*
 * What was counted and how. Two recordings of the same event with different
 * periods are two rows of one name; reports add them up by name.
 */
enum period_policy { PERIOD_NONE, PERIOD_FIXED, PERIOD_RANDOM, PERIOD_FREQUENCY };
/* The last two are of edges and ranges alone: they show where control went, but do not count all of
 * it. */
enum event_origin {
	ORIGIN_MEASURED,
	ORIGIN_IMPORTED,
	ORIGIN_ESTIMATED,
	ORIGIN_INTERPRETED, /* worked out from the registers of samples */
	ORIGIN_STEPPED,	    /* seen in short bursts of single steps */
};
enum event_exclude {
	EXCLUDE_USER = 1,
	EXCLUDE_KERNEL = 2,
	EXCLUDE_HV = 4,
	EXCLUDE_IDLE = 8,
	EXCLUDE_HOST = 16,
	EXCLUDE_GUEST = 32
};
enum event_clock {
	EVENT_COUNTED,
	EVENT_CLOCK
}; /* a clock's unit is ns; it ticks while its CPU is busy */

#define PROFILE_MOST_DECIMALS 18 /* 64 bits have one digit more */
struct profile_event {
	struct span name;      /* as the user wrote it, modifiers included: "cycles:u" */
	struct span unit;      /* "cycles", "ns", ... */
	uint64_t scale;	       /* estimates are in units of 10^-scale (fractional imports); at most
				  PROFILE_MOST_DECIMALS */
	struct span pmu;       /* "cpu", "armv8_pmuv3_0", "software" */
	struct span core_type; /* of hybrid machines, else absent */
	uint64_t type, config, config1, config2; /* perf_event_attr's */
	uint64_t clock;				 /* enum event_clock */
	uint64_t policy;			 /* enum period_policy */
	uint64_t period;  /* events, or Hz for PERIOD_FREQUENCY; the mean when random */
	uint64_t precise; /* perf_event_attr.precise_ip */
	uint64_t exclude; /* set of enum event_exclude */
	uint64_t skid;	  /* instructions that the address is late by, plus one; 0 unknown */
	uint64_t origin;  /* enum event_origin */
	uint64_t sampled; /* 1: cells have samples. 0: they have only estimates; samples are absent
			   */
	struct span leader; /* name of the event whose samples read this one, else absent */
	/* 1: stacks are of samples of their own, which came at another rate and are not in "flat".
	   0: they are of samples that are there as well */
	uint64_t apart;
};
int profile_add_event(struct profile *profile, const struct profile_event *event, uint32_t *id);
/* The same with the ids of texts that profile_add_bytes() gave, in place of the event's own texts:
 * adding a text hashes and compares it, and a long one may be in many rows. */
struct profile_event_texts {
	uint32_t name, unit, pmu, core_type, leader;
};
int profile_add_event_by_ids(struct profile *profile, const struct profile_event *event,
			     const struct profile_event_texts *texts, uint32_t *id);
struct profile_event profile_event(const struct profile *profile, uint64_t id);

/* What a vaddr of an image counts from. */
enum vaddr_space {
	SPACE_ELF,     /* the file's own p_vaddr */
	SPACE_OFFSET,  /* bytes from the start of the file: its program headers could not be read */
	SPACE_TEXT,    /* bytes from the start of the text (_stext of the kernel, a module's or BPF
			  program's base) */
	SPACE_PROCESS, /* an address in one process (JIT code) */
};
enum image_kind {
	IMAGE_FILE = 1,
	IMAGE_KERNEL,
	IMAGE_MODULE,
	IMAGE_VDSO,
	IMAGE_BPF,
	IMAGE_JIT,
	IMAGE_UNKNOWN, /* name says the cause */
	IMAGE_NAME,    /* known by name alone (imported text) */
};
struct profile_image {
	uint64_t kind;
	uint64_t space;
	struct span build_id; /* raw bytes, not hexadecimal: what the file says it is */
	struct span hash;     /* of its content (image/content_hash.h): what it is. Absent: not
				 known, as of all but files that a collector read */
	struct span name;     /* only where the two above do not identify: module, BPF program, JIT,
				 cause, path */
	uint64_t writer;      /* of a file: who else can alter it (image/writer.h); 0: nobody but
				 root and whoever recorded, or not known */
};
int profile_add_image(struct profile *profile, const struct profile_image *image, uint32_t *id);
/* The same with ids of texts, as profile_add_event_by_ids(). */
struct profile_image_texts {
	uint32_t build_id, hash, name;
};
int profile_add_image_by_ids(struct profile *profile, const struct profile_image *image,
			     const struct profile_image_texts *texts, uint32_t *id);
struct profile_image profile_image(const struct profile *profile, uint64_t id);
/* Whether all fields are equal: then they are one row. */
bool profile_image_equal(const struct profile_image *a, const struct profile_image *b);
/* The id of that image in a profile; 0: it has none. Looks at all. */
uint32_t profile_find_image(const struct profile *profile, const struct profile_image *image);
/*
 * Whether the two are one build, so that the addresses of one are those of the other. Where the
 * content of both is known it decides, with build-id and writer; else build-id and name must be
 * equal. Not transitive.
 */
bool profile_image_same_build(const struct profile_image *a, const struct profile_image *b);

/* Whether they are known to be different builds. Where too little is known of the two, this and
 * profile_image_same_build() are both false. */
bool profile_image_other_build(const struct profile_image *a, const struct profile_image *b);

/* A process may map any file under a name of its own making, in mounts of its own. */
enum path_seen {
	PATH_REPORTED,	 /* by a process or another tool */
	PATH_SEEN_BY_US, /* the collector found the file there itself */
};
/* Remembers a path under which the image was seen. */
int profile_add_seen_path(struct profile *profile, uint32_t image, struct span path,
			  enum path_seen seen);
int profile_add_path(struct profile *profile, uint32_t image, struct span path); /* PATH_REPORTED */
/* The same of a path whose text has an id. */
int profile_add_path_by_ids(struct profile *profile, uint32_t image, uint32_t path);
/* Whether the path of `row` is the better of two rows of the table: those that the collector saw
 * come first, then by text. */
bool profile_path_is_better(const struct profile *profile, size_t row, size_t other);

/* Who ran. Optional numbers by optional_of(). */
struct profile_context {
	struct span comm;	/* of the process */
	struct span cgroup;	/* path in its hierarchy */
	struct span container;	/* id, when the cgroup's name shows one */
	uint64_t pid, start_ns; /* optional; start since boot: pids are reused */
	uint64_t tid;		/* optional */
	struct span thread;	/* the thread's own name */
	uint64_t cpu;		/* optional */
	struct span core_type;
	struct span labels; /* "key=value" lines, sorted */
};
int profile_add_context(struct profile *profile, const struct profile_context *context,
			uint32_t *id);
/* The same with ids of texts, as profile_add_event_by_ids(). */
struct profile_context_texts {
	uint32_t comm, cgroup, container, thread, core_type, labels;
};
int profile_add_context_by_ids(struct profile *profile, const struct profile_context *context,
			       const struct profile_context_texts *texts, uint32_t *id);
bool profile_has_context(const struct profile *profile, const struct profile_context *context);
struct profile_context profile_context(const struct profile *profile, uint64_t id);
/* The name that a stack begins with: the thread's own where it was kept, as perf prints it, else
 * the process's. */
static inline struct span profile_context_command(const struct profile_context *context)
{
	return context->thread.data ? context->thread : context->comm;
}

/* A place in code: (image, vaddr), or a bare name, or a name within an image. A name beside a vaddr
 * is what another tool calls the procedure there. */
enum frame_kind {
	FRAME_IP,     /* the instruction at vaddr */
	FRAME_RETURN, /* vaddr is a return address: the call is the instruction before it */
};
struct profile_frame {
	uint64_t kind;
	uint32_t image;
	uint64_t vaddr;
	uint32_t name; /* in the byte pool; 0 when image and vaddr name the frame */
};
/* The trie of stacks. Parent 0 is the root, the outermost frame's parent; a parent's id is below
 * its children's. */
int profile_add_node(struct profile *profile, uint32_t parent, const struct profile_frame *frame,
		     uint32_t *id);
struct profile_frame profile_node(const struct profile *profile, uint64_t id, uint32_t *parent);

/*
 * The three sums of a cell. For samples that arrive independently (Poisson) the
 * variance of a sum of weights is the sum of their squares (docs/methods.md), so
 * the standard error of the estimate is sqrt(squares).
 */
struct cell {
	uint64_t samples;
	uint64_t estimate;	   /* events, scaled by the event's `scale` */
	unsigned __int128 squares; /* sum of the squared weights */
};

static inline bool cell_is_empty(const struct cell *cell)
{
	return cell->samples == 0 && cell->estimate == 0;
}

/* flat and stack are two views of the same samples: flat holds every sample by its leaf. Or, of an
 * event with `apart`, of the same time: both estimate the same, by samples of their own. */
int profile_add_flat(struct profile *profile, uint32_t event, uint32_t context,
		     const struct profile_frame *leaf, const struct cell *cell);
int profile_add_stack(struct profile *profile, uint32_t event, uint32_t context, uint32_t node,
		      const struct cell *cell);
int profile_add_counter(struct profile *profile, uint32_t event, uint32_t context,
			const struct cell *cell);
/*
 * A jump, call or return taken `count` times; context may be 0. Addresses or names of both frames
 * are part of the key, their kinds are not. Interpreted and stepped edges include branches not
 * taken: from the conditional branch to the instruction behind it.
 */
int profile_add_edge(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		     const struct profile_frame *from, const struct profile_frame *to,
		     uint64_t count, uint64_t mispredicted);
/* All instructions from `first` to `last` of an image were executed in a row, `count` times. */
int profile_add_range(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		      uint32_t image, uint64_t first, uint64_t last, uint64_t count);
/* `kind` is an enum value_of, which says what `bucket` means. */
int profile_add_value(struct profile *profile, uint32_t event, uint32_t context, uint32_t image,
		      uint64_t vaddr, uint64_t kind, uint64_t bucket, const struct cell *cell);
/* Samples by second. Nobody fills this yet (docs/profile-format.md, *Who fills and who reads*). */
int profile_add_strip(struct profile *profile, uint64_t second, uint32_t event, uint32_t context,
		      uint64_t samples);

/*
 * One line of the bill. event 0: of the whole CPU; cpu optional. Items are named
 * in profile/bill.h.
 */
int profile_add_bill(struct profile *profile, uint32_t event, uint64_t optional_cpu,
		     const char *item, uint64_t amount);

/* A host's share in the profile; duration_ns grows by maximum when the rest is equal. */
struct profile_source {
	struct span host, boot_id, kernel, machine; /* machine: x86_64, aarch64 */
	struct span cpu_vendor, cpu_model, cpu_name,
		microcode; /* model: as machine/cpu_model.h spells it, several joined by ", " */
	struct span smt, governor, turbo, frequency, hypervisor, clock;
	struct span command, tool;
	struct span labels; /* lines (profile/source_labels.h) */
	uint64_t cpus;	   /* online at the start */
	uint64_t start_ns; /* since 1970 */
	uint64_t epoch;	   /* number within one recording, from 0 */
	uint64_t duration_ns;
};
int profile_add_source(struct profile *profile, const struct profile_source *source);
struct profile_source profile_source(const struct profile *profile, size_t row);
/* Whether the profile has that source, of whatever duration: it is a row of both, and what was
 * counted then is in both. */
bool profile_has_source(const struct profile *profile, const struct profile_source *source);

/*
 * Adds everything in `from` to `into`. Ids are translated, tables that are only
 * in `from` are added with their declaration. Returns 0, -ENOMEM, or -EBADMSG
 * (with *err) when both declare a column of one name differently; `into` may
 * then hold a part of `from` and is only fit to be freed.
 */
int profile_merge(struct profile *into, const struct profile *from, struct error *err);

/* Called with each row of `into` that was added or changed: its table's number and its position.
 * Returns 0 or -ENOMEM. */
typedef int (*profile_note_row)(void *context, size_t table, uint32_t row);
/* As profile_merge(), and tells `note`, unless it is NULL, so that a copy of `into` elsewhere can
 * be brought up to date. */
int profile_merge_noting(struct profile *into, const struct profile *from, profile_note_row note,
			 void *context, struct error *err);

/*
 * Stores in *out a new profile of the same content in canonical order: what
 * nothing refers to is dropped (events stay), bytes and rows are sorted by
 * content, ids renumbered. Equal contents give equal profiles, whatever the
 * order of their making. Returns 0 or -ENOMEM.
 */
int profile_canonical(const struct profile *profile, struct profile **out);

/*
 * A name for a dictionary row (event, image, context, node) that means the same
 * in every file: a hash of its column names and contents, and of its parents'
 * names. Fills names[0..count-1], row by row. Returns 0 or -ENOMEM.
 */
int profile_stable_names(const struct profile *profile, enum profile_table table,
			 struct hash128 *names);

/* Slots of the rows that table_keys() and table_values() give; keys and values count separately. */
enum event_key { EVENT_NAME, EVENT_UNIT, EVENT_SCALE };
enum flat_key { FLAT_EVENT, FLAT_IMAGE, FLAT_VADDR, FLAT_NAME, FLAT_CONTEXT };
enum stack_key { STACK_EVENT, STACK_NODE, STACK_CONTEXT };
enum node_key { NODE_PARENT, NODE_KIND, NODE_IMAGE, NODE_VADDR, NODE_NAME };
enum cell_value { CELL_SAMPLES, CELL_ESTIMATE, CELL_SQUARES_LOW, CELL_SQUARES_HIGH };
enum counter_key { COUNTER_EVENT, COUNTER_CONTEXT };
enum strip_key { STRIP_SECOND, STRIP_EVENT, STRIP_CONTEXT };
enum bill_key { BILL_EVENT, BILL_CPU, BILL_ITEM };
enum path_key { PATH_IMAGE, PATH_PATH };
enum path_value { PATH_SEEN }; /* enum path_seen */
enum stash_key { STASH_IMAGE, STASH_KIND, STASH_FIRST, STASH_LAST, STASH_CONTENT };
enum edge_key {
	EDGE_EVENT,
	EDGE_CONTEXT,
	EDGE_ORIGIN,
	EDGE_FROM_IMAGE,
	EDGE_FROM_VADDR,
	EDGE_FROM_NAME,
	EDGE_TO_IMAGE,
	EDGE_TO_VADDR,
	EDGE_TO_NAME
};
enum range_key { RANGE_EVENT, RANGE_CONTEXT, RANGE_ORIGIN, RANGE_IMAGE, RANGE_FIRST, RANGE_LAST };
/* What a row of the table "value" counts, and what its bucket means. */
enum value_of {
	VALUE_LATENCY = 1,     /* of a memory access in cycles: bucket n holds 2^n to 2^(n+1) - 1 */
	VALUE_DATA_SOURCE = 2, /* where its data came from: union perf_mem_data_src */
	VALUE_CALLED = 3,      /* what the calls of an instruction cost, all they called included;
				  bucket 0 */
	/* Of a memory access too, in buckets as VALUE_LATENCY: all of the instruction's cycles,
	 * of which VALUE_LATENCY is the part in the memory (Power: until it finished); and those
	 * from then until it retired (Power: in one stage of the pipeline). Parts two and three of
	 * PERF_SAMPLE_WEIGHT_STRUCT. */
	VALUE_INSTRUCTION_LATENCY = 4,
	VALUE_RETIRE_LATENCY = 5,
};
enum value_key { VALUE_EVENT, VALUE_CONTEXT, VALUE_IMAGE, VALUE_VADDR, VALUE_KIND, VALUE_BUCKET };

static inline struct cell cell_of_values(const uint64_t *values)
{
	return (struct cell){ values[CELL_SAMPLES], values[CELL_ESTIMATE],
			      ((unsigned __int128)values[CELL_SQUARES_HIGH] << 64) |
				      values[CELL_SQUARES_LOW] };
}
