/*
 * estimate_words - what an estimate's confidence, source, model and scale are called, in text
 * and as values of JSON.
 */
#pragma once

#include "analyze/cycles/cycles.h"

const char *frequency_confidence_word(enum frequency_confidence confidence); /* "low" */
const char *frequency_source_word(enum frequency_source source); /* NULL: FREQUENCY_UNKNOWN */
const char *frequency_model_word(enum frequency_model model);	 /* "cycles_in_order" */
const char *cycles_scale_word(enum cycles_scale scale);		 /* "relative" */
