#include "isa/interpret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "isa/interpret_private.h"

int interpreter_new(enum isa isa, struct interpreter **out, struct error *err)
{
	if (isa == ISA_I386)
		return error_set(err, -ENOTSUP, "%s code cannot be interpreted", isa_name(isa));
	size_t works = isa == ISA_X86_64 ? x86_works_size() : 0;
	CLEANUP(interpreter_freep)
	struct interpreter *interpreter = calloc(1, sizeof(*interpreter) + works);
	if (!interpreter)
		return error_set(err, -ENOMEM, "out of memory for an interpreter");
	interpreter->isa = isa;
	int ret = decoder_new(isa, ISA_SYNTAX_INTEL, &interpreter->decoder, err);
	if (ret < 0)
		return ret;
	interpreter->steps = calloc(STEP_CACHE, sizeof(*interpreter->steps));
	if (!interpreter->steps)
		return error_set(err, -ENOMEM, "out of memory for an interpreter");
	if (isa == ISA_X86_64)
		x86_works_fill(interpreter->works);
	*out = interpreter;
	interpreter = NULL; /* the caller's from here on */
	return 0;
}

void interpreter_free(struct interpreter *interpreter)
{
	if (!interpreter)
		return;
	decoder_free(interpreter->decoder);
	free(interpreter->steps);
	free(interpreter);
}

void interpreter_freep(struct interpreter **interpreter)
{
	interpreter_free(*interpreter);
}

void interpreter_report(struct interpreter *interpreter, uint64_t from, uint64_t to,
			enum interpret_edge kind)
{
	const struct interpret_callbacks *callbacks = interpreter->callbacks;
	interpreter->result->outcomes++;
	if (callbacks->edge)
		callbacks->edge(callbacks->context, from, to, kind);
}

bool interpreter_branch(struct interpreter *interpreter, const struct step *step, enum truth taken,
			uint64_t target, uint64_t *next, enum interpret_end *end)
{
	*end = INTERPRET_END_CONDITION;
	if (taken == TRUTH_UNKNOWN)
		return false;
	if (taken == TRUTH_TRUE)
		*next = target;
	interpreter_report(interpreter, step->address, *next, INTERPRET_CONDITIONAL);
	return true;
}

static bool is_kept(const struct step *step, struct span code, uint64_t address)
{
	return step->length && step->address == address && step->length <= code.size &&
	       memcmp(step->bytes, code.data, step->length) == 0;
}

/* NULL: no instruction. */
static const struct step *step_at(struct interpreter *interpreter, struct span code,
				  uint64_t address)
{
	uint64_t slot = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct step *step = &interpreter->steps[slot % STEP_CACHE];
	if (is_kept(step, code, address))
		return step;
	*step = (struct step){ .address = address };
	bool decoded = interpreter->isa == ISA_AARCH64
			       ? aarch64_step_decode(interpreter, code, address, step)
			       : x86_step_decode(interpreter, code, address, step);
	if (!decoded) {
		step->length = 0;
		return NULL;
	}
	memcpy(step->bytes, code.data, step->length);
	return step;
}

/* The bytes at `address`, of `piece` at `piece_address` if they lie there. */
static struct span code_at(const struct interpret_callbacks *callbacks, uint64_t address,
			   struct span *piece, uint64_t *piece_address)
{
	uint64_t offset = address - *piece_address;
	if (offset >= piece->size) {
		*piece = callbacks->code(callbacks->context, address);
		*piece_address = address;
		offset = 0;
	}
	if (!piece->size)
		return *piece;
	return (struct span){ (const uint8_t *)piece->data + offset, piece->size - offset };
}

static void follow(struct interpreter *interpreter, unsigned limit)
{
	struct interpret_result *result = interpreter->result;
	struct span piece = { NULL, 0 };
	uint64_t piece_address = 0;
	while (result->instructions < limit) {
		struct span code =
			code_at(interpreter->callbacks, result->pc, &piece, &piece_address);
		if (!code.size) {
			result->end = INTERPRET_END_CODE;
			return;
		}
		const struct step *step = step_at(interpreter, code, result->pc);
		if (!step) {
			result->end = INTERPRET_END_UNKNOWN;
			return;
		}
		uint64_t next = result->pc + step->length;
		bool passed = interpreter->isa == ISA_AARCH64
				      ? aarch64_step_run(interpreter, step, &next, &result->end)
				      : x86_step_run(interpreter, step, &next, &result->end);
		if (!passed)
			return;
		result->pc = next;
		result->instructions++;
	}
	result->end = INTERPRET_END_LIMIT;
}

static void start_state(struct interpreter *interpreter, const struct interpret_start *start)
{
	for (unsigned r = 0; r < INTERPRET_REGISTERS; r++)
		interpreter->general[r] = start->registers_known >> r & 1
						  ? bits_of(start->registers[r])
						  : bits_unknown();
	memset(interpreter->vectors, 0, sizeof(interpreter->vectors));
	interpreter->facts = (struct facts){ 0, 0 };
	if (interpreter->isa == ISA_AARCH64)
		aarch64_start_flags(interpreter, start);
	else
		x86_start_flags(interpreter, start);
}

void interpreter_run(struct interpreter *interpreter, const struct interpret_start *start,
		     const struct interpret_callbacks *callbacks, unsigned limit,
		     struct interpret_result *out)
{
	*out = (struct interpret_result){ .pc = start->pc };
	interpreter->callbacks = callbacks;
	interpreter->result = out;
	start_state(interpreter, start);
	/* an empty stack where no stack pointer says where it lies */
	unsigned sp = interpreter->isa == ISA_AARCH64 ? AARCH64_SP : X86_RSP;
	interpreter->start = *start;
	if (!(start->registers_known >> sp & 1))
		interpreter->start.stack.size = 0;
	memory_begin(&interpreter->memory, start->registers[sp], &interpreter->start, callbacks);
	follow(interpreter, limit);
}

void interpreter_go_on(struct interpreter *interpreter, unsigned limit)
{
	follow(interpreter, limit);
}

void interpreter_forget(struct interpreter *interpreter, const struct step *step)
{
	unsigned vector = interpreter->isa == ISA_AARCH64 ? AARCH64_V0 : X86_XMM0;
	for (unsigned r = register_set_next(&step->writes, 0); r < vector + 32;
	     r = register_set_next(&step->writes, r + 1)) {
		if (r >= vector)
			interpreter->vectors[r - vector][0] = interpreter->vectors[r - vector][1] =
				bits_unknown();
		else if (r < (interpreter->isa == ISA_AARCH64 ? 32u : 16u))
			interpreter->general[r] = bits_unknown();
	}
}

const char *interpret_end_name(enum interpret_end end)
{
	static const char *const names[INTERPRET_ENDS] = {
		[INTERPRET_END_LIMIT] = "limit",
		[INTERPRET_END_CONDITION] = "unknown condition",
		[INTERPRET_END_INDIRECT] = "unknown target",
		[INTERPRET_END_RETURN] = "unknown return",
		[INTERPRET_END_SYSTEM] = "system call",
		[INTERPRET_END_CODE] = "no code",
		[INTERPRET_END_UNKNOWN] = "unknown instruction",
	};
	return names[end];
}
