#include "render/difference_text.h"

const char *const difference_verdict_words[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "no error known",
						 [DIFFERENCE_NOISE] = "may be chance",
						 [DIFFERENCE_SIGNIFICANT] = "significant" };
const char *const difference_verdict_marks[] = {
	[DIFFERENCE_NO_ERROR_KNOWN] = "?", [DIFFERENCE_NOISE] = "", [DIFFERENCE_SIGNIFICANT] = "*"
};
