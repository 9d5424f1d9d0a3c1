/*
 * cfg_cards - the text in the boxes of a picture of control flow, line by line: where a block is
 * and what comes from elsewhere, its figures, its instructions, and what is not known or not shown.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"

struct cfg_picture;

enum cfg_line_style { CFG_LINE_PLAIN, CFG_LINE_BOLD, CFG_LINE_SMALL, CFG_LINE_WARN };

struct cfg_line {
	enum cfg_line_style style;
	const char *text;
};

/* The text of one block. */
struct cfg_card {
	struct cfg_line *lines;
	size_t count, capacity;
	size_t columns; /* of the longest */
};

struct cfg_cards {
	struct cfg_card *list; /* by position in the view */
	size_t count;
	struct arena arena; /* the texts */
};

/* 0 or -ENOMEM; for cfg_cards_release() in both cases. */
int cfg_cards_init(struct cfg_cards *cards, const struct cfg_picture *picture);
void cfg_cards_release(struct cfg_cards *cards);
