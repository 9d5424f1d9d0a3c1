#include "profile/bill.h"

#include <stdio.h>

#include "base/sum.h"
#include "profile/profile.h"

bool bill_sum(const struct profile *profile, const char *item, uint64_t *sum)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	const struct span wanted = span_of_text(item);
	bool any = false;
	*sum = 0;
	for (size_t row = 0; row < bill->count; row++) {
		if (!span_equal(profile_bytes(profile, table_keys(bill, row)[BILL_ITEM]), wanted))
			continue;
		any = true;
		sum_add(sum, table_values(bill, row)[0]);
	}
	return any;
}

int bill_add_unknown(struct profile *profile, uint32_t event, uint64_t optional_cpu,
		     const uint64_t samples[UNKNOWN_CAUSES])
{
	int ret = 0;
	for (int cause = UNKNOWN_NONE + 1; cause < UNKNOWN_CAUSES && ret == 0; cause++) {
		/* The commonest cause says, by being 0, that unknown samples are counted. */
		if (!samples[cause] && cause != UNKNOWN_NO_MAPPING)
			continue;
		char item[96];
		snprintf(item, sizeof(item), BILL_UNKNOWN_PREFIX "%s", unknown_texts[cause]);
		for (char *at = item; *at; at++)
			if (*at == ' ')
				*at = '_';
		ret = profile_add_bill(profile, event, optional_cpu, item, samples[cause]);
	}
	return ret;
}
