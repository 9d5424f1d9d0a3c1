/*
 * callgrind - what instructions cost in the format of callgrind.out, as "Callgrind
 * Format Specification" of valgrind's manual has it, for KCachegrind and
 * callgrind_annotate. Costs by instruction and line: executions (Ir), what the time event
 * counted, its stalls, and the profile's other events; jumps where their estimates are known.
 * Calls are left out: what they cost with all they called is not in samples by address.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_callgrind;
