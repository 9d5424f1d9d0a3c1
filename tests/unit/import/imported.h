/*
 * imported - for tests: bytes read by an importer, in pieces of any size, and
 * what it said meanwhile.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/importer.h"
#include "profile/profile.h"

struct import_talk {
	char text[8192]; /* "note: ...\n" and "warning: ...\n" */
};

static inline void import_hear(void *context, enum import_remark kind, const char *sentence)
{
	struct import_talk *talk = context;
	size_t used = strlen(talk->text);
	snprintf(talk->text + used, sizeof(talk->text) - used, "%s: %s\n",
		 kind == IMPORT_WARNING ? "warning" : "note", sentence);
}

/* 0 and a profile, or the importer's error. `talk` may be NULL. */
static inline int import_pieces(const struct importer *format, const void *bytes, size_t size,
				size_t piece, bool force, struct import_talk *talk,
				struct profile **out, struct error *err)
{
	struct import_options options = { .force = force };
	if (talk) {
		talk->text[0] = 0;
		options.say = import_hear;
		options.say_context = talk;
	}
	void *reader = NULL;
	int ret = format->open(&options, &reader);
	for (size_t at = 0; ret == 0 && at < size; at += piece) {
		piece = size - at < piece ? size - at : piece;
		ret = format->feed(reader, (const char *)bytes + at, piece, err);
	}
	if (ret == 0)
		ret = format->finish(reader, out, err);
	format->close(reader);
	return ret;
}
