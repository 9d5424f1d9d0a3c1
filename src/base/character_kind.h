/*
 * character_kind - what becomes of a character where people see it; which character is of which
 * kind is in character_ranges.h, a generated table.
 */
#pragma once

enum character_kind {
	CHARACTER_PLAIN,
	CHARACTER_WIDE,	  /* two columns */
	CHARACTER_MARK,	  /* none: drawn over the character before */
	CHARACTER_HIDDEN, /* not to be seen, or obeyed */
};
