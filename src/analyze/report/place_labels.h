/*
 * place_labels - the functions at places as labels, each place asked once. A label is a number
 * that the user has for a procedure, which may be that of the procedure itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct report;

struct place_labels {
	const struct report *report; /* its places, and how it shows inlined functions */
	/* NULL: a procedure is its own label. 0 or -ENOMEM. */
	int (*label_of)(void *context, uint32_t procedure, uint32_t *label);
	void *context;

	/* private */
	struct place_chain *chains; /* by place */
	size_t chain_capacity;
	uint32_t *labels;
	size_t count, capacity;
};

void place_labels_release(struct place_labels *labels); /* also right for a zeroed one */
/* Outermost first, at least one; they stay where they are until the next call. 0 or -ENOMEM. */
int place_labels_at(struct place_labels *labels, uint32_t place, const uint32_t **list,
		    size_t *count);
