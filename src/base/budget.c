#include "base/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/sum.h"

/*
 * Nothing here allocates: it is called from malloc(). What was allocated before a
 * budget was opened and is freed later counts as returned; that is little, for a
 * verb opens its budget before it reads anything.
 */
bool budget_counts;

#define INLINE_BYTES	    4096
#define RESERVE_BYTES	    (1u << 20) /* to say that something was refused */
#define CONTENT_PIECE_BYTES 512	       /* the smallest page of a profile */

static struct budget_limits limits;
static char input[256]; /* its name, or the end of it */
static const char *place;
static uint64_t place_number;
static uint64_t read_bytes;	/* of files, as they are stored: packed */
static uint64_t profile_bytes;	/* of read_bytes: those of our own profiles */
static uint64_t unpacked_bytes; /* that came out of them */
static uint64_t granted_bytes;	/* that count in addition: budget_grant() */
static uint64_t local_bytes;	/* of this machine's files, as far as they count */
static uint64_t window_bytes;
static uint64_t written_bytes;
static _Atomic int64_t held_bytes, peak_bytes;
static _Atomic bool refused;
static const char *refused_limit;
static char sentence[768];

void budget_open(const struct budget_limits *chosen)
{
	if (budget_counts)
		return;
	budget_close();
	limits = *chosen;
	budget_counts = true;
}

bool budget_is_open(void)
{
	return budget_counts;
}

void budget_close(void)
{
	budget_counts = false;
	place = refused_limit = NULL;
	input[0] = 0;
	granted_bytes = read_bytes = profile_bytes = unpacked_bytes = local_bytes = window_bytes =
		written_bytes = 0;
	held_bytes = peak_bytes = 0;
	refused = false;
}

void budget_input(const char *name)
{
	size_t length = strlen(name);
	snprintf(input, sizeof(input), "%s",
		 length < sizeof(input) ? name : name + length - (sizeof(input) - 1));
	place = NULL;
}

void budget_place(const char *what, uint64_t number)
{
	place = what;
	place_number = number;
}

