#include "symbol/reader_private.h"

#include <errno.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/clock.h"

#define PROCESS_TIMEOUT_MS 500
#define PROCESS_SHORT_MS   50 /* once READER_SILENCE_MS were spent on processes without answer */

/* An account limits its requests by the time it has left; where none pays, this is the only limit.
 */
static uint32_t process_timeout_ms(const struct reader *reader)
{
	bool patient =
		reader->account || reader->unanswered_ns < READER_SILENCE_MS * UINT64_C(1000000);
	uint32_t usual_ms = patient ? PROCESS_TIMEOUT_MS : PROCESS_SHORT_MS;
	return reader->options.open_timeout_ms < usual_ms ? reader->options.open_timeout_ms
							  : usual_ms;
}

int reader_read_process(struct reader *reader, pid_t pid, pid_t tid, enum reader_process what,
			uint64_t limit_bytes, struct buffer *out, struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_READ_PROCESS,
					       .what = what } };
	struct message answer;
	bool unpaid = !reader->account;
	uint64_t begin_ns = clock_monotonic_ns();
	uint32_t timeout_ms = process_timeout_ms(reader);
	buffer_append_u64(&request.payload, limit_bytes);
	buffer_append_u64(&request.payload, (uint64_t)pid);
	buffer_append_u64(&request.payload, (uint64_t)tid);
	int ret = reader_ask_opener(reader, &request, timeout_ms, &answer, err);
	buffer_release(&request.payload);
	if (ret == -ETIMEDOUT && unpaid)
		reader->unanswered_ns += clock_monotonic_ns() - begin_ns;
	if (ret < 0)
		return ret;
	buffer_append(out, answer.payload.data,
		      answer.payload.size < limit_bytes ? answer.payload.size
							: (size_t)limit_bytes);
	message_release(&answer);
	return buffer_failed(out) ? error_set(err, -ENOMEM, "out of memory") : 0;
}
