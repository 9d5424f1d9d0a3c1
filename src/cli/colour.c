#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int colour_choose(const struct verb *verb, const char *when, enum text_colour *colour)
{
	const char *unwanted = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");
	*colour = TEXT_WITHOUT_COLOUR;
	if (when && strcmp(when, "never") == 0)
		return 0;
	if (when && strcmp(when, "always") == 0) {
		*colour = TEXT_WITH_COLOUR;
		return 0;
	}
	if (when && strcmp(when, "auto") != 0)
		return options_misuse(verb, "--color is never, always or auto, not '%s'", when);
	bool wanted = !(unwanted && *unwanted) && terminal && strcmp(terminal, "dumb") != 0;
	if (wanted && isatty(STDOUT_FILENO))
		*colour = TEXT_WITH_COLOUR;
	return 0;
}
