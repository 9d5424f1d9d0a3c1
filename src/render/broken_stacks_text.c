#include "render/broken_stacks_text.h"

#include <stdint.h>

#include "analyze/report/report_scope.h"
#include "base/buffer.h"
#include "image/libc_name.h"
#include "render/quantity.h"
#include "render/text_table.h"

#define WORTH_A_CURE   100 /* one stack in so many */
#define WORTH_A_REMARK 20  /* stacks that could not be judged: one in so many */

static void put_percent(struct buffer *out, uint64_t part, uint64_t whole)
{
	char text[QUANTITY_SIZE];
	quantity_percent((double)part, (double)whole, text);
	buffer_append_text(out, text);
}

bool broken_stacks_text(const struct scope_broken_stacks *stacks, struct buffer *out)
{
	bool unjudged = stacks->unjudged_samples > stacks->user_samples / WORTH_A_REMARK;
	if (stacks->broken_samples) {
		uint64_t others = stacks->broken_samples;
		put_percent(out, stacks->broken_samples, stacks->user_samples);
		buffer_append_text(out,
				   stacks->walked_samples
					   ? " of stacks end before their root: "
					   : " of stacks break in code without frame pointers: ");
		for (size_t i = 0; i < stacks->image_count; i++) {
			const struct scope_cause *image = &stacks->images[i];
			buffer_append_text(out, i ? ", " : "");
			text_append_safe(out, image->name.data, image->name.size);
			/* its system calls and string functions leave the register alone */
			if (libc_name_is(image->name))
				buffer_append_text(out, " or what calls it");
			buffer_append_u8(out, ' ');
			put_percent(out, image->samples, stacks->user_samples);
			others -= image->samples;
		}
		if (others) {
			buffer_append_text(out, ", others ");
			put_percent(out, others, stacks->user_samples);
		}
		buffer_append_text(out, "; outer callers are missing there");
	}
	if (unjudged) {
		buffer_append_text(out, stacks->broken_samples ? "; " : "");
		put_percent(out, stacks->unjudged_samples, stacks->user_samples);
		buffer_append_text(out,
				   " of stacks end in code without names: whole or broken is not "
				   "known");
	}
	return stacks->broken_samples || unjudged;
}

const char *broken_stacks_cure(const struct scope_broken_stacks *stacks)
{
	if (stacks->broken_samples < stacks->user_samples / WORTH_A_CURE + 1)
		return NULL;
	if (stacks->beyond_copy_samples > stacks->broken_samples / 2)
		return "cure: --call-graph eh,BYTES copies more of the stack; where BPF programs "
		       "may be "
		       "loaded nothing needs to be copied";
	if (stacks->walked_samples)
		return NULL;
	return "cure: 'culprit record -g' needs no frame pointers; or build that code with "
	       "-fno-omit-frame-pointer";
}
