#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/message.h"
#include "daemon/recorder.h"

static bool shown;

void progress_show(const struct recorder_progress *progress)
{
	if (message_is_quiet() || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\rculprit: %.0f s, %" PRIu64 " samples, %" PRIu64 " places \033[K",
		progress->seconds, progress->samples, progress->places);
	shown = true;
}

void progress_show_rounds(size_t round, size_t rounds, double left_s)
{
	if (message_is_quiet() || !isatty(STDERR_FILENO))
		return;
	if (round)
		fprintf(stderr, "\rculprit: round %zu of %zu", round, rounds);
	else
		fprintf(stderr, "\rculprit: warming up");
	if (isfinite(left_s))
		fprintf(stderr, ", about %.0f s left", left_s);
	fprintf(stderr, " \033[K");
	shown = true;
}

void progress_clear(void)
{
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = false;
}
