/*
 * Effects of x86-64 instructions: operands from Capstone, what happens to them from
 * our own rules (x86_rules.h). Capstone 4's own lists of accessed registers are not
 * used: they miss merges, masks and much of AVX.
 */
#include <string.h>

#include "isa/effects_private.h"
#include "isa/x86_operands.h"
#include "isa/x86_rules.h"

struct work {
	const cs_insn *decoded;
	const cs_x86 *x86;
	const struct x86_rule *rule;
	struct x86_vector_prefix prefix;
	struct register_set data; /* read as values */
	struct register_set address;
	struct instruction_effects *effects;
};

static void add(struct register_set *set, unsigned capstone)
{
	const struct x86_numbered *numbered = x86_number_of(capstone);
	if (numbered->number)
		register_set_add(set, numbered->number - 1u);
}

static bool is_register(const cs_x86_op *operand)
{
	return operand->type == X86_OP_REG;
}

static bool is_general(const cs_x86_op *operand)
{
	const struct x86_numbered *numbered = x86_number_of(operand->reg);
	return is_register(operand) && numbered->number && numbered->number - 1 <= X86_R15;
}

static bool is_numbered_between(const cs_x86_op *operand, unsigned first, unsigned count)
{
	const struct x86_numbered *numbered = x86_number_of(operand->reg);
	return is_register(operand) && numbered->number > first &&
	       numbered->number <= first + count;
}

static void add_address(struct register_set *set, const x86_op_mem *memory)
{
	add(set, memory->base);
	add(set, memory->index);
	if (memory->segment == X86_REG_FS || memory->segment == X86_REG_GS)
		add(set, memory->segment);
}

static void read_memory(struct instruction_effects *effects, unsigned bytes)
{
	effects->reads_memory = true;
	effects->read_bytes = (uint16_t)bytes;
}

static void write_memory(struct instruction_effects *effects, unsigned bytes)
{
	effects->writes_memory = true;
	effects->written_bytes = (uint16_t)bytes;
}

static void read_operand(struct work *work, const cs_x86_op *operand)
{
	if (is_register(operand)) {
		add(&work->data, operand->reg);
	} else if (operand->type == X86_OP_MEM) {
		add_address(&work->address, &operand->mem);
		read_memory(work->effects, operand->size);
	}
}

/* 66 63 without REX.W writes 16 bits; Capstone names all 64. */
static bool is_narrow_movsxd(const struct work *work)
{
	return work->decoded->id == X86_INS_MOVSXD && work->x86->prefix[2] == X86_PREFIX_OPSIZE &&
	       !(work->x86->rex & 8);
}

static void write_operand(struct work *work, const cs_x86_op *operand)
{
	if (is_register(operand)) {
		add(&work->effects->writes, operand->reg);
		/* al, ah and ax leave the rest; of a vector with a mask the lanes stay that it
		 * hides */
		bool part = is_general(operand) &&
			    (x86_number_of(operand->reg)->bytes < 4 || is_narrow_movsxd(work));
		bool masked = work->prefix.merging && !(work->rule->notes & RULE_BLENDS) &&
			      is_numbered_between(operand, X86_XMM0, 32);
		if (part || masked)
			add(&work->data, operand->reg);
	} else if (operand->type == X86_OP_MEM) {
		add_address(&work->address, &operand->mem);
		write_memory(work->effects, operand->size);
	}
}

/* xor reg,reg and its kin: the operands whose values do not matter, or 0. */
static bool is_idiom(const struct work *work)
{
	const cs_x86_op *operands = work->x86->operands;
	unsigned first = work->prefix.vex ? 1 : 0;
	if (!(work->rule->notes & RULE_IDIOM) || work->x86->op_count < first + 2)
		return false;
	/* the sources are the last two: EVEX's mask may stand before them */
	const cs_x86_op *a = &operands[work->x86->op_count - 2];
	const cs_x86_op *b = &operands[work->x86->op_count - 1];
	if (!is_register(a) || !is_register(b) || a->reg != b->reg)
		return false;
	return !is_general(a) || x86_number_of(a->reg)->bytes >= 4;
}

