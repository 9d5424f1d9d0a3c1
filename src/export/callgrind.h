/*
 * callgrind - the costs of instructions in the format of callgrind.out (valgrind's manual,
 * "Callgrind Format Specification"), for KCachegrind and callgrind_annotate. Costs by
 * instruction and line: executions (Ir), the count of the time event, its stalls, and the
 * profile's other events; jumps where their estimates are known. Calls are left out: samples by
 * address do not tell the inclusive cost of a call.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_callgrind;
