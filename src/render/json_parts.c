#include "render/json_parts.h"

#include <math.h>
#include <stdio.h>

#include "image/writer.h"

#define KEY_BYTES 64

void json_add_estimate(struct json_stream *json, const char *key, struct estimate estimate,
		       double factor)
{
	char low[KEY_BYTES], high[KEY_BYTES];
	snprintf(low, sizeof(low), "%s_low", key);
	snprintf(high, sizeof(high), "%s_high", key);
	bool bounded = estimate.kind == ESTIMATE_INTERVAL;
	json_stream_double(json, key,
			   estimate.kind == ESTIMATE_ABSENT ? NAN : estimate.value * factor);
	json_stream_double(json, low, bounded ? estimate.low * factor : NAN);
	json_stream_double(json, high, bounded ? estimate.high * factor : NAN);
}

void json_add_writer(struct json_stream *json, uint64_t file_writer)
{
	char who[WRITER_TEXT_BYTES];
	writer_text(file_writer, who);
	json_stream_text(json, "writable_by", *who ? who : NULL);
}
