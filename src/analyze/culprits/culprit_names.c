#include "analyze/culprits/culprits.h"

struct name {
	const char *text, *key;
	char letter;
};

static const struct name statics[STATIC_CAUSES] = {
	[STATIC_NONE] = { "none", "none", ' ' },
	[STATIC_SLOTTING] = { "slotting", "slotting", 's' },
	[STATIC_RA] = { "Ra dependency (a value)", "ra_dependency", 'a' },
	[STATIC_RB] = { "Rb dependency (an address)", "rb_dependency", 'b' },
	[STATIC_RC] = { "Rc dependency (flags)", "rc_dependency", 'c' },
	[STATIC_UNIT] = { "unit busy", "unit_busy", 'u' },
};

static const struct name dynamics[DYNAMIC_CAUSES] = {
	[DYNAMIC_ICACHE] = { "I-cache miss", "icache_miss", 'i' },
	[DYNAMIC_ITLB] = { "ITLB miss", "itlb_miss", 'I' },
	[DYNAMIC_DCACHE] = { "D-cache miss", "dcache_miss", 'd' },
	[DYNAMIC_DTLB] = { "DTLB miss", "dtlb_miss", 'D' },
	[DYNAMIC_WRITE_BUFFER] = { "write buffer", "write_buffer", 'w' },
	[DYNAMIC_SYNCHRONISATION] = { "synchronisation", "synchronisation", 'y' },
	[DYNAMIC_MISPREDICT] = { "branch mispredict", "branch_mispredict", 'p' },
	[DYNAMIC_MULTIPLY] = { "multiplier busy", "multiplier_busy", 'm' },
	[DYNAMIC_DIVIDE] = { "divider busy", "divider_busy", 'f' },
	[DYNAMIC_CHAIN] = { "operand chain", "operand_chain", 'o' },
	[DYNAMIC_OTHER] = { "other", "other", '?' },
};

const char *static_cause_text(enum static_cause cause)
{
	return statics[cause].text;
}

const char *dynamic_cause_text(enum dynamic_cause cause)
{
	return dynamics[cause].text;
}

const char *static_cause_key(enum static_cause cause)
{
	return statics[cause].key;
}

const char *dynamic_cause_key(enum dynamic_cause cause)
{
	return dynamics[cause].key;
}

char static_cause_letter(enum static_cause cause)
{
	return statics[cause].letter;
}

char dynamic_cause_letter(enum dynamic_cause cause)
{
	return dynamics[cause].letter;
}
