/*
 * topdown_table - lines of the tables of data/topdown (README.md there), and which processors a
 * table is for. Internal to src/machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum topdown_core {
	TOPDOWN_CORE_UNKNOWN, /* of the machine's core type */
	TOPDOWN_CORE_BIG,
	TOPDOWN_CORE_ATOM,
	TOPDOWN_CORE_LOW_POWER,
};

/* What decides on the method. */
struct topdown_cpu {
	bool arm;
	char vendor[16]; /* of x86: "GenuineIntel" */
	/* x86: family, model. Arm: implementer, part. */
	uint64_t family, model;
	uint64_t revision; /* Arm: variant in bits 7-4, revision in 3-0, of MIDR_EL1 */
	enum topdown_core core;
};

struct topdown_match {
	struct topdown_cpu cpu; /* core unknown: on any */
	uint64_t last_model;	/* the first is cpu.model */
	uint64_t last_revision; /* the first is cpu.revision */
};

enum topdown_fit {
	TOPDOWN_NO_FIT,
	TOPDOWN_FITS,
	TOPDOWN_NEEDS_CORE /* which core type is not known */
};

struct topdown_line {
	struct span key, value, source;
};

/* Cuts the next line that is no comment off the front of *text, and counts lines in *number; false
 * at the end. What a line lacks is empty. */
bool topdown_line_take(struct span *text, size_t *number, struct topdown_line *line);
/* Cuts the part before `end`, and `end`, off the front of *text; all of it without an `end`. */
struct span topdown_cut(struct span *text, char end);
/* Cuts the next word off the front of *text; empty at the end. */
struct span topdown_word(struct span *text);
/* Cuts `prefix` off the front of *text; false when it does not begin so. */
bool topdown_skip(struct span *text, const char *prefix);
/* The whole of `text` as a number, "0x.." or decimal. */
bool topdown_number(struct span text, uint64_t *value);

/* The values of match.x86 and match.arm. */
bool topdown_match_x86(struct span value, struct topdown_match *match);
bool topdown_match_arm(struct span value, struct topdown_match *match);
/* The best fit of the table's match lines; lines that make no sense fit nothing. */
enum topdown_fit topdown_table_fit(struct span text, const struct topdown_cpu *cpu);
/* The value of the first line with that key, empty without one. */
struct span topdown_table_value(struct span text, const char *key);
