/*
 * cfg_view - what is shown of a procedure's graph of control flow: all of its blocks, or of a
 * large one the hottest and what is around them; with the text of their instructions.
 *
 * Borrows the procedure and the resolver's names. Nothing changes once made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"
#include "base/arena.h"

struct error;

struct cfg_view {
	const struct procedure_cycles *procedure;
	uint32_t *blocks; /* shown: the entry, if it is, then by address */
	uint32_t count;
	uint32_t padding; /* blocks left out: padding without samples that no edge is known to lead
			      to */
	uint32_t *position;  /* by block of the cfg: in `blocks`, or CFG_NO_BLOCK */
	const char **texts;  /* by instruction of the cfg: "mov %rax,%rbx", "call memcpy"; NULL: not
				shown */
	double hidden_share; /* of the procedure's cycles, in blocks that are not shown; NaN: not
				known */
	/* private */
	struct arena arena;
};

/*
 * At most `limit` blocks; 0: all. `resolver` names what is called. For cfg_view_release(). Returns
 * 0, or -ENOMEM or what decoder_new() failed with, *err filled and nothing to release.
 */
int cfg_view_init(struct cfg_view *view, const struct procedure_cycles *procedure,
		  struct resolver *resolver, enum isa_syntax syntax, size_t limit,
		  struct error *err);
void cfg_view_release(struct cfg_view *view); /* also right for a zeroed one */

/* Edges from and to the block whose other end is in the graph and not shown. */
uint32_t cfg_view_hidden_edges(const struct cfg_view *view, uint32_t block);
/* Whether an edge between two blocks goes to the header of a loop that holds the first one. */
bool cfg_view_is_back(const struct procedure_cycles *procedure, const struct flow_edge *edge);
/* How often a loop went around each time that it was entered. Entries that are too rare for samples
 * are known to be rare and no more: then the interval has no upper end (INFINITY), or a far one. */
struct estimate cfg_view_rounds(const struct procedure_cycles *procedure, uint32_t loop);
