/*
 * latency_class - kinds of work that a processor treats alike: what decoding says of
 * an instruction and what a machine table (data/pipelines) has figures for. It stands
 * in base because both need it and neither sees the other.
 */
#pragma once

enum latency_class {
	LATENCY_UNKNOWN,
	LATENCY_NOP,   /* nothing to execute */
	LATENCY_MOVE,  /* between general registers, or of a constant */
	LATENCY_ALU,   /* one-cycle integer work, conditional moves and simple lea too */
	LATENCY_SHIFT, /* shifts, rotates; AArch64: bit fields, and operands shifted on the way */
	LATENCY_LEA,   /* an address of three parts, or with a scale */
	LATENCY_BIT_COUNT, /* popcnt, lzcnt, pdep, crc32 */
	LATENCY_MULTIPLY,
	LATENCY_DIVIDE,	     /* width_bits: of the divisor */
	LATENCY_TRANSFER,    /* between general and vector (or mask) registers */
	LATENCY_VECTOR_MOVE, /* fp and simd registers */
	LATENCY_VECTOR_INTEGER,
	LATENCY_VECTOR_MULTIPLY,
	LATENCY_SHUFFLE,
	LATENCY_FP_ADD, /* subtractions, comparisons, minima, rounding too */
	LATENCY_FP_MULTIPLY,
	LATENCY_FP_FUSED,
	LATENCY_FP_DIVIDE, /* width_bits: 16, 32, 64, or 80 for x87 */
	LATENCY_FP_ROOT,   /* likewise */
	LATENCY_CONVERT,   /* between integers and fp, and between widths of fp */
	LATENCY_LOAD,	   /* nothing but a load (or prefetch); other classes may load as well */
	LATENCY_STORE,
	LATENCY_BRANCH,
	LATENCY_CALL,
	LATENCY_RETURN,
	LATENCY_ATOMIC,	   /* a locked or exclusive access */
	LATENCY_BARRIER,   /* fences, and what waits for all before it */
	LATENCY_MICROCODE, /* x86 strings and other long sequences */
	LATENCY_CRYPTO,
	LATENCY_SYSTEM,
	LATENCY_CLASSES,
};

/* "fp-add"; "unknown" for LATENCY_UNKNOWN. */
const char *latency_class_name(enum latency_class class);
