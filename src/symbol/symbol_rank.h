/*
 * symbol_rank - which of two names of one address is the better one, for ELF
 * symbols and kallsyms alike. A total order, so that the choice is the same
 * on every machine.
 */
#pragma once

#include "base/span.h"

/* Fewer leading underscores, then longer, then by bytes. Below 0: `a` is better. */
int symbol_rank_names(struct span a, struct span b);
