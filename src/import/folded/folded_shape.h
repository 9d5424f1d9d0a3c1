/*
 * folded_shape - whether text is folded text, judged by the shares of its lines.
 * A number at the end of a line is in much text; what folded text has besides is
 * frames joined by ';', or one name alone before the count:
 *
 *	stack	two frames or more, none empty at the ends, none that begins with a blank
 *	name	one frame, in which blanks are within brackets only; one blank; the count
 *	other	everything else: another line with a number at its end, or one without
 *
 * Blank lines and comments do not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "import/folded/folded_line.h"

struct folded_shape {
	uint64_t stacks, names, others;
};

/* The next line; `line` is what folded_line_parse() filled. */
void folded_shape_add(struct folded_shape *shape, enum folded_line_kind kind,
		      const struct folded_line *line);

/*
 * Half of the lines or more are stacks or names, and more than a tenth are stacks; or, where there
 * are fewer stacks, three quarters or more are stacks or names.
 */
bool folded_shape_fits(const struct folded_shape *shape);
