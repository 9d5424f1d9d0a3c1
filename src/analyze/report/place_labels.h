/*
 * place_labels - the functions at places as labels; each place is looked up once. A label is the
 * number that the owner of a place_labels has for a procedure: the procedure's own, or that of
 * all procedures that are to be shown as one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct report;

struct place_labels {
	const struct report *report; /* its places, and how it shows inlined functions */
	/* Stores a procedure's label in *label. 0 or -ENOMEM. NULL: it is its number. */
	int (*label_of)(void *context, uint32_t procedure, uint32_t *label);
	void *context;

	/* private */
	struct place_chain *chains; /* by place */
	size_t chain_capacity;
	uint32_t *labels;
	size_t count, capacity;
};

void place_labels_release(struct place_labels *labels); /* also right for a zeroed one */
/* Stores the labels of the functions at a place, outermost first, at least one; *list is valid
 * until the next call. Returns 0 or -ENOMEM. */
int place_labels_at(struct place_labels *labels, uint32_t place, const uint32_t **list,
		    size_t *count);
