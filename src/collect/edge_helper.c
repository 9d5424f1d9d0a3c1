#include "collect/edge_helper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/error.h"
#include "bpf/sample_memory.h"
#include "collect/edge_memory.h"
#include "symbol/helper_process.h"

#define HELPER_CANNOT_START 71

struct edge_engine {
	struct edge_memory memory;
	struct interpreter *interpreter;
	uint64_t cpu_ns; /* reported so far */
	uint64_t turn;	 /* of edge_window_first() */
};

enum isa edge_isa(void)
{
#if defined(__x86_64__)
	return ISA_X86_64;
#elif defined(__aarch64__)
	return ISA_AARCH64;
#else
	return ISA_UNKNOWN;
#endif
}

static uint64_t own_cpu_ns(void)
{
	struct timespec now;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t edge_registers(void)
{
	struct interpreter *interpreter;
	if (interpreter_new(edge_isa(), &interpreter, NULL) < 0)
		return 0;
	interpreter_free(interpreter);
	return interpret_perf_registers(edge_isa());
}

int edge_engine_new(struct edge_engine **out, struct error *err)
{
	struct edge_engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return error_set(err, -ENOMEM, "out of memory");
	engine->memory.isa = edge_isa();
	int ret = interpreter_new(engine->memory.isa, &engine->interpreter, err);
	if (ret < 0) {
		free(engine);
		return ret;
	}
	engine->cpu_ns = own_cpu_ns(); /* the start is not reported */
	*out = engine;
	return 0;
}

void edge_engine_free(struct edge_engine *engine)
{
	if (!engine)
		return;
	interpreter_free(engine->interpreter);
	edge_memory_release(&engine->memory);
	free(engine);
}

static int makes_no_sense(struct error *err)
{
	return error_set(err, -EBADMSG, "a request makes no sense");
}

/* A path while it is interpreted. */
struct path {
	struct edge_space *space;
	struct interpret_result result;
	struct edge_outcome outcomes[EDGE_LOOP_INSTRUCTIONS]; /* an instruction has one at most */
	size_t count;
};

static struct span path_code(void *context, uint64_t address)
{
	const struct path *path = context;
	return edge_space_code(path->space, address);
}

static bool path_read_only(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
	const struct path *path = context;
	return edge_space_read(path->space, address, bytes, value);
}

static void path_edge(void *context, uint64_t from, uint64_t to, enum interpret_edge kind)
{
	struct path *path = context;
	path->outcomes[path->count++] = (struct edge_outcome){
		.from = from, .to = to, .at = path->result.instructions, .kind = kind
	};
}

/* Writes the outcomes that count, those of EDGE_INSTRUCTIONS from `first` on, and returns how many.
 * An edge from or to an address in no known file is left out. */
static uint32_t write_edges(const struct path *path, unsigned first, struct buffer *out)
{
	uint32_t edges = 0;
	for (size_t i = 0; i < path->count; i++) {
		const struct edge_outcome *outcome = &path->outcomes[i];
		struct edge_found found = { 0 };
		if (outcome->at - first >= EDGE_INSTRUCTIONS || /* also before it */
		    !edge_space_place(path->space, outcome->from, &found.from_file,
				      &found.from_vaddr) ||
		    !edge_space_place(path->space, outcome->to, &found.to_file, &found.to_vaddr))
			continue;
		buffer_append(out, &found, sizeof(found));
		edges++;
	}
	return edges;
}

/* The blocks of one sample, at the cursor. */
struct sample_blocks {
	struct interpret_block list[SAMPLE_MEMORY_BLOCKS];
	uint32_t count;
};

static bool read_blocks(struct cursor *cursor, uint32_t count, struct sample_blocks *blocks)
{
	if (count > SAMPLE_MEMORY_BLOCKS)
		return false;
	for (blocks->count = 0; blocks->count < count; blocks->count++) {
		const uint8_t *bytes = cursor_take(cursor, sizeof(struct sample_memory_block));
		struct interpret_block *block = &blocks->list[blocks->count];
		if (!bytes)
			return false;
		memcpy(&block->address, bytes, sizeof(block->address));
		block->bytes = (struct span){ bytes + offsetof(struct sample_memory_block, bytes),
					      SAMPLE_MEMORY_BYTES };
	}
	return true;
}

static int run_sample(struct edge_engine *engine, uint64_t mask, const struct edge_sample *sample,
		      const struct sample_blocks *blocks, struct edge_space *space,
		      struct buffer *out, struct error *err)
{
	struct interpret_start start;
	if (sample->stack_bytes > sizeof(sample->stack) ||
	    !interpret_start_of_perf(engine->memory.isa, mask, sample->registers, &start))
		return makes_no_sense(err);
	start.stack = (struct span){ sample->stack, sample->stack_bytes };
	start.blocks = blocks->list;
	start.block_count = blocks->count;
	struct path path; /* whose many outcomes are not cleared */
	path.space = space;
	path.count = 0;
	const struct interpret_callbacks callbacks = { &path, path_code, path_read_only,
						       path_edge };
	interpreter_run(engine->interpreter, &start, &callbacks, EDGE_INSTRUCTIONS, &path.result);
	struct edge_path answer = { .end = (uint32_t)path.result.end,
				    .instructions = path.result.instructions };
	if (path.result.end == INTERPRET_END_LIMIT &&
	    edge_window_is_loop(path.outcomes, path.count))
		interpreter_go_on(engine->interpreter, EDGE_LOOP_INSTRUCTIONS);
	unsigned first = edge_window_first(path.outcomes, path.count, path.result.instructions,
					   &engine->turn);
	size_t at = out->size;
	buffer_append(out, &answer, sizeof(answer));
	answer.edges = write_edges(&path, first, out);
	if (buffer_failed(out))
		return error_set(err, -ENOMEM, "out of memory");
	memcpy(out->data + at, &answer, sizeof(answer));
	return 0;
}

static int read_spaces(struct edge_engine *engine, struct cursor *cursor, struct edge_space *spaces,
		       uint32_t count, struct error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct edge_space_request space;
		const void *header = cursor_take(cursor, sizeof(space));
		if (!header)
			return makes_no_sense(err);
		memcpy(&space, header, sizeof(space));
		if (space.count > cursor_left(cursor) / sizeof(struct mapping))
			return makes_no_sense(err);
		const void *mappings = cursor_take(cursor, space.count * sizeof(struct mapping));
		int ret = edge_space_init(&spaces[i], &engine->memory, mappings, space.count);
		if (ret < 0)
			return error_set(err, ret, "out of memory");
	}
	return 0;
}

