/* Loads and stores of AArch64 (Arm ARM DDI 0487, C4.1.94 "Loads and Stores"). */
#include "isa/aarch64_work.h"

enum direction {
	STORES,
	LOADS,
};

static void access_memory(struct aarch64_work *work, enum direction direction, unsigned bytes)
{
	if (direction == LOADS) {
		work->effects->reads_memory = true;
		work->effects->read_bytes = (uint16_t)bytes;
	} else {
		work->effects->writes_memory = true;
		work->effects->written_bytes = (uint16_t)bytes;
	}
}

static void base(struct aarch64_work *work)
{
	register_set_add(&work->address, rn(work)); /* 31 is sp */
}

static void write_back(struct aarch64_work *work)
{
	write_x_sp(work, rn(work));
}

/* One register, general or vector, from or to memory. */
static void transfer(struct aarch64_work *work, enum direction direction, bool vector, unsigned n)
{
	if (direction == LOADS) {
		if (vector)
			write_v(work, n);
		else
			write_x(work, n);
	} else {
		if (vector)
			read_v(work, n);
		else
			read_x(work, n);
	}
}

static enum latency_class class_of(enum direction direction)
{
	return direction == LOADS ? LATENCY_LOAD : LATENCY_STORE;
}

static void read_modify_write(struct aarch64_work *work, unsigned bytes)
{
	base(work);
	access_memory(work, LOADS, bytes);
	access_memory(work, STORES, bytes);
}

/* LDXR, STXR, LDXP, STXP, LDAR, STLR, CAS, CASP */
static bool exclusive_effects(struct aarch64_work *work)
{
	unsigned size = field(work, 30, 2);
	enum direction direction = field(work, 22, 1) ? LOADS : STORES;
	bool ordered = field(work, 23, 1);
	bool pair = field(work, 21, 1);
	if (pair && ordered) { /* CAS: Rs is compared and gets the old value */
		read_modify_write(work, 1u << size);
		read_x(work, rm(work));
		write_x(work, rm(work));
		read_x(work, rd(work));
		work->newer = ra(work) == 31;
		return settle(work, LATENCY_ATOMIC);
	}
	if (pair && size < 2) { /* CASP of two and two registers */
		read_modify_write(work, 8u << size);
		for (unsigned n = 0; n < 2; n++) {
			read_x(work, (rm(work) + n) % 32);
			write_x(work, (rm(work) + n) % 32);
			read_x(work, (rd(work) + n) % 32);
		}
		work->newer = ra(work) == 31 && !(rm(work) & 1) && !(rd(work) & 1);
		return settle(work, LATENCY_ATOMIC);
	}
	base(work);
	access_memory(work, direction, pair ? 2u << size : 1u << size);
	transfer(work, direction, false, rd(work));
	if (pair)
		transfer(work, direction, false, ra(work));
	if (ordered)
		return settle(work, class_of(direction));
	if (direction == STORES)
		write_x(work, rm(work)); /* whether it was stored */
	return settle(work, LATENCY_ATOMIC);
}

static bool literal_effects(struct aarch64_work *work)
{
	unsigned opc = field(work, 30, 2);
	bool vector = field(work, 26, 1);
	if (opc == 3) /* PRFM touches nothing that counts */
		return !vector && settle(work, LATENCY_LOAD);
	access_memory(work, LOADS, vector ? 4u << opc : opc == 1 ? 8 : 4);
	transfer(work, LOADS, vector, rd(work));
	return settle(work, LATENCY_LOAD);
}

static bool pair_effects(struct aarch64_work *work)
{
	unsigned opc = field(work, 30, 2);
	unsigned mode = field(work, 23, 2); /* 0: no allocate, 1: post, 2: offset, 3: pre */
	bool vector = field(work, 26, 1);
	enum direction direction = field(work, 22, 1) ? LOADS : STORES;
	if (opc == 3)
		return false;
	unsigned bytes = vector ? 8u << opc : opc == 2 ? 16 : 8;
	if (!vector && opc == 1 && direction == STORES) { /* STGP: two of 8, with a tag */
		if (mode == 0)
			return false;
		bytes = 16;
		work->newer = true;
	}
	base(work);
	access_memory(work, direction, bytes);
	transfer(work, direction, vector, rd(work));
	transfer(work, direction, vector, ra(work));
	if (mode & 1)
		write_back(work);
	return settle(work, class_of(direction));
}

/* LDADD and its kin, SWP, LDAPR */
static bool atomic_effects(struct aarch64_work *work)
{
	unsigned bytes = 1u << field(work, 30, 2);
	unsigned operation = field(work, 12, 4);
	work->newer = true;
	if (operation == 12) { /* LDAPR */
		base(work);
		access_memory(work, LOADS, bytes);
		write_x(work, rd(work));
		return rm(work) == 31 && field(work, 22, 2) == 2 && settle(work, LATENCY_LOAD);
	}
	if (operation > 8)
		return false; /* LD64B, ST64B, RCW forms */
	read_modify_write(work, bytes);
	read_x(work, rm(work));
	write_x(work, rd(work));
	return settle(work, LATENCY_ATOMIC);
}

static bool is_prefetch(const struct aarch64_work *work)
{
	return !field(work, 26, 1) && field(work, 30, 2) == 3 && field(work, 22, 2) == 2;
}

