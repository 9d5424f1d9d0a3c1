#include "collect/added.h"

#include "machine/perf_record.h"

struct span added_to(const struct perf_record *record, struct span attached,
		     const struct perf_layout *layout)
{
	struct perf_record added;
	const struct span none = { 0 };
	if (!attached.size ||
	    perf_record_decode(attached.data, attached.size, layout, &added) < 0 ||
	    added.type != PERF_RECORD_SAMPLE || added.sample.ip != record->sample.ip ||
	    added.identity.tid != record->identity.tid)
		return none;
	return added.sample.raw;
}
