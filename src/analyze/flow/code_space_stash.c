#include "analyze/flow/code_space_stash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "profile/stash.h"

static_assert((int)CODE_ENTRY_JUMP == (int)ENTRY_JUMP, "kinds are those of records");
static_assert((int)CODE_ENTRY_LANDING == (int)ENTRY_LANDING, "kinds are those of records");
static_assert((int)CODE_ENTRY_POINTER == (int)ENTRY_POINTER, "kinds are those of records");

/* Records of code or data that overlap or touch. */
struct run {
	uint64_t first, last;
	size_t from, to; /* in `pieces` */
	uint8_t *bytes;	 /* of all pieces, made on demand; a single piece needs none */
};

/* The entries of one range that was queried. */
struct answer {
	uint64_t first, last;
	struct code_entry *entries;
	size_t count;
};

struct code_space_stash {
	struct code_space space;
	const struct stash_index *index;
	uint32_t image;
	const struct record **pieces; /* by first */
	size_t piece_count;
	struct run *runs; /* by first, disjoint */
	size_t run_count;
	uint64_t *reach; /* the highest last of the records of entries up to here */
	size_t entries_count;
	struct answer *answers;
	size_t answer_count, answer_capacity;
	struct hash_index answer_index;
};

/* ---- Functions */

static struct code_function function_of(const struct stash_function *found)
{
	const struct function_record *record = &found->function;
	return (struct code_function){ .first = found->first,
				       .last = found->last,
				       .is_stub = (record->flags & FUNCTION_PLT) != 0,
				       .is_cold = (record->flags & FUNCTION_COLD) != 0,
				       .parent = record->parent,
				       .name = record->name };
}

static bool find_function(void *context, uint64_t vaddr, struct code_function *out)
{
	const struct code_space_stash *stash = context;
	struct stash_function found;
	if (!stash_find_function(stash->index, stash->image, vaddr, &found))
		return false;
	*out = function_of(&found);
	return true;
}

static bool find_cold_part(void *context, uint64_t first, struct code_function *out)
{
	const struct code_space_stash *stash = context;
	struct stash_function found;
	if (!stash_find_cold(stash->index, stash->image, first, &found))
		return false;
	*out = function_of(&found);
	return true;
}

/* ---- Bytes */

static struct span piece_bytes(const struct record *piece)
{
	struct span bytes = { NULL, 0 };
	bool read = piece->kind == RECORD_CODE ? record_get_code(piece, &bytes)
					       : record_get_data(piece, &bytes);
	return read ? bytes : (struct span){ NULL, 0 };
}

static const struct record *record_at(const struct code_space_stash *stash, enum record_kind kind,
				      size_t number)
{
	return stash_record(stash->index, stash->image, kind, number);
}

/* Code and data in one list, by first: each comes in that order. */
static int list_pieces(struct code_space_stash *stash)
{
	size_t code_count = stash_record_count(stash->index, stash->image, RECORD_CODE);
	size_t data_count = stash_record_count(stash->index, stash->image, RECORD_DATA);
	size_t count = code_count + data_count;
	stash->pieces = calloc(count ? count : 1, sizeof(*stash->pieces));
	stash->runs = calloc(count ? count : 1, sizeof(*stash->runs));
	if (!stash->pieces || !stash->runs)
		return -ENOMEM;
	for (size_t code = 0, data = 0; code < code_count || data < data_count;) {
		const struct record *left =
			code < code_count ? record_at(stash, RECORD_CODE, code) : NULL;
		const struct record *right =
			data < data_count ? record_at(stash, RECORD_DATA, data) : NULL;
		bool take_code = left && (!right || left->first <= right->first);
		stash->pieces[stash->piece_count++] = take_code ? left : right;
		code += take_code;
		data += !take_code;
	}
	return 0;
}

static void list_runs(struct code_space_stash *stash)
{
	struct run *run = NULL;
	for (size_t i = 0; i < stash->piece_count; i++) {
		const struct record *piece = stash->pieces[i];
		if (!run || (piece->first > run->last && piece->first - run->last > 1)) {
			run = &stash->runs[stash->run_count++];
			*run = (struct run){ piece->first, piece->last, i, i, NULL };
		}
		if (piece->last > run->last)
			run->last = piece->last;
		run->to = i + 1;
	}
}

static const uint8_t *run_bytes(struct code_space_stash *stash, struct run *run)
{
	const struct record *first = stash->pieces[run->from];
	if (first->last == run->last)
		return piece_bytes(first).data;
	if (run->bytes)
		return run->bytes;
	/* the pieces leave no gap, so this is no more than they have together */
	run->bytes = malloc(run->last - run->first + 1);
	for (size_t i = run->from; run->bytes && i < run->to; i++) {
		struct span bytes = piece_bytes(stash->pieces[i]);
		memcpy(run->bytes + (stash->pieces[i]->first - run->first), bytes.data, bytes.size);
	}
	return run->bytes;
}

static struct span find_bytes(void *context, uint64_t vaddr, size_t size)
{
	struct code_space_stash *stash = context;
	size_t next = SORTED_BEHIND(stash->runs, stash->run_count, first, vaddr);
	struct run *run = next ? &stash->runs[next - 1] : NULL;
	const uint8_t *bytes = run && run->last >= vaddr && size ? run_bytes(stash, run) : NULL;
	if (!bytes)
		return (struct span){ NULL, 0 };
	uint64_t behind = run->last - vaddr; /* bytes behind this one */
	return (struct span){ bytes + (vaddr - run->first), behind < size - 1 ? behind + 1 : size };
}

/* ---- Entries */

