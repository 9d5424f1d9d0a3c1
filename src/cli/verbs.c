#include "cli/verbs.h"

#include <stddef.h>

const struct verb *const verbs[] = {
	&verb_import,
	&verb_completion,
	NULL,
};
