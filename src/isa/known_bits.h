/*
 * known_bits - 64-bit values of which some bits are known, and arithmetic on them: a
 * bit of a result is known when it is the same whatever the unknown bits are, or
 * fewer are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Unknown bits are 0 in `value`. */
struct known_bits {
	uint64_t value, known;
};

static inline uint64_t bits_mask(unsigned width_bits)
{
	return width_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << width_bits) - 1;
}

static inline struct known_bits bits_of(uint64_t value)
{
	return (struct known_bits){ value, UINT64_MAX };
}

static inline struct known_bits bits_unknown(void)
{
	return (struct known_bits){ 0, 0 };
}

static inline bool bits_are_known(struct known_bits a, unsigned width_bits)
{
	return !(~a.known & bits_mask(width_bits));
}

/* The low bits, the others zero. */
static inline struct known_bits bits_low(struct known_bits a, unsigned width_bits)
{
	uint64_t mask = bits_mask(width_bits);
	return (struct known_bits){ a.value & mask, a.known | ~mask };
}

/* The low bits, the others as the highest of them. */
static inline struct known_bits bits_extend(struct known_bits a, unsigned width_bits)
{
	unsigned shift = 64 - width_bits;
	return (struct known_bits){ (uint64_t)((int64_t)(a.value << shift) >> shift),
				    (uint64_t)((int64_t)(a.known << shift) >> shift) };
}

/* `a` with the bits in `mask` replaced by those of `b`. */
static inline struct known_bits bits_insert(struct known_bits a, struct known_bits b, uint64_t mask)
{
	return (struct known_bits){ (a.value & ~mask) | (b.value & mask),
				    (a.known & ~mask) | (b.known & mask) };
}

static inline struct known_bits bits_not(struct known_bits a)
{
	return (struct known_bits){ ~a.value & a.known, a.known };
}

static inline struct known_bits bits_and(struct known_bits a, struct known_bits b)
{
	uint64_t zero = (a.known & ~a.value) | (b.known & ~b.value);
	uint64_t one = a.value & b.value;
	return (struct known_bits){ one, one | zero };
}

static inline struct known_bits bits_or(struct known_bits a, struct known_bits b)
{
	return bits_not(bits_and(bits_not(a), bits_not(b)));
}

static inline struct known_bits bits_xor(struct known_bits a, struct known_bits b)
{
	uint64_t known = a.known & b.known;
	return (struct known_bits){ (a.value ^ b.value) & known, known };
}

/* What holds of both: the result of a choice that is not known. */
static inline struct known_bits bits_either(struct known_bits a, struct known_bits b)
{
	uint64_t known = a.known & b.known & ~(a.value ^ b.value);
	return (struct known_bits){ a.value & known, known };
}

static inline struct known_bits bits_left(struct known_bits a, unsigned by)
{
	if (by >= 64)
		return bits_of(0);
	return (struct known_bits){ a.value << by, a.known << by | bits_mask(by) };
}

static inline struct known_bits bits_right(struct known_bits a, unsigned by)
{
	if (by >= 64)
		return bits_of(0);
	return (struct known_bits){ a.value >> by, a.known >> by | ~(UINT64_MAX >> by) };
}

static inline struct known_bits bits_right_signed(struct known_bits a, unsigned by)
{
	by = by > 63 ? 63 : by;
	return (struct known_bits){ (uint64_t)((int64_t)a.value >> by),
				    (uint64_t)((int64_t)a.known >> by) };
}

/* Within the low bits, which alone count; `by` is below their number. */
static inline struct known_bits bits_rotate_right(struct known_bits a, unsigned by,
						  unsigned width_bits)
{
	if (by == 0)
		return a;
	uint64_t mask = bits_mask(width_bits);
	unsigned left = width_bits - by;
	return (struct known_bits){ ((a.value & mask) >> by | a.value << left) & mask,
				    ((a.known & mask) >> by | a.known << left) & mask };
}

/*
 * a + b + carry. Carries are known where the least and the greatest values that the
 * operands may have carry alike.
 */
static inline struct known_bits bits_add(struct known_bits a, struct known_bits b,
					 struct known_bits carry)
{
	uint64_t a_most = a.value | ~a.known;
	uint64_t b_most = b.value | ~b.known;
	uint64_t most = a_most + b_most + (carry.value & 1 || !(carry.known & 1));
	uint64_t least = a.value + b.value + (carry.value & 1);
	uint64_t never_carries = ~(most ^ a_most ^ b_most);
	uint64_t carries = least ^ a.value ^ b.value;
	uint64_t known = a.known & b.known & (never_carries | carries);
	return (struct known_bits){ least & known, known };
}

static inline struct known_bits bits_subtract(struct known_bits a, struct known_bits b)
{
	return bits_add(a, bits_not(b), bits_of(1));
}

/* The least and the greatest number that the low bits may be: unsigned, then signed. */
static inline uint64_t bits_least(struct known_bits a, unsigned width_bits)
{
	return a.value & bits_mask(width_bits);
}

static inline uint64_t bits_most(struct known_bits a, unsigned width_bits)
{
	return (a.value | ~a.known) & bits_mask(width_bits);
}

static inline int64_t bits_signed(uint64_t value, unsigned width_bits)
{
	return (int64_t)(value << (64 - width_bits)) >> (64 - width_bits);
}

static inline int64_t bits_least_signed(struct known_bits a, unsigned width_bits)
{
	uint64_t sign = UINT64_C(1) << (width_bits - 1);
	return bits_signed(a.value | (~a.known & sign), width_bits);
}

static inline int64_t bits_most_signed(struct known_bits a, unsigned width_bits)
{
	uint64_t sign = UINT64_C(1) << (width_bits - 1);
	return bits_signed(a.value | (~a.known & ~sign), width_bits);
}