static uint64_t saturating_product(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void budget_read(uint64_t bytes)
{
	read_bytes = sum_u64(read_bytes, bytes);
}

void budget_read_profile(uint64_t bytes)
{
	read_bytes = sum_u64(read_bytes, bytes);
	profile_bytes = sum_u64(profile_bytes, bytes);
}

uint64_t budget_file_bytes(const struct stat *file)
{
	uint64_t size = file->st_size > 0 ? (uint64_t)file->st_size : 0;
	uint64_t stored = (uint64_t)file->st_blocks * 512;
	/* A few file systems keep small files beside their names. */
	uint64_t least = size < INLINE_BYTES ? size : INLINE_BYTES;
	return stored < least ? least : stored < size ? stored : size;
}

static bool is_empty(const uint8_t *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

uint64_t budget_content_bytes(const void *bytes, size_t size)
{
	uint64_t total = 0;
	for (size_t at = 0; at < size; at += CONTENT_PIECE_BYTES) {
		size_t piece = size - at < CONTENT_PIECE_BYTES ? size - at : CONTENT_PIECE_BYTES;
		total += is_empty((const uint8_t *)bytes + at, piece) ? 0 : piece;
	}
	return total;
}

void budget_read_local(uint64_t file_bytes, uint64_t came_bytes)
{
	uint64_t most = saturating_product(came_bytes, BUDGET_ANSWER_RATIO);
	uint64_t left = BUDGET_LOCAL_BYTES - local_bytes;
	if (file_bytes > most)
		file_bytes = most;
	local_bytes += file_bytes < left ? file_bytes : left;
}

void budget_grant(uint64_t bytes)
{
	granted_bytes = sum_u64(granted_bytes, bytes);
}

void budget_unpacked(uint64_t bytes)
{
	unpacked_bytes = sum_u64(unpacked_bytes, bytes);
}

void budget_window(uint64_t bytes)
{
	window_bytes = bytes;
}

/* The bytes that raise limits: those that were read, weighted as BUDGET_*_RATIO say. */
static uint64_t counted_bytes(void)
{
	uint64_t foreign = read_bytes - profile_bytes;
	uint64_t most = saturating_product(foreign, BUDGET_PACKED_RATIO);
	uint64_t unpacked = unpacked_bytes < most ? unpacked_bytes : most;
	uint64_t most_of = unpacked > foreign ? unpacked : foreign;
	return sum_u64(sum_u64(most_of, granted_bytes),
		       saturating_product(profile_bytes, BUDGET_PROFILE_RATIO));
}

static uint64_t allowance(uint64_t base, uint64_t bytes, uint64_t ratio)
{
	return sum_u64(base, saturating_product(bytes, ratio));
}

uint64_t budget_memory_limit_bytes(void)
{
	uint64_t counted = sum_u64(counted_bytes(), local_bytes);
	uint64_t allowed = allowance(limits.memory_bytes, counted, BUDGET_MEMORY_RATIO);
	if (window_bytes > unpacked_bytes)
		allowed = sum_u64(allowed, window_bytes - unpacked_bytes);
	return refused ? sum_u64(allowed, RESERVE_BYTES) : allowed;
}

/* "67108864 bytes" or "64.1 MiB". */
static const char *size_text(char *text, size_t size, uint64_t bytes)
{
	if (bytes < 1u << 20)
		snprintf(text, size, "%" PRIu64 " bytes", bytes);
	else
		snprintf(text, size, "%.1f MiB", (double)bytes / (1 << 20));
	return text;
}

/* Once; later refusals follow from the first. `what` begins behind the input's name. */
static void refuse(const char *limit, const char *what)
{
	if (atomic_exchange(&refused, true))
		return;
	char at[96] = "";
	if (place)
		snprintf(at, sizeof(at), " at %s %" PRIu64, place, place_number);
	refused_limit = limit;
	snprintf(sentence, sizeof(sentence), "%s%s%s%s%s", *input ? "'" : "",
		 *input ? input : "this", *input ? "'" : "", at, what);
}

static void refuse_bytes(const char *limit, const char *needs, uint64_t allowed)
{
	char most[32], file[32], what[256];
	snprintf(what, sizeof(what), " needs more than %s of %s, the limit for %s that were read",
		 size_text(most, sizeof(most), allowed), needs,
		 size_text(file, sizeof(file), read_bytes));
	refuse(limit, what);
}

bool budget_take_memory(uint64_t bytes)
{
	int64_t held =
		atomic_fetch_add_explicit(&held_bytes, (int64_t)bytes, memory_order_relaxed) +
		(int64_t)bytes;
	if (held <= peak_bytes)
		return true;
	uint64_t allowed = budget_memory_limit_bytes();
	if (held > 0 && (uint64_t)held > allowed) {
		budget_return_memory(bytes);
		refuse_bytes("memory", "memory", allowed);
		return false;
	}
	peak_bytes = held; /* where two threads race, either value is near enough */
	return true;
}

void budget_return_memory(uint64_t bytes)
{
	atomic_fetch_sub_explicit(&held_bytes, (int64_t)bytes, memory_order_relaxed);
}

/* The peak stays as it is, so that the next allocation is compared with the limit. */
void budget_charge_memory(uint64_t bytes)
{
	atomic_fetch_add_explicit(&held_bytes, (int64_t)bytes, memory_order_relaxed);
}

uint64_t budget_peak_bytes(void)
{
	return peak_bytes > 0 ? (uint64_t)peak_bytes : 0;
}

static int refusal_error(struct error *err)
{
	return error_set(err, -EFBIG, "%s", sentence);
}

int budget_take_output(uint64_t bytes, struct error *err)
{
	if (!budget_counts)
		return 0;
	written_bytes = sum_u64(written_bytes, bytes);
	uint64_t allowed = allowance(limits.output_bytes, read_bytes, BUDGET_OUTPUT_RATIO);
	if (written_bytes <= allowed)
		return 0;
	refuse_bytes("output", "output", allowed);
	return refusal_error(err);
}

int budget_check_depth(uint64_t frames, struct error *err)
{
	char what[96];
	if (!budget_counts || frames <= limits.depth)
		return 0;
	snprintf(what, sizeof(what), " has a stack of more than %" PRIu64 " frames, the limit",
		 limits.depth);
	refuse("depth", what);
	return refusal_error(err);
}

int budget_check_frames(uint64_t frames, struct error *err)
{
	char what[128];
	if (!budget_counts)
		return 0;
	uint64_t allowed = allowance(limits.frames, counted_bytes(), BUDGET_FRAMES_RATIO);
	if (frames <= allowed)
		return 0;
	snprintf(what, sizeof(what),
		 " has stacks of more than %" PRIu64 " frames in all, the limit for its size",
		 allowed);
	refuse("frames", what);
	return refusal_error(err);
}

int budget_check_name(uint64_t bytes, struct error *err)
{
	char what[96];
	if (!budget_counts || bytes <= limits.name_bytes)
		return 0;
	snprintf(what, sizeof(what), " has a name of more than %" PRIu64 " bytes, the limit",
		 limits.name_bytes);
	refuse("name", what);
	return refusal_error(err);
}

const char *budget_refusal(void)
{
	return refused ? sentence : NULL;
}

const char *budget_refused_limit(void)
{
	return refused ? refused_limit : NULL;
}

static const struct limit {
	const char *name;
	size_t offset;
	bool in_bytes;
} table[] = {
	{ "memory", offsetof(struct budget_limits, memory_bytes), true },
	{ "output", offsetof(struct budget_limits, output_bytes), true },
	{ "depth", offsetof(struct budget_limits, depth), false },
	{ "frames", offsetof(struct budget_limits, frames), false },
	{ "name", offsetof(struct budget_limits, name_bytes), true },
};

static const struct limit *limit_find(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
			return &table[i];
	return NULL;
}

uint64_t *budget_limit_named(struct budget_limits *chosen, const char *name, size_t length)
{
	const struct limit *limit = limit_find(name, length);
	return limit ? (uint64_t *)((char *)chosen + limit->offset) : NULL;
}

bool budget_limit_in_bytes(const char *name)
{
	const struct limit *limit = limit_find(name, strlen(name));
	return limit && limit->in_bytes;
}