static void apply_first(struct work *work, const cs_x86_op *first)
{
	switch ((enum x86_shape)work->rule->shape) {
	case SHAPE_READ:
		read_operand(work, first);
		break;
	case SHAPE_VECTOR:
	case SHAPE_LOW_LANE: {
		bool loads = work->rule->shape == SHAPE_LOW_LANE && work->x86->op_count > 1 &&
			     work->x86->operands[1].type == X86_OP_MEM;
		write_operand(work, first);
		if (is_register(first) && !work->prefix.vex && !loads)
			read_operand(work, first);
		break;
	}
	case SHAPE_MULTIPLY:
		if (work->x86->op_count != 1)
			write_operand(work, first);
		if (work->x86->op_count != 3)
			read_operand(work, first);
		break;
	case SHAPE_GATHER:
		write_operand(work, first);
		if (is_register(first))
			read_operand(work, first);
		break;
	case SHAPE_UPDATE:
	case SHAPE_EXCHANGE:
		read_operand(work, first);
		write_operand(work, first);
		break;
	case SHAPE_WRITE:
	case SHAPE_TWO:
	case SHAPE_LEA:
		write_operand(work, first);
		break;
	case SHAPE_ADDRESS:
	case SHAPE_NONE:
	case SHAPE_ALL:
		break;
	}
}

static void apply_other(struct work *work, unsigned index, const cs_x86_op *operand)
{
	unsigned shape = work->rule->shape;
	if (shape == SHAPE_TWO && index == 1) {
		write_operand(work, operand);
		return;
	}
	if (shape == SHAPE_LEA && operand->type == X86_OP_MEM) {
		add(&work->data, operand->mem.base);
		add(&work->data, operand->mem.index);
		return;
	}
	read_operand(work, operand);
	bool mask = shape == SHAPE_GATHER && operand->type == X86_OP_REG &&
		    (is_numbered_between(operand, X86_K0, 8) ||
		     work->x86->operands[0].type == X86_OP_REG);
	if (mask || (shape == SHAPE_EXCHANGE && index == 1))
		write_operand(work, operand);
}

static void apply_operands(struct work *work)
{
	const cs_x86 *x86 = work->x86;
	if (work->rule->shape == SHAPE_NONE)
		return;
	bool idiom = is_idiom(work);
	for (unsigned i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];
		if (work->rule->shape == SHAPE_ADDRESS) {
			if (operand->type == X86_OP_MEM)
				add_address(&work->address, &operand->mem);
		} else if (idiom && (i == 0 || i + 2 >= x86->op_count)) {
			if (i == 0)
				write_operand(work, operand);
		} else if (i == 0) {
			apply_first(work, operand);
		} else {
			apply_other(work, i, operand);
		}
	}
	if (work->prefix.mask)
		register_set_add(&work->data, X86_K0 + work->prefix.mask);
	work->effects->breaks_dependency = idiom;
}

static struct register_set implicit_set(uint32_t mask)
{
	static const struct {
		uint32_t mask;
		uint8_t number;
	} others[] = {
		{ RULE_FLAGS, X86_FLAGS }, { RULE_DF, X86_DIRECTION }, { RULE_X87, X86_X87 },
		{ RULE_XMM0, X86_XMM0 },   { RULE_MXCSR, X86_MXCSR },  { RULE_FS, X86_FS },
		{ RULE_GS, X86_GS },	   { RULE_SYS, X86_SYSTEM },
	};
	struct register_set set = { { mask & 0xffff, 0 } };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (mask & others[i].mask)
			register_set_add(&set, others[i].number);
	for (unsigned n = 0; mask & RULE_ALL_XMM && n < 16; n++)
		register_set_add(&set, X86_XMM0 + n);
	return set;
}

static void apply_implicit(struct work *work)
{
	uint32_t reads = work->rule->reads;
	uint32_t writes = work->rule->writes;
	unsigned bytes = work->x86->op_count ? work->x86->operands[0].size : 0;
	if (work->rule->notes & RULE_WIDE && work->x86->op_count == 1) { /* mul, div, imul of one */
		if (work->rule->shape == SHAPE_MULTIPLY) {
			reads |= RULE_RAX;
			writes |= RULE_RAX | RULE_RDX;
		}
		if (bytes == 1) {
			reads &= ~RULE_RDX;
			writes &= ~RULE_RDX;
		} else if (bytes == 2) {
			reads |= RULE_RDX; /* dx alone is written */
		}
	}
	if (work->rule->notes & RULE_STRING && work->x86->prefix[0] >= X86_PREFIX_REPNE) {
		register_set_add(&work->data, X86_RCX);
		writes |= RULE_RCX;
	}
	struct register_set read = implicit_set(reads);
	struct register_set written = implicit_set(writes);
	struct register_set *kind =
		work->rule->notes & RULE_ADDRESSES ? &work->address : &work->data;
	if (work->rule->notes & (RULE_PUSHES | RULE_POPS) && register_set_has(&read, X86_RSP)) {
		register_set_add(&work->address, X86_RSP);
		register_set_remove(&read, X86_RSP);
	}
	for (unsigned i = 0; i < 2; i++) {
		kind->bits[i] |= read.bits[i];
		work->effects->writes.bits[i] |= written.bits[i];
	}
	/* the direction is a value, and so is what names a port */
	if (kind == &work->address && register_set_has(&read, X86_DIRECTION))
		register_set_add(&work->data, X86_DIRECTION);
}

