/*
 * folded_name - how a frame's name is written in folded text, where ';' ends a
 * frame and a newline ends a stack.
 *
 * Those two and every other control character of ASCII but the tab are written
 * as '%' and two digits: %3B, %0A, %1B, %7F. A name that holds such a triple itself gets "25"
 * behind its '%', as often as it takes: "%3B" is written "%253B", "%253B" is written "%25253B".
 * Everything else, other '%' included, stays as it is. So every name has one
 * spelling, every spelling one name, and text written by others comes back
 * unchanged.
 */
#pragma once

#include "base/buffer.h"
#include "base/span.h"

void folded_encode_name(struct buffer *out, struct span name);
/* `spelling` holds no ';' and no newline. */
void folded_decode_name(struct buffer *out, struct span spelling);
