#include "collect/step_path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "isa/decode.h"
#include "symbol/helper_process.h"

static bool branches(enum instruction_kind kind)
{
	return kind == INSTRUCTION_CALL || kind == INSTRUCTION_JUMP ||
	       kind == INSTRUCTION_CONDITIONAL || kind == INSTRUCTION_RETURN;
}

static void end_run(struct step_path *path, uint64_t first, uint64_t last)
{
	path->runs[path->run_count++] = (struct step_run){ first, last };
}

void step_path_make(const struct steps *steps, const struct step_flow *flow, struct step_path *path)
{
	path->edge_count = path->run_count = path->instructions = 0;
	uint64_t first = steps->places[0].address;
	uint64_t last = 0;
	bool open = false; /* a run [first, last] */
	for (size_t i = 0; i < steps->count; i++) {
		uint64_t from = steps->places[i].address;
		uint64_t to = steps->places[i + 1].address;
		bool branch = branches(flow[i].kind);
		/* A repeated string instruction is stepped once for each repetition. */
		if (to == from && !branch)
			continue;
		path->instructions++;
		last = from;
		/* Code that cannot be decoded counts as straight where the next address is near. */
		bool straight = flow[i].kind == INSTRUCTION_DATA
					? to > from && to - from < STEP_CODE_BYTES
					: to == from + flow[i].length_bytes;
		if (branch || !straight)
			path->edges[path->edge_count++] = (struct step_edge){ from, to };
		open = straight && (!branch || flow[i].kind == INSTRUCTION_CONDITIONAL);
		if (!open) {
			end_run(path, first, last);
			first = to;
		}
	}
	if (open)
		end_run(path, first, last);
}

static enum isa own_isa(void)
{
#ifdef __aarch64__
	return ISA_AARCH64;
#else
	return ISA_X86_64;
#endif
}

int step_decoder_serve(void *context, const struct message *request, struct message *answer,
		       struct error *err)
{
	size_t count = request->payload.size / sizeof(struct step_place);
	if (count > STEP_LIMIT || request->payload.size % sizeof(struct step_place))
		return error_set(err, -EBADMSG, "a question that makes no sense");
	for (size_t i = 0; i < count; i++) {
		struct step_place place;
		struct instruction instruction;
		memcpy(&place, request->payload.data + i * sizeof(place), sizeof(place));
		decoder_flow(context, (struct span){ place.code, sizeof(place.code) },
			     place.address, &instruction);
		struct step_flow flow = { (uint8_t)instruction.length_bytes,
					  (uint8_t)instruction.kind };
		buffer_append(&answer->payload, &flow, sizeof(flow));
	}
	return 0;
}

void step_decoder_run(int socket)
{
	struct decoder *decoder;
	if (decoder_new(own_isa(), ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		_exit(1);
	helper_serve(&(struct helper_service){ .name = "culprit-decode",
					       .serve = step_decoder_serve,
					       .context = decoder,
					       .without_rights = true },
		     socket);
}
