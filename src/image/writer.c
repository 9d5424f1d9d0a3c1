#include "image/writer.h"

#include <inttypes.h>
#include <stdio.h>

void writer_text(uint64_t writer, char text[WRITER_TEXT_BYTES])
{
	uint32_t id = (uint32_t)writer;
	*text = 0;
	switch (writer_kind(writer)) {
	case WRITER_NOBODY:
		break;
	case WRITER_USER:
		snprintf(text, WRITER_TEXT_BYTES, "uid %" PRIu32, id);
		break;
	case WRITER_GROUP:
		snprintf(text, WRITER_TEXT_BYTES, "gid %" PRIu32, id);
		break;
	case WRITER_ANYBODY:
		snprintf(text, WRITER_TEXT_BYTES, "anybody");
		break;
	case WRITER_MOUNTER:
		snprintf(text, WRITER_TEXT_BYTES, "whoever mounted it");
		break;
	default:
		snprintf(text, WRITER_TEXT_BYTES, "others");
	}
}

bool writer_may_speak_for(uint64_t other, uint64_t writer)
{
	return other == 0 || (other == writer && writer_kind(writer) != WRITER_MOUNTER);
}
