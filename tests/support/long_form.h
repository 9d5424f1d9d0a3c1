/*
 * LONG_FORM - whether unit tests run in full: in builds with sanitizers, which find
 * more, and which `make test-all` runs. `make test` runs less of what takes longest; each place
 * says what it leaves out, and why that shows the same.
 */
#pragma once

#include "base/sanitizers.h"

#define LONG_FORM SANITIZERS