/* What size, V and opc say; false: not allocated. */
static bool single_transfer(struct aarch64_work *work)
{
	unsigned size = field(work, 30, 2);
	unsigned opc = field(work, 22, 2);
	bool vector = field(work, 26, 1);
	enum direction direction = vector ? (opc & 1 ? LOADS : STORES) : opc ? LOADS : STORES;
	if (vector && opc >= 2 && size)
		return false;
	if (!vector && ((opc == 3 && size >= 2) || (opc == 2 && size == 3)))
		return false;
	access_memory(work, direction, vector && opc >= 2 ? 16 : 1u << size);
	transfer(work, direction, vector, rd(work));
	return settle(work, class_of(direction));
}

/* LDRAA, LDRAB */
static bool authenticated_load_effects(struct aarch64_work *work)
{
	if (field(work, 30, 2) != 3 || field(work, 26, 1))
		return false;
	base(work);
	access_memory(work, LOADS, 8);
	write_x(work, rd(work));
	if (field(work, 11, 1))
		write_back(work);
	work->newer = true;
	return settle(work, LATENCY_LOAD);
}

/* A register at a register with an offset in 9 bits, in a register, or updated. */
static bool register_effects(struct aarch64_work *work)
{
	unsigned mode = field(work, 10, 2);
	if (field(work, 21, 1)) {
		if (mode == 0)
			return !field(work, 26, 1) && atomic_effects(work);
		if (mode != 2)
			return authenticated_load_effects(work);
		if (rm(work) != 31)
			register_set_add(&work->address, rm(work));
		if (!field(work, 14, 1))
			return false;
	}
	base(work);
	if (is_prefetch(work))
		return (mode == 0 || mode == 2) && settle(work, LATENCY_LOAD);
	if (mode == 1 || mode == 3)
		write_back(work);
	return single_transfer(work);
}

/* LDAPUR, STLUR */
static bool ordered_effects(struct aarch64_work *work)
{
	base(work);
	work->newer = !field(work, 26, 1);
	return work->newer && !is_prefetch(work) && single_transfer(work);
}

/* CPYF*, CPY*, SET*: addresses and a length that move on. */
static bool copy_effects(struct aarch64_work *work)
{
	bool sets = field(work, 22, 2) == 3;
	unsigned part =
		sets ? field(work, 14, 2) : field(work, 22, 2); /* prologue, main, epilogue */
	if (field(work, 30, 2) != 0 || part == 3)
		return false;
	register_set_add(&work->address, rd(work));
	read_x(work, rn(work));
	write_x(work, rd(work));
	write_x(work, rn(work));
	access_memory(work, STORES, 0);
	if (sets) {
		read_x(work, rm(work));
	} else {
		register_set_add(&work->address, rm(work));
		write_x(work, rm(work));
		access_memory(work, LOADS, 0);
	}
	if (part == 0)
		write_flags(work);
	else
		read_flags(work);
	work->newer = true;
	return rd(work) != 31 && (sets || rm(work) != 31) && settle(work, LATENCY_MICROCODE);
}

/* LD1 to LD4, ST1 to ST4 of whole registers. */
static bool structures_effects(struct aarch64_work *work)
{
	static const uint8_t counts[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
	};
	unsigned count = counts[field(work, 12, 4)];
	enum direction direction = field(work, 22, 1) ? LOADS : STORES;
	bool post = field(work, 23, 1);
	if (!count || field(work, 21, 1) || (!post && rm(work)))
		return false;
	base(work);
	access_memory(work, direction, count * (field(work, 30, 1) ? 16 : 8));
	for (unsigned n = 0; n < count; n++)
		transfer(work, direction, true, rd(work) + n);
	if (post) {
		write_back(work);
		read_x(work, rm(work));
	}
	return settle(work, class_of(direction));
}

/* The same of one lane, or one element to all lanes. */
static bool lane_effects(struct aarch64_work *work)
{
	unsigned opcode = field(work, 13, 3);
	unsigned size = field(work, 10, 2);
	unsigned count = (opcode & 1) * 2 + field(work, 21, 1) + 1;
	enum direction direction = field(work, 22, 1) ? LOADS : STORES;
	bool replicates = opcode >= 6;
	bool post = field(work, 23, 1);
	if ((replicates && direction == STORES) || (!post && rm(work)))
		return false;
	unsigned element = replicates	? 1u << size
			   : opcode < 2 ? 1
			   : opcode < 4 ? 2
			   : size & 1	? 8
					: 4;
	base(work);
	access_memory(work, direction, count * element);
	for (unsigned n = 0; n < count; n++) {
		transfer(work, direction, true, rd(work) + n);
		if (!replicates)
			read_v(work, rd(work) + n); /* other lanes stay */
	}
	if (post) {
		write_back(work);
		read_x(work, rm(work));
	}
	return settle(work, class_of(direction));
}

bool aarch64_memory_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	if ((word & 0x3f000000) == 0x08000000)
		return exclusive_effects(work);
	if ((word & 0xbf000000) == 0x0c000000)
		return structures_effects(work);
	if ((word & 0xbf000000) == 0x0d000000)
		return lane_effects(work);
	if ((word & 0x3b000000) == 0x18000000)
		return literal_effects(work);
	if ((word & 0x3b200c00) == 0x19000400)
		return copy_effects(work);
	if ((word & 0x3b200c00) == 0x19000000)
		return ordered_effects(work);
	if ((word & 0x3a000000) == 0x28000000)
		return pair_effects(work);
	if ((word & 0x3b000000) == 0x38000000)
		return register_effects(work);
	if ((word & 0x3b000000) == 0x39000000) { /* an offset in 12 bits */
		base(work);
		return is_prefetch(work) ? settle(work, LATENCY_LOAD) : single_transfer(work);
	}
	return false; /* tags, and what is not allocated */
}
