/*
 * character_kind - how a character may be shown to people (visible_text.h). Which character is of
 * which kind is in character_ranges.h, a generated table.
 */
#pragma once

enum character_kind {
	CHARACTER_PLAIN,  /* one column */
	CHARACTER_WIDE,	  /* two columns */
	CHARACTER_MARK,	  /* no column: drawn over the character before */
	CHARACTER_HIDDEN, /* not shown as it is: invisible, or it steers the terminal */
};
