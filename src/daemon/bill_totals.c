#include "daemon/bill_totals.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/count_of.h"
#include "base/sum.h"
#include "profile/bill.h"
#include "profile/profile.h"

enum bill_rows { OF_EVENTS, OF_ALL };

/* Where the amount of an item goes. */
static const struct {
	const char *item;
	bool prefix;
	enum bill_rows rows;
	size_t offset;
} items[] = {
	{ BILL_STORED, false, OF_EVENTS, offsetof(struct bill_totals, stored) },
	{ BILL_APART_STORED, false, OF_EVENTS, offsetof(struct bill_totals, apart_stored) },
	{ BILL_UNKNOWN_PREFIX, true, OF_EVENTS, offsetof(struct bill_totals, unknown) },
	{ BILL_LOST_RING, false, OF_EVENTS, offsetof(struct bill_totals, lost_ring) },
	{ BILL_APART_LOST_RING, false, OF_EVENTS, offsetof(struct bill_totals, lost_ring) },
	{ BILL_LOST_TABLE, false, OF_EVENTS, offsetof(struct bill_totals, lost_table) },
	{ BILL_LOST_DAMAGED, false, OF_EVENTS, offsetof(struct bill_totals, lost_damaged) },
	{ BILL_APART_LOST_DAMAGED, false, OF_EVENTS, offsetof(struct bill_totals, lost_damaged) },
	{ BILL_LOST_SKIPPED, false, OF_EVENTS, offsetof(struct bill_totals, lost_skipped) },
	{ BILL_THROTTLED, false, OF_EVENTS, offsetof(struct bill_totals, throttled) },
	{ BILL_APART_THROTTLED, false, OF_EVENTS, offsetof(struct bill_totals, throttled) },
	{ BILL_LOST_SIDEBAND, false, OF_ALL, offsetof(struct bill_totals, lost_sideband) },
	{ BILL_SELF_CPU_NS, false, OF_ALL, offsetof(struct bill_totals, self_cpu_ns) },
	{ BILL_INTERRUPT_NS, false, OF_ALL, offsetof(struct bill_totals, interrupt_ns) },
	{ BILL_TIMED_HITS, false, OF_ALL, offsetof(struct bill_totals, timed_hits) },
	{ BILL_TIMED_HIT_NS, false, OF_ALL, offsetof(struct bill_totals, timed_hit_ns) },
	{ BILL_TIMED_MISSES, false, OF_ALL, offsetof(struct bill_totals, timed_misses) },
	{ BILL_TIMED_MISS_NS, false, OF_ALL, offsetof(struct bill_totals, timed_miss_ns) },
	{ BILL_TIMED_STACKS, false, OF_ALL, offsetof(struct bill_totals, timed_stacks) },
	{ BILL_TIMED_STACK_NS, false, OF_ALL, offsetof(struct bill_totals, timed_stack_ns) },
	{ BILL_RING_BYTES, false, OF_ALL, offsetof(struct bill_totals, ring_bytes) },
	{ BILL_ONLINE_NS, false, OF_ALL, offsetof(struct bill_totals, online_ns) },
	{ BILL_BUSY_NS, false, OF_ALL, offsetof(struct bill_totals, busy_ns) },
};

static uint64_t *field(struct bill_totals *totals, size_t offset)
{
	return (uint64_t *)((char *)totals + offset);
}

static bool names(size_t item, struct span text)
{
	size_t length = strlen(items[item].item);
	if (items[item].prefix ? text.size < length : text.size != length)
		return false;
	return memcmp(text.data, items[item].item, length) == 0;
}

void bill_totals_add(struct bill_totals *totals, const struct profile *profile)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		struct span text = profile_bytes(profile, keys[BILL_ITEM]);
		for (size_t i = 0; i < COUNT_OF(items); i++)
			if ((items[i].rows == OF_ALL || keys[BILL_EVENT]) && names(i, text))
				sum_add(field(totals, items[i].offset), table_values(bill, row)[0]);
	}
}

void bill_totals_join(struct bill_totals *totals, const struct bill_totals *more)
{
	const uint64_t *amounts = (const uint64_t *)more;
	for (size_t i = 0; i < sizeof(*totals) / sizeof(uint64_t); i++)
		sum_add((uint64_t *)totals + i, amounts[i]);
}
