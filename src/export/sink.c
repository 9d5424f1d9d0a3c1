#include "export/sink.h"

#include <errno.h>

#define ENOUGH_BYTES (256u << 10)

void sink_init(struct sink *sink, sink_write write, void *context)
{
	*sink = (struct sink){ .write = write, .context = context };
}

void sink_release(struct sink *sink)
{
	buffer_release(&sink->buffer);
}

int sink_finish(struct sink *sink)
{
	if (sink->status == 0 && buffer_failed(&sink->buffer))
		sink->status = -ENOMEM;
	if (sink->status == 0 && sink->buffer.size)
		sink->status = sink->write(sink->context, sink->buffer.data, sink->buffer.size);
	sink->buffer.size = 0;
	return sink->status;
}

int sink_flush_some(struct sink *sink)
{
	bool failed = sink->status || buffer_failed(&sink->buffer);
	return failed || sink->buffer.size >= ENOUGH_BYTES ? sink_finish(sink) : 0;
}
