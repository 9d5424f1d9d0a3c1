/*
 * What import/importer.h promises of every format, on the seeds of its fuzz
 * target (their first byte is the target's own): however the bytes come, the
 * same comes of them; cut or changed anywhere they give a profile or one sentence.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/small_file.h"
#include "import/formats.h"
#include "support/imported.h"
#include "support/long_form.h"
#include "support/random_profile.h"

/* Of a kind and seed: every byte of a short one, so many of a long one. */
#define SHORT_SEED  256u
#define CHANGES_MAX (LONG_FORM ? 256 : 64)
#define SEED_BYTES  (1u << 20)

/* ---- memory that runs out (the linker puts these in place of the C library's) */

static size_t allocations;
static size_t failing; /* which one fails, from 1; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return ++allocations == failing ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return ++allocations == failing ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return ++allocations == failing ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return ++allocations == failing ? NULL : __real_reallocarray(old, count, size);
}

/* ---- what comes of a file */

struct outcome {
	int ret;
	struct error err;
	struct profile *profile;
	struct buffer said;
};

static void outcome_release(struct outcome *outcome)
{
	profile_free(outcome->profile);
	buffer_release(&outcome->said);
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;
	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

/* "at byte 7", "line 3"; of perf.data also "event 1" */
static bool names_a_place(const char *text)
{
	static const char *const places[] = { "byte ", "line ", "event ", "attribute " };
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		const char *found = strstr(text, places[i]);
		if (found && strchr("0123456789", found[strlen(places[i])]))
			return true;
	}
	return false;
}

/* One answer: a profile, or an error of those that the contract has, in one sentence. */
static void check(const struct outcome *outcome, bool force, const char *where)
{
	const char *text = outcome->err.text;
	const char *said = outcome->said.data ? (const char *)outcome->said.data : "";
	size_t faults = count_of(said, "what comes before is kept");
	if (faults > force)
		fail_msg("%s: %zu faults: %s", where, faults, said);
	if (count_of(said, "\n") != count_of(said, "warning: ") + count_of(said, "note: "))
		fail_msg("%s: no sentences: %s", where, said);
	if ((outcome->ret == 0) != (outcome->profile != NULL))
		fail_msg("%s: %d and %s", where, outcome->ret, outcome->profile ? "one" : "none");
	if (outcome->ret == 0)
		return;
	if (outcome->err.code != outcome->ret || !*text || strchr(text, '\n') ||
	    text[strlen(text) - 1] == '.' || text[strlen(text) - 1] == ' ')
		fail_msg("%s: %d, but %d '%s'", where, outcome->ret, outcome->err.code, text);
	if (outcome->ret == -EBADMSG && !force && names_a_place(text))
		return;
	if (outcome->ret != -EPROTO && outcome->ret != -EOVERFLOW && outcome->ret != -ENODATA)
		fail_msg("%s: %d '%s'", where, outcome->ret, text);
}

static struct outcome outcome_of(const struct importer *format, struct span bytes, size_t piece,
				 bool force, const char *where)
{
	struct outcome outcome = { 0 };
	const struct import_options options = { .force = force,
						.say = imported_say,
						.say_context = &outcome.said };
	outcome.ret = imported(format, bytes, piece, &options, &outcome.profile, &outcome.err);
	buffer_text(&outcome.said);
	check(&outcome, force, where);
	return outcome;
}

static void expect_same(const struct outcome *a, const struct outcome *b, const char *where)
{
	if (a->ret != b->ret)
		fail_msg("%s: %d or %d", where, a->ret, b->ret);
	if (a->ret < 0 && strcmp(a->err.text, b->err.text) != 0)
		fail_msg("%s: '%s' or '%s'", where, a->err.text, b->err.text);
	if (strcmp((const char *)a->said.data, (const char *)b->said.data) != 0)
		fail_msg("%s: said '%s' or '%s'", where, a->said.data, b->said.data);
	if (a->ret == 0 && !profiles_are_identical(a->profile, b->profile))
		fail_msg("%s: the profiles differ", where);
}

