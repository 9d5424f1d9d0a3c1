/*
 * callgrind_private - what the parts of the callgrind reader share; nobody else includes
 * it. callgrind.c reads costs and names, callgrind_header.c the lines "KEY: VALUE".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "import/callgrind/callgrind_events.h"
#include "import/callgrind/callgrind_places.h"
#include "import/importer.h"
#include "import/text/text_lines.h"

struct error;

/* Whether the line before was a call or a jump: then the next one has its position, and a call's
 * inclusive cost. */
enum waiting { WAITING_NOTHING, WAITING_CALL, WAITING_JUMP };

struct callgrind_reader {
	const struct import_options *options;
	struct profile *profile;
	struct text_lines lines;
	bool stopped; /* at a fault, with options->force: the rest is left alone */
	struct callgrind_events events;
	struct callgrind_places places;
	bool by_line; /* positions hold a line; places.by_instruction: an address, before it */
	struct callgrind_place here;
	struct callgrind_place target; /* of a call or a jump */
	enum waiting waiting;
	uint64_t count; /* of the call or the jump */
	uint64_t arcs;	/* of all calls and jumps */
	struct buffer command, creator, labels;
	uint32_t context;
	bool whole;	/* a totals line came after the last cost */
	bool versioned; /* the header says of which version it is */
};

/* callgrind.c: fills *err with the line that memory did not suffice for. -ENOMEM. */
int callgrind_out_of_memory(const struct callgrind_reader *reader, struct error *err);
/* A fault in the line that is read. With options->force 0, and the rest is not read; else
 * -EBADMSG. */
int callgrind_fault(struct callgrind_reader *reader, struct error *err, const char *what);

/* callgrind_header.c: a line "KEY: VALUE"; keys that are not known are passed over. 0 or an
 * importer's error. */
int callgrind_take_header(struct callgrind_reader *reader, struct span key, struct span value,
			  struct error *err);
