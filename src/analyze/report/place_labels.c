#include "analyze/report/place_labels.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/chosen_samples.h"
#include "base/array.h"

struct place_chain {
	uint32_t start, count; /* count 0: not looked up yet */
};

void place_labels_release(struct place_labels *labels)
{
	free(labels->chains);
	free(labels->labels);
	*labels = (struct place_labels){ 0 };
}

static int look_up(struct place_labels *labels, uint32_t place, struct place_chain *chain)
{
	size_t count;
	const uint32_t *procedures = chosen_samples_chain(labels->report, place, &count);
	if (!procedures)
		return -ENOMEM;
	chain->start = (uint32_t)labels->count;
	for (size_t i = 0; i < count; i++) {
		int ret = array_reserve(&labels->labels, &labels->capacity, labels->count,
					sizeof(*labels->labels));
		if (ret < 0)
			return ret;
		uint32_t *label = &labels->labels[labels->count];
		*label = procedures[i];
		if (labels->label_of)
			ret = labels->label_of(labels->context, procedures[i], label);
		if (ret < 0)
			return ret;
		labels->count++;
	}
	chain->count = (uint32_t)count;
	return 0;
}

int place_labels_at(struct place_labels *labels, uint32_t place, const uint32_t **list,
		    size_t *count)
{
	int ret = array_reserve_zeroed(&labels->chains, &labels->chain_capacity, place,
				       sizeof(*labels->chains));
	if (ret == 0 && labels->chains[place].count == 0)
		ret = look_up(labels, place, &labels->chains[place]);
	if (ret < 0)
		return ret;
	*list = labels->labels + labels->chains[place].start;
	*count = labels->chains[place].count;
	return 0;
}