/* ---- what is done with a seed */

static size_t step_of(size_t size)
{
	return size <= SHORT_SEED ? 1 : size / CHANGES_MAX + 1;
}

static void pieces(const struct importer *format, struct span bytes, const char *name)
{
	static const size_t sizes[] = { 1, 7, 4096 };
	for (int force = 0; force < 2; force++) {
		CLEANUP(outcome_release)
		struct outcome whole = outcome_of(format, bytes, SIZE_MAX, force, name);
		for (size_t i = 0; i < COUNT_OF(sizes); i++) {
			CLEANUP(outcome_release)
			struct outcome parts = outcome_of(format, bytes, sizes[i], force, name);
			expect_same(&whole, &parts, name);
		}
	}
}

/* With force, a fault is what comes before it; all else is as without. */
static void damage(const struct importer *format, struct span bytes, const char *where)
{
	CLEANUP(outcome_release)
	struct outcome plain = outcome_of(format, bytes, 61, false, where);
	CLEANUP(outcome_release)
	struct outcome forced = outcome_of(format, bytes, SIZE_MAX, true, where);
	if (plain.ret == -EBADMSG && forced.ret == 0) {
		if (!strstr((const char *)forced.said.data, "warning: "))
			fail_msg("%s: no word of '%s'", where, plain.err.text);
	} else if (plain.ret == -EBADMSG) {
		if (forced.ret != -ENODATA && forced.ret != -EOVERFLOW)
			fail_msg("%s: %d, with force %d", where, plain.ret, forced.ret);
	} else {
		expect_same(&plain, &forced, where);
	}
}

static void cuts(const struct importer *format, struct span bytes, const char *name)
{
	for (size_t at = 0; at < bytes.size; at += step_of(bytes.size)) {
		char where[4200];
		snprintf(where, sizeof(where), "%s cut at %zu", name, at);
		damage(format, (struct span){ bytes.data, at }, where);
	}
}

static void changes(const struct importer *format, struct span bytes, const char *name)
{
	CLEANUP(free_pointer) uint8_t *copy = malloc(bytes.size);
	assert_non_null(copy);
	memcpy(copy, bytes.data, bytes.size);
	for (size_t at = 0; at < bytes.size; at += step_of(bytes.size))
		for (int all = 0; all < 2; all++) {
			char where[4200];
			uint8_t mask = all ? 0xff : (uint8_t)(1u << at % 8);
			snprintf(where, sizeof(where), "%s with byte %zu ^ %#x", name, at, mask);
			copy[at] ^= mask;
			damage(format, (struct span){ copy, bytes.size }, where);
			copy[at] ^= mask;
		}
}

static bool is_text(const struct importer *format)
{
	return format != &importer_perf_data && format != &importer_cpu_profile &&
	       format != &importer_pprof;
}

/* As an editor of Windows leaves a text: with a mark in front and "\r\n" behind lines. */
static void other_texts(const struct importer *format, struct span bytes, const char *name)
{
	CLEANUP(buffer_release) struct buffer other = { 0 };
	CLEANUP(outcome_release)
	struct outcome usual = outcome_of(format, bytes, SIZE_MAX, false, name);
	if (usual.ret < 0 || !is_text(format) || importer_find(bytes.data, bytes.size) != format)
		return;
	buffer_append_text(&other, "\xef\xbb\xbf");
	for (size_t i = 0; i < bytes.size; i++) {
		uint8_t c = ((const uint8_t *)bytes.data)[i];
		if (c == '\n' && other.data[other.size - 1] != '\r')
			buffer_append_u8(&other, '\r');
		buffer_append_u8(&other, c);
	}
	bytes = (struct span){ other.data, other.size };
	if (importer_find(bytes.data, bytes.size) != format)
		fail_msg("%s with a mark is not recognised", name);
	CLEANUP(outcome_release)
	struct outcome marked = outcome_of(format, bytes, 7, false, name);
	expect_same(&usual, &marked, name);
}

