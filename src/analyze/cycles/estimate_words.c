#include "analyze/cycles/estimate_words.h"

/* Without a default each: the compiler tells of a value that has no word. */

const char *frequency_confidence_word(enum frequency_confidence confidence)
{
	switch (confidence) {
	case FREQUENCY_LOW:
		return "low";
	case FREQUENCY_MEDIUM:
		return "medium";
	case FREQUENCY_HIGH:
		return "high";
	}
	return NULL;
}

const char *frequency_source_word(enum frequency_source source)
{
	switch (source) {
	case FREQUENCY_UNKNOWN:
		return NULL;
	case FREQUENCY_CLUSTER:
		return "cluster";
	case FREQUENCY_SUM:
		return "sum";
	case FREQUENCY_PROPAGATED:
		return "propagated";
	case FREQUENCY_LIKELIHOOD:
		return "likelihood";
	case FREQUENCY_POSTERIOR:
		return "posterior";
	case FREQUENCY_COUNTED:
		return "counted";
	}
	return NULL;
}

const char *frequency_model_word(enum frequency_model model)
{
	switch (model) {
	case FREQUENCY_CYCLES_IN_ORDER:
		return "cycles_in_order";
	case FREQUENCY_EXECUTIONS:
		return "executions";
	case FREQUENCY_CYCLES_OUT_OF_ORDER:
		return "cycles_out_of_order";
	case FREQUENCY_COUNTS:
		return "counts";
	}
	return NULL;
}

const char *cycles_scale_word(enum cycles_scale scale)
{
	switch (scale) {
	case CYCLES_RELATIVE:
		return "relative";
	case CYCLES_PROGRAM:
		return "program";
	case CYCLES_BY_CLOCK:
		return "by_clock";
	case CYCLES_ABSOLUTE:
		return "absolute";
	}
	return NULL;
}
