/*
 * database_care - what tests of pruning, compacting and copying databases have in common. Whatever
 * fails ends the test.
 */
#pragma once

#include <stddef.h>

#include "store/database.h"
#include "store/database_compact.h"
#include "store/database_prune.h"
#include "unit/store/made_database.h"

#define CARE_HOUR_NS (3600 * MADE_SECOND_NS)
#define CARE_DAY_NS  (24 * CARE_HOUR_NS)

struct profile;

/* Runs a command of the shell, which must succeed. */
__attribute__((format(printf, 1, 2))) void care_shell(const char *format, ...);

/* Epochs of an hour's distance, from hour `first` of 2026 on. */
void care_record_hours(const char *database, const char *host, unsigned first, unsigned count,
		       const char *label);
/* An epoch with record `number` of one program's code. */
void care_record_code(const char *database, unsigned number);

/* Notes of what is below. */
extern unsigned care_noted;
extern char care_last_note[1024];
void care_hear(void *context, const char *sentence);
extern const struct database_selection care_all_aloud;

struct database_pruned care_prune(const char *database, struct database_retention retention);
/* All days are old. */
struct database_compacted care_compact(const char *database);

void care_assert_same(const char *database, const struct profile *wanted);
size_t care_records_in(const char *database); /* of code */
unsigned care_packs_in(const char *database);
