/*
 * libc_name - whether an image of this file name is the C library: glibc's
 * ("libc.so.6", "libc-2.31.so"), or musl's, which is its dynamic linker.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

bool libc_name_is(struct span image);