/* Memory that operands do not show. */
static void apply_implicit_memory(struct work *work)
{
	const cs_x86 *x86 = work->x86;
	unsigned bytes = x86->prefix[2] == X86_PREFIX_OPSIZE && !(x86->rex & 8) ? 2 : 8;
	bool microcoded = work->rule->class == LATENCY_MICROCODE;
	bool far_return = work->decoded->id == X86_INS_RETF || work->decoded->id == X86_INS_RETFQ;
	if (work->rule->notes & RULE_PUSHES)
		write_memory(work->effects, work->decoded->id == X86_INS_ENTER ? 0 : bytes);
	if (work->rule->notes & RULE_POPS)
		read_memory(work->effects, far_return ? 0 : bytes);
	if (work->decoded->id == X86_INS_XLATB) {
		register_set_add(&work->data, X86_RAX); /* al is written, the rest stays */
		read_memory(work->effects, 1);
	}
	if (work->decoded->id == X86_INS_MASKMOVDQU || work->decoded->id == X86_INS_VMASKMOVDQU)
		write_memory(work->effects, 16);
	if (work->decoded->id == X86_INS_MASKMOVQ)
		write_memory(work->effects, 8);
	bool repeats = work->rule->notes & RULE_STRING && x86->prefix[0] >= X86_PREFIX_REPNE;
	if ((repeats && microcoded) || work->rule->shape == SHAPE_GATHER) {
		work->effects->read_bytes = 0; /* as many as rcx or the mask says */
		work->effects->written_bytes = 0;
	}
}

/*
 * Capstone 4 ignores EVEX.W where it should not, and with it the length of vectors:
 * then sizes in memory are not known. Registers are right.
 */
static bool is_size_doubtful(const struct work *work)
{
	const cs_x86 *x86 = work->x86;
	if (!work->prefix.vector_bytes)
		return false;
	for (unsigned i = 0; i < x86->op_count; i++)
		if (is_numbered_between(&x86->operands[i], X86_XMM0, 32) &&
		    x86_number_of(x86->operands[i].reg)->bytes >= work->prefix.vector_bytes)
			return false;
	return true;
}

static enum latency_class class_of(const struct work *work)
{
	const cs_x86 *x86 = work->x86;
	const struct instruction_effects *effects = work->effects;
	enum latency_class class = work->rule->class;
	bool stores =
		x86->op_count && x86->operands[0].type == X86_OP_MEM && effects->writes_memory;
	if (x86->prefix[0] == X86_PREFIX_LOCK ||
	    (work->decoded->id == X86_INS_XCHG && effects->writes_memory))
		return LATENCY_ATOMIC;
	if (work->rule->shape == SHAPE_LEA && x86->op_count == 2) {
		const x86_op_mem *memory = &x86->operands[1].mem;
		bool parts = memory->base != X86_REG_INVALID && memory->index != X86_REG_INVALID &&
			     memory->disp;
		bool scaled = memory->index != X86_REG_INVALID && memory->scale > 1;
		return parts || scaled ? LATENCY_LEA : LATENCY_ALU;
	}
	if (work->rule->notes & RULE_MOVES && effects->reads_memory)
		return LATENCY_LOAD;
	if (stores && (work->rule->notes & RULE_MOVES || work->rule->shape == SHAPE_VECTOR))
		return LATENCY_STORE;
	if (class == LATENCY_MOVE && x86->op_count == 2)
		for (unsigned i = 0; i < 2; i++)
			if (is_register(&x86->operands[i]) && !is_general(&x86->operands[i]))
				return LATENCY_SYSTEM; /* segment, control and debug registers */
	if (class == LATENCY_VECTOR_MOVE && x86->op_count == 2 &&
	    is_general(&x86->operands[0]) != is_general(&x86->operands[1]))
		return LATENCY_TRANSFER;
	return class;
}

/*
 * Capstone 4 takes the general register of some EVEX forms for a vector register when
 * EVEX.X is set (which means nothing there), and exchanges the operands of vpmovm2*.
 */