static int find_reach(struct code_space_stash *stash)
{
	uint64_t reach = 0;
	stash->entries_count = stash_record_count(stash->index, stash->image, RECORD_ENTRIES);
	stash->reach = calloc(stash->entries_count ? stash->entries_count : 1, sizeof(uint64_t));
	if (!stash->reach)
		return -ENOMEM;
	for (size_t i = 0; i < stash->entries_count; i++) {
		const struct record *record = record_at(stash, RECORD_ENTRIES, i);
		reach = record->last > reach ? record->last : reach;
		stash->reach[i] = reach;
	}
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct code_entry *left = a;
	const struct code_entry *right = b;
	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

static int add_entries(const struct record *record, size_t *capacity, struct answer *answer)
{
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	while (record_next_entry(record, &cursor, &place)) {
		if (place.vaddr <= answer->first || place.vaddr > answer->last ||
		    place.kind > ENTRY_POINTER)
			continue;
		if (array_reserve(&answer->entries, capacity, answer->count,
				  sizeof(*answer->entries)) < 0)
			return -ENOMEM;
		answer->entries[answer->count++] =
			(struct code_entry){ place.vaddr, (enum code_entry_kind)place.kind };
	}
	return 0;
}

static int collect_entries(const struct code_space_stash *stash, struct answer *answer)
{
	size_t low = 0;
	size_t high = stash->entries_count;
	size_t capacity = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stash->reach[middle] < answer->first)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < stash->entries_count; low++) {
		const struct record *record = record_at(stash, RECORD_ENTRIES, low);
		if (record->first > answer->last)
			break;
		if (record->last >= answer->first && add_entries(record, &capacity, answer) < 0)
			return -ENOMEM;
	}
	if (answer->count == 0)
		return 0;
	qsort(answer->entries, answer->count, sizeof(*answer->entries), compare_entries);
	size_t kept = 1;
	for (size_t i = 1; i < answer->count; i++)
		if (compare_entries(&answer->entries[i], &answer->entries[kept - 1]) != 0)
			answer->entries[kept++] = answer->entries[i];
	answer->count = kept;
	return 0;
}

static bool same_range(const void *rows, uint32_t position, const void *wanted)
{
	const struct answer *answer = &((const struct answer *)rows)[position];
	const struct answer *other = wanted;
	return answer->first == other->first && answer->last == other->last;
}

static const struct code_entry *find_entries(void *context, uint64_t first, uint64_t last,
					     size_t *count)
{
	struct code_space_stash *stash = context;
	struct answer answer = { .first = first, .last = last };
	uint64_t range[] = { first, last };
	uint64_t hash = hash_bytes(range, sizeof(range));
	uint32_t known =
		hash_index_find(&stash->answer_index, hash, same_range, stash->answers, &answer);
	*count = 0;
	if (known == HASH_INDEX_NONE) {
		if (array_reserve(&stash->answers, &stash->answer_capacity, stash->answer_count,
				  sizeof(*stash->answers)) < 0 ||
		    collect_entries(stash, &answer) < 0 ||
		    hash_index_add(&stash->answer_index, hash, (uint32_t)stash->answer_count) < 0) {
			free(answer.entries);
			return NULL;
		}
		known = (uint32_t)stash->answer_count;
		stash->answers[stash->answer_count++] = answer;
	}
	*count = stash->answers[known].count;
	return stash->answers[known].entries;
}

/* ---- Callees */

static struct span find_callee(void *context, uint64_t target)
{
	const struct code_space_stash *stash = context;
	struct span name = { NULL, 0 };
	size_t low = 0;
	size_t high = stash_record_count(stash->index, stash->image, RECORD_CALLEE);
	size_t count = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (record_at(stash, RECORD_CALLEE, middle)->first < target)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && record_at(stash, RECORD_CALLEE, low)->first == target &&
	    record_get_callee(record_at(stash, RECORD_CALLEE, low), &name))
		return name;
	struct stash_function found;
	if (stash_find_function(stash->index, stash->image, target, &found) &&
	    found.first == target && found.function.name.size)
		return found.function.name;
	return (struct span){ NULL, 0 };
}

/* ---- */

int code_space_stash_new(const struct stash_index *index, uint32_t image, enum isa isa,
			 struct code_space_stash **out)
{
	CLEANUP(code_space_stash_freep)
	struct code_space_stash *stash = calloc(1, sizeof(*stash));
	if (!stash)
		return -ENOMEM;
	stash->index = index;
	stash->image = image;
	stash->space = (struct code_space){ .isa = isa,
					    .context = stash,
					    .function = find_function,
					    .cold_part = find_cold_part,
					    .bytes = find_bytes,
					    .entries = find_entries,
					    .callee = find_callee };
	if (list_pieces(stash) < 0 || find_reach(stash) < 0)
		return -ENOMEM;
	list_runs(stash);
	*out = stash;
	stash = NULL; /* the caller's from here on */
	return 0;
}

void code_space_stash_free(struct code_space_stash *stash)
{
	if (!stash)
		return;
	for (size_t i = 0; i < stash->run_count; i++)
		free(stash->runs[i].bytes);
	for (size_t i = 0; i < stash->answer_count; i++)
		free(stash->answers[i].entries);
	free(stash->pieces);
	free(stash->runs);
	free(stash->reach);
	free(stash->answers);
	hash_index_release(&stash->answer_index);
	free(stash);
}

void code_space_stash_freep(struct code_space_stash **stash)
{
	code_space_stash_free(*stash);
}

const struct code_space *code_space_of_stash(const struct code_space_stash *stash)
{
	return &stash->space;
}
