/*
 * export/pprof - google/pprof's profile.proto, packed by gzip. Each event has a
 * type of value, and before it another one for its samples when it has samples of
 * its own. Locations are addresses in the images' own spaces, with their
 * procedures, inlined functions and lines; labels hold the context.
 */
#pragma once

#include "export/exporter.h"

extern const struct exporter exporter_pprof;
