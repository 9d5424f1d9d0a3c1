#include "machine/topdown_encoding.h"

#include <stddef.h>

#include "base/count_of.h"
#include "machine/topdown_table.h"

struct field {
	const char *name;
	unsigned at, bits; /* of config */
};

#define FIELDS 6

static const struct {
	const char *name;
	struct field fields[FIELDS]; /* those without a name are none */
} encodings[] = {
	/* Intel SDM volume 3B, IA32_PERFEVTSELx */
	[TOPDOWN_ENCODING_INTEL] = { "intel",
				     { { "event", 0, 8 },
				       { "umask", 8, 8 },
				       { "edge", 18, 1 },
				       { "any", 21, 1 },
				       { "inv", 23, 1 },
				       { "cmask", 24, 8 } } },
	/* AMD APM volume 2, PERF_CTL */
	[TOPDOWN_ENCODING_AMD] = { "amd",
				   { { "event", 0, 12 },
				     { "umask", 8, 8 },
				     { "edge", 18, 1 },
				     { "inv", 23, 1 },
				     { "cmask", 24, 8 } } },
	/* Arm ARM, PMEVTYPER_EL0 */
	[TOPDOWN_ENCODING_ARM] = { "arm", { { "event", 0, 16 } } },
};

enum topdown_encoding topdown_encoding_named(struct span name)
{
	for (unsigned i = TOPDOWN_ENCODING_INTEL; i < COUNT_OF(encodings); i++)
		if (span_equal(name, span_of_text(encodings[i].name)))
			return (enum topdown_encoding)i;
	return TOPDOWN_ENCODING_UNKNOWN;
}

static bool add_term(enum topdown_encoding encoding, struct span term, uint64_t *config)
{
	struct span value = term, key = topdown_cut(&value, '=');
	uint64_t number;
	for (unsigned i = 0; i < FIELDS; i++) {
		const struct field *field = &encodings[encoding].fields[i];
		if (!field->name || !span_equal(key, span_of_text(field->name)))
			continue;
		if (!topdown_number(value, &number) || number >> field->bits)
			return false;
		/* AMD's event number has its upper four bits from 32 on. */
		if (encoding == TOPDOWN_ENCODING_AMD && field->bits == 12)
			number = (number & 0xff) | number >> 8 << 32;
		*config |= number << field->at;
		return true;
	}
	return false;
}

bool topdown_encode(enum topdown_encoding encoding, struct span terms, uint64_t *config,
		    struct span *wrong)
{
	*config = 0;
	while (terms.size) {
		*wrong = topdown_cut(&terms, ',');
		if (!add_term(encoding, *wrong, config))
			return false;
	}
	return true;
}