static int run_samples(struct edge_engine *engine, struct cursor *cursor,
		       const struct edge_request *wanted, struct edge_space *spaces,
		       struct buffer *out, struct error *err)
{
	if (wanted->samples > cursor_left(cursor) / sizeof(struct edge_sample))
		return makes_no_sense(err);
	struct cursor samples = *cursor; /* `cursor` goes on to the blocks */
	cursor_take(cursor, wanted->samples * sizeof(struct edge_sample));
	for (uint32_t i = 0; i < wanted->samples; i++) {
		struct edge_sample sample;
		struct sample_blocks blocks;
		memcpy(&sample, cursor_take(&samples, sizeof(sample)), sizeof(sample));
		if (sample.space >= wanted->spaces || !read_blocks(cursor, sample.blocks, &blocks))
			return makes_no_sense(err);
		int ret = run_sample(engine, wanted->registers, &sample, &blocks,
				     &spaces[sample.space], out, err);
		if (ret < 0)
			return ret;
	}
	return cursor_left(cursor) ? makes_no_sense(err) : 0;
}

static int run(struct edge_engine *engine, const struct message *request, struct message *answer,
	       struct error *err)
{
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	struct edge_request wanted;
	const void *header = cursor_take(&cursor, sizeof(wanted));
	if (!header)
		return makes_no_sense(err);
	memcpy(&wanted, header, sizeof(wanted));
	if (wanted.spaces > cursor_left(&cursor) / sizeof(struct edge_space_request) ||
	    (unsigned)__builtin_popcountll(wanted.registers) > EDGE_REGISTERS)
		return makes_no_sense(err);
	struct edge_answer head = { 0 };
	buffer_append(&answer->payload, &head, sizeof(head));
	struct edge_space *spaces = calloc(wanted.spaces + 1, sizeof(*spaces));
	int ret = spaces ? read_spaces(engine, &cursor, spaces, wanted.spaces, err)
			 : error_set(err, -ENOMEM, "out of memory");
	if (ret == 0)
		ret = run_samples(engine, &cursor, &wanted, spaces, &answer->payload, err);
	for (uint32_t i = 0; spaces && i < wanted.spaces; i++)
		edge_space_release(&spaces[i]);
	free(spaces);
	if (ret < 0)
		return ret;
	uint64_t now_ns = own_cpu_ns();
	head.cpu_ns = now_ns - engine->cpu_ns;
	engine->cpu_ns = now_ns;
	if (!buffer_failed(&answer->payload))
		memcpy(answer->payload.data, &head, sizeof(head));
	return 0;
}

int edge_engine_serve(void *context, const struct message *request, struct message *answer,
		      struct error *err)
{
	struct edge_engine *engine = context;
	switch (request->header.operation) {
	case EDGE_SET_FILE:
		return request->header.fd_count == 1
			       ? edge_memory_set_file(&engine->memory, request->header.what,
						      request->fds[0], err)
			       : makes_no_sense(err);
	case EDGE_RUN:
		return run(engine, request, answer, err);
	default:
		return makes_no_sense(err);
	}
}

void edge_helper_run(int socket)
{
	struct edge_engine *engine;
	if (edge_engine_new(&engine, NULL) < 0)
		_exit(HELPER_CANNOT_START);
	helper_serve(&(struct helper_service){ .name = "culprit-edges",
					       .serve = edge_engine_serve,
					       .context = engine,
					       .without_rights = true },
		     socket);
}
