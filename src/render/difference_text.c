#include "render/difference_text.h"

#include "base/buffer.h"

const char *const difference_verdict_words[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "no error known",
						 [DIFFERENCE_NOISE] = "may be chance",
						 [DIFFERENCE_SIGNIFICANT] = "significant" };
const char *const difference_verdict_marks[] = {
	[DIFFERENCE_NO_ERROR_KNOWN] = "?", [DIFFERENCE_NOISE] = "", [DIFFERENCE_SIGNIFICANT] = "*"
};

void difference_put_unknown(size_t rows, struct buffer *out)
{
	buffer_printf(out,
		      "no error known: %zu row%s of counts without samples; --counts samples or "
		      "--counts exact says what they are\n",
		      rows, rows == 1 ? "" : "s");
}
