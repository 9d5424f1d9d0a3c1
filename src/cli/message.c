#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/visible_text.h"

static bool quiet; /* set once, while options are parsed */

void message_set_quiet(void)
{
	quiet = true;
}

bool message_is_quiet(void)
{
	return quiet;
}

/* Makes the sentence safe: it has names of files and processes in it. */
static void put_plain(const char *sentence)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	text_append_safe(&safe, sentence, strlen(sentence));
	fputs(buffer_failed(&safe) ? "out of memory" : buffer_text(&safe), stderr);
}

static void say(const char *before, const char *format, va_list args)
{
	CLEANUP(free_pointer) char *sentence = NULL;
	fflush(stdout);
	if (vasprintf(&sentence, format, args) < 0)
		sentence = NULL;
	fputs(before, stderr);
	put_plain(sentence ? sentence : "out of memory");
	fputc('\n', stderr);
}

bool message_refused(void)
{
	static bool said;
	if (!budget_refusal())
		return false;
	if (!said) {
		fflush(stdout);
		fputs("culprit: ", stderr);
		put_plain(budget_refusal());
		fprintf(stderr, "; --limits %s=%s allows more, --limits none anything\n",
			budget_refused_limit(),
			budget_limit_in_bytes(budget_refused_limit()) ? "SIZE" : "N");
	}
	said = true;
	return true;
}

void message_error(const char *format, ...)
{
	va_list args;
	if (message_refused()) /* which is the cause of this failure */
		return;
	va_start(args, format);
	say("culprit: ", format, args);
	va_end(args);
}

void message_warning(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("culprit: warning: ", format, args);
	va_end(args);
}

void message_detail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("  ", format, args);
	va_end(args);
}

void message_note(const char *format, ...)
{
	if (quiet)
		return;
	va_list args;
	va_start(args, format);
	say("culprit: ", format, args);
	va_end(args);
}

/* What to do where the sentence, of whatever was in work, cannot know it. */
static const char *cure_of(int code)
{
	return code == -EMFILE || code == -ENFILE ? "; 'ulimit -n' (LimitNOFILE= of a service) "
						    "says how many files may be open, "
						    "and raises it"
						  : "";
}

int message_failure(const struct error *err)
{
	message_error("%s%s", err->text, cure_of(err->code));
	return 1;
}

int message_refusal(const struct error *err)
{
	message_error("%s%s", err->text, cure_of(err->code));
	return err->code == -EINVAL ? 2 : 1;
}
