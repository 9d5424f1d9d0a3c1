#include "import/unwind/unwind_helper.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "symbol/helper_process.h"

#define HELPER_CANNOT_START 71

static int makes_no_sense(struct error *err)
{
	return error_set(err, -EBADMSG, "a request makes no sense");
}

static int set_space(struct unwind_engine *engine, const struct message *request, struct error *err)
{
	struct unwind_space_request space;
	size_t size = request->payload.size;
	if (size < sizeof(space) || (size - sizeof(space)) % sizeof(struct mapping))
		return makes_no_sense(err);
	memcpy(&space, request->payload.data, sizeof(space));
	int ret = unwind_engine_set_space(
		engine, space.number, (uint16_t)space.machine,
		(const struct mapping *)(const void *)(request->payload.data + sizeof(space)),
		(size - sizeof(space)) / sizeof(struct mapping));
	return ret < 0 ? error_set(err, ret, "cannot take the mappings: %s", strerror(-ret)) : 0;
}

static int run_stack(struct unwind_engine *engine, const struct message *request,
		     struct message *answer, struct error *err)
{
	struct unwind_run_request wanted;
	struct unwind_run found;
	if (request->payload.size < sizeof(wanted))
		return makes_no_sense(err);
	memcpy(&wanted, request->payload.data, sizeof(wanted));
	struct span stack = { request->payload.data + sizeof(wanted),
			      request->payload.size - sizeof(wanted) };
	int ret =
		unwind_engine_run(engine, (uint32_t)wanted.space, &wanted.registers, stack, &found);
	if (ret < 0)
		return error_set(err, ret, "cannot unwind: %s", strerror(-ret));
	struct unwind_run_answer header = { (uint32_t)found.end, found.file };
	buffer_append(&answer->payload, &header, sizeof(header));
	buffer_append(&answer->payload, found.frames, found.count * sizeof(*found.frames));
	return 0;
}

static int serve(void *context, const struct message *request, struct message *answer,
		 struct error *err)
{
	struct unwind_engine *engine = context;
	switch (request->header.operation) {
	case UNWIND_SET_FILE:
		return unwind_engine_set_file(engine, request->header.what,
					      request->header.fd_count ? request->fds[0] : -1, err);
	case UNWIND_SET_SPACE:
		return set_space(engine, request, err);
	case UNWIND_RUN:
		return run_stack(engine, request, answer, err);
	default:
		return makes_no_sense(err);
	}
}

void unwind_helper_run(int socket)
{
	struct unwind_engine *engine;
	if (unwind_engine_new(&engine) < 0)
		_exit(HELPER_CANNOT_START);
	helper_serve(&(struct helper_service){ .name = "culprit-unwind",
					       .serve = serve,
					       .context = engine,
					       .without_rights = true },
		     socket);
}