/* All of the profile, or no memory for it. */
static void failed_allocations(const struct importer *format, struct span bytes, const char *name)
{
	allocations = 0;
	CLEANUP(outcome_release)
	struct outcome whole = outcome_of(format, bytes, 4096, false, name);
	size_t count = allocations;
	for (size_t at = 1; at <= count && whole.ret == 0; at += step_of(count)) {
		const struct import_options options = { 0 };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		allocations = 0;
		failing = at;
		outcome.ret =
			imported(format, bytes, 4096, &options, &outcome.profile, &outcome.err);
		failing = 0;
		if (outcome.ret == -ENOMEM && outcome.err.text[0] && !outcome.profile)
			continue;
		if (outcome.ret < 0)
			fail_msg("%s without allocation %zu: %d '%s'", name, at, outcome.ret,
				 outcome.err.text);
		if (!outcome.profile || !profiles_are_identical(whole.profile, outcome.profile))
			fail_msg("%s without allocation %zu is not whole", name, at);
	}
}

/* ---- all seeds of all formats */

typedef void (*seed_test)(const struct importer *format, struct span bytes, const char *name);

/* "perf.data": "import_perf_data" */
static void folder_of(const struct importer *format, char *out, size_t size)
{
	int start = snprintf(out, size, "%s/import_", IMPORT_SEEDS);
	snprintf(out + start, size - (size_t)start, "%s", format->name);
	for (char *at = out + start; *at; at++)
		if (*at == '.' || *at == '-')
			*at = '_';
}

/* How many of the format's seeds give a profile. */
static size_t run_on_seeds(const struct importer *format, seed_test test)
{
	char folder[2048];
	size_t good = 0;
	folder_of(format, folder, sizeof(folder));
	DIR *entries = opendir(folder);
	if (!entries)
		fail_msg("no seeds of %s in '%s'", format->name, folder);
	for (struct dirent *entry; (entry = readdir(entries));) {
		char path[2400];
		CLEANUP(buffer_release) struct buffer seed = { 0 };
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		assert_int_equal(small_file_read(path, SEED_BYTES, &seed), 0);
		assert_true(seed.size > 0);
		struct span bytes = { seed.data + 1, seed.size - 1 };
		const char *name = strstr(path, "import_");
		test(format, bytes, name);
		CLEANUP(outcome_release)
		struct outcome whole = outcome_of(format, bytes, SIZE_MAX, false, name);
		good += whole.ret == 0 && importer_find(bytes.data, bytes.size) == format;
	}
	closedir(entries);
	return good;
}

static void run_on_all(seed_test test)
{
	for (size_t i = 0; importers[i]; i++)
		if (run_on_seeds(importers[i], test) == 0)
			fail_msg("no seed of %s is a whole one", importers[i]->name);
}

static void the_size_of_pieces_makes_no_difference(void **state)
{
	(void)state;
	run_on_all(pieces);
}

static void marks_and_line_ends_of_other_systems_make_no_difference(void **state)
{
	(void)state;
	run_on_all(other_texts);
}

static void without_memory_there_is_no_profile(void **state)
{
	(void)state;
	run_on_all(failed_allocations);
}

static void cut_anywhere_there_is_one_answer(void **state)
{
	(void)state;
	run_on_all(cuts);
}

static void changed_anywhere_there_is_one_answer(void **state)
{
	(void)state;
	run_on_all(changes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_of_pieces_makes_no_difference),
		cmocka_unit_test(marks_and_line_ends_of_other_systems_make_no_difference),
		cmocka_unit_test(without_memory_there_is_no_profile),
		cmocka_unit_test(cut_anywhere_there_is_one_answer),
		cmocka_unit_test(changed_anywhere_there_is_one_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
