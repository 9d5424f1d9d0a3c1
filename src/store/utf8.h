/*
 * utf8 - whether bytes are text that SQLite can hold as TEXT and give back
 * unchanged: valid UTF-8 (no overlong forms, no surrogates) without NUL.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

bool utf8_is_plain(struct span text);
