/*
 * LONG_FORM - whether unit tests try all that they know: in builds with sanitizers, which see
 * more, and which `make test-all` runs. `make test` tries less of what costs most there and shows
 * the same; each place says what it leaves out.
 */
#pragma once

#include "base/sanitizers.h"

#define LONG_FORM SANITIZERS
