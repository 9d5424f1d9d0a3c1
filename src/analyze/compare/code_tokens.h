/*
 * code_tokens - instructions as numbers to compare: the same one at another
 * address, calling the same function, has the same number.
 */
#pragma once

#include <stdint.h>

#include "analyze/code/annotate.h"

enum code_tokens_kind {
	CODE_TOKENS_OFFSET, /* by a row's offset in its procedure */
	CODE_TOKENS_TEXT,   /* by what the instruction does */
};

/* One number for each row of the annotation. Without code, rows are alike by their offset. */
void code_tokens_fill(const struct annotation *annotation, enum code_tokens_kind kind,
		      uint64_t *tokens);
/* A hash of all instructions that does not depend on where the code is: code of equal hash is the
 * same. */
uint64_t code_tokens_hash(const struct annotation *annotation);
