#include "base/latency_class.h"

static const char *const names[LATENCY_CLASSES] = {
	[LATENCY_UNKNOWN] = "unknown",
	[LATENCY_NOP] = "nop",
	[LATENCY_MOVE] = "move",
	[LATENCY_ALU] = "alu",
	[LATENCY_SHIFT] = "shift",
	[LATENCY_LEA] = "lea",
	[LATENCY_BIT_COUNT] = "bit-count",
	[LATENCY_MULTIPLY] = "multiply",
	[LATENCY_DIVIDE] = "divide",
	[LATENCY_TRANSFER] = "transfer",
	[LATENCY_VECTOR_MOVE] = "vector-move",
	[LATENCY_VECTOR_INTEGER] = "vector-integer",
	[LATENCY_VECTOR_MULTIPLY] = "vector-multiply",
	[LATENCY_SHUFFLE] = "shuffle",
	[LATENCY_FP_ADD] = "fp-add",
	[LATENCY_FP_MULTIPLY] = "fp-multiply",
	[LATENCY_FP_FUSED] = "fp-fused",
	[LATENCY_FP_DIVIDE] = "fp-divide",
	[LATENCY_FP_ROOT] = "fp-root",
	[LATENCY_CONVERT] = "convert",
	[LATENCY_LOAD] = "load",
	[LATENCY_STORE] = "store",
	[LATENCY_BRANCH] = "branch",
	[LATENCY_CALL] = "call",
	[LATENCY_RETURN] = "return",
	[LATENCY_ATOMIC] = "atomic",
	[LATENCY_BARRIER] = "barrier",
	[LATENCY_MICROCODE] = "microcode",
	[LATENCY_CRYPTO] = "crypto",
	[LATENCY_SYSTEM] = "system",
};

const char *latency_class_name(enum latency_class class)
{
	return names[class];
}