static bool is_misread(const struct work *work)
{
	const struct x86_vector_prefix *prefix = &work->prefix;
	switch (work->decoded->id) {
	case X86_INS_VPMOVM2B:
	case X86_INS_VPMOVM2D:
	case X86_INS_VPMOVM2Q:
	case X86_INS_VPMOVM2W:
		return true;
	case X86_INS_VMOVD:
	case X86_INS_VMOVQ:
	case X86_INS_VCVTSI2SD:
	case X86_INS_VCVTSI2SS:
	case X86_INS_VCVTUSI2SD:
	case X86_INS_VCVTUSI2SS:
	case X86_INS_VPINSRB:
	case X86_INS_VPINSRD:
	case X86_INS_VPINSRQ:
	case X86_INS_VPINSRW:
	case X86_INS_VPEXTRB:
	case X86_INS_VPEXTRD:
	case X86_INS_VPEXTRQ:
	case X86_INS_VPEXTRW:
	case X86_INS_VEXTRACTPS:
		return prefix->extends_rm;
	case X86_INS_VPBROADCASTB:
	case X86_INS_VPBROADCASTD:
	case X86_INS_VPBROADCASTQ:
	case X86_INS_VPBROADCASTW:
		return prefix->extends_rm && prefix->opcode >= 0x7a && prefix->opcode <= 0x7c;
	}
	return false;
}

static unsigned width_bits_of(const struct work *work, const char *name)
{
	size_t length = strlen(name);
	switch (work->effects->class) {
	case LATENCY_DIVIDE:
		return work->x86->operands[0].size * 8u;
	case LATENCY_FP_DIVIDE:
	case LATENCY_FP_ROOT:
		return work->rule->reads & RULE_X87 ? 80 : name[length - 1] == 'd' ? 64 : 32;
	default:
		return 0;
	}
}

/* movsd and cmpsd are two instructions each; only the strings' are of one byte, A4 and on. */
static bool is_string(const cs_insn *decoded)
{
	const uint8_t *opcode = decoded->detail->x86.opcode;
	return (opcode[0] >= 0xa4 && opcode[0] <= 0xa7) ||
	       (opcode[0] >= 0xaa && opcode[0] <= 0xaf) || (opcode[0] >= 0x6c && opcode[0] <= 0x6f);
}

static const struct x86_rule no_rule; /* looked for, and not found */

static const struct x86_rule *find_rule(struct decoder *decoder, const char *name,
					const struct x86_vector_prefix *prefix)
{
	unsigned id = decoder->room->id;
	if (!prefix->vex && is_string(decoder->room))
		return x86_rule_of(name, true);
	if (id >= X86_INS_ENDING)
		return NULL;
	if (!decoder->rules[id]) {
		const struct x86_rule *rule = x86_rule_of(name, false);
		decoder->rules[id] = rule ? rule : &no_rule;
	}
	return decoder->rules[id] == &no_rule ? NULL : decoder->rules[id];
}

void x86_effects(struct decoder *decoder, struct instruction_effects *effects)
{
	const cs_insn *decoded = decoder->room;
	const char *name = cs_insn_name(decoder->capstone, decoded->id);
	struct x86_vector_prefix prefix = x86_vector_prefix_of(decoded);
	const struct x86_rule *rule = name ? find_rule(decoder, name, &prefix) : NULL;
	if (!rule || rule->shape == SHAPE_ALL) {
		effects_unknown(decoder->isa, effects);
		if (rule) {
			effects->known = true;
			effects->class = rule->class;
		}
		return;
	}
	*effects = (struct instruction_effects){ .known = true };
	struct work work = { .decoded = decoded,
			     .x86 = &decoded->detail->x86,
			     .rule = rule,
			     .prefix = prefix,
			     .effects = effects };
	if (is_misread(&work)) {
		effects_unknown(decoder->isa, effects);
		return;
	}
	apply_operands(&work);
	apply_implicit(&work);
	apply_implicit_memory(&work);
	if (is_size_doubtful(&work)) {
		effects->read_bytes = 0;
		effects->written_bytes = 0;
	}
	effects->reads = register_set_union(&work.data, &work.address);
	effects->address = register_set_without(&work.address, &work.data);
	effects->class = class_of(&work);
	effects->width_bits = (uint16_t)width_bits_of(&work, name);
	effects->conditional_move = rule->notes & RULE_SELECTS;
	effects->reads_flags = register_set_has(&effects->reads, X86_FLAGS);
	effects->writes_flags = register_set_has(&effects->writes, X86_FLAGS);
	effects->merges_flags =
		rule->notes & RULE_MERGES || (rule->notes & RULE_STRING && effects->writes_flags);
}
