#include "culprit/pfm.h"

#include "events/pfm_names.h"
#include "machine/culprit_names.h"

const struct culprit_names *culprit_pfm_names(void)
{
	static const struct culprit_names names = { CULPRIT_NAMES_SHAPE, &pfm_names };
	return &names;
}
