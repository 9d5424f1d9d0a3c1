/*
 * x86-64: operands, moves and branches (Intel SDM volume 2); the files interpret_x86_*.c have the
 * rest.
 */
#include "isa/interpret_x86.h"

#include <string.h>

#define FLAG_CARRY     (1u << 0)
#define FLAG_PARITY    (1u << 2)
#define FLAG_ZERO      (1u << 6)
#define FLAG_SIGN      (1u << 7)
#define FLAG_DIRECTION (1u << 10)
#define FLAG_OVERFLOW  (1u << 11)

void x86_start_flags(struct interpreter *interpreter, const struct interpret_start *start)
{
	struct facts *facts = &interpreter->facts;
	interpreter->backwards = TRUTH_UNKNOWN;
	interpreter->guard_address = 0;
	if (!start->flags_known)
		return;
	fact_set(facts, FACT_CARRY, start->flags & FLAG_CARRY);
	fact_set(facts, FACT_PARITY, start->flags & FLAG_PARITY);
	fact_set(facts, FACT_ZERO, start->flags & FLAG_ZERO);
	fact_set(facts, FACT_SIGN, start->flags & FLAG_SIGN);
	fact_set(facts, FACT_OVERFLOW, start->flags & FLAG_OVERFLOW);
	facts_conclude(facts);
	interpreter->backwards = start->flags & FLAG_DIRECTION ? TRUTH_TRUE : TRUTH_FALSE;
}

struct known_bits x86_read_register(const struct interpreter *interpreter, unsigned number,
				    unsigned bytes)
{
	return bits_low(interpreter->general[number], 8 * bytes);
}

void x86_write_register(struct interpreter *interpreter, unsigned number, unsigned bytes,
			struct known_bits bits)
{
	struct known_bits *reg = &interpreter->general[number];
	if (bytes >= 4)
		*reg = bits_low(bits, 8 * bytes);
	else
		*reg = bits_insert(*reg, bits, bits_mask(8 * bytes));
}

/* The address that a memory operand's registers and constant make, without a segment's base. */
static struct known_bits effective(const struct interpreter *interpreter, const struct step *step,
				   const struct step_operand *operand)
{
	struct known_bits sum = bits_of(operand->constant);
	if (operand->base != REGISTER_NONE)
		sum = bits_add(sum, interpreter->general[operand->base], bits_of(0));
	if (operand->index != REGISTER_NONE) {
		unsigned shift = (unsigned)__builtin_ctz(operand->scale | 16u);
		sum = bits_add(sum, bits_left(interpreter->general[operand->index], shift),
			       bits_of(0));
	}
	return step->narrow_address ? bits_low(sum, 32) : sum;
}

bool x86_address(const struct interpreter *interpreter, const struct step *step,
		 const struct step_operand *operand, uint64_t *address)
{
	if (operand->kind != OPERAND_MEMORY || operand->segment)
		return false;
	struct known_bits sum = effective(interpreter, step, operand);
	*address = sum.value;
	return bits_are_known(sum, 64);
}

struct known_bits x86_read(struct interpreter *interpreter, const struct step *step,
			   unsigned operand)
{
	const struct step_operand *from = &step->operands[operand];
	unsigned width_bits = 8u * from->bytes;
	uint64_t address;
	if (from->kind == OPERAND_GENERAL) {
		struct known_bits bits = interpreter->general[from->number];
		return bits_low(from->high ? bits_right(bits, 8) : bits, width_bits);
	}
	if (from->kind == OPERAND_IMMEDIATE)
		return bits_of(from->constant);
	if (from->bytes >= 1 && from->bytes <= 8 && x86_address(interpreter, step, from, &address))
		return bits_low(memory_load(&interpreter->memory, address, from->bytes),
				width_bits);
	return from->kind == OPERAND_MEMORY && from->bytes <= 8
		       ? bits_low(bits_unknown(), width_bits)
		       : bits_unknown();
}

void x86_write(struct interpreter *interpreter, const struct step *step, unsigned operand,
	       struct known_bits bits)
{
	const struct step_operand *to = &step->operands[operand];
	uint64_t address;
	if (to->kind == OPERAND_GENERAL && to->high) {
		struct known_bits *reg = &interpreter->general[to->number];
		*reg = bits_insert(*reg, bits_left(bits_low(bits, 8), 8), 0xff00);
	} else if (to->kind == OPERAND_GENERAL) {
		x86_write_register(interpreter, to->number, to->bytes, bits);
	} else if (to->bytes <= 8 && x86_address(interpreter, step, to, &address)) {
		memory_store(&interpreter->memory, address, to->bytes, bits);
	}
}

enum truth x86_condition(const struct interpreter *interpreter, unsigned condition)
{
	static const uint8_t asked[8] = { FACT_OVERFLOW, FACT_CARRY,  FACT_ZERO, FACT_BELOW_EQUAL,
					  FACT_SIGN,	 FACT_PARITY, FACT_LESS, FACT_LESS_EQUAL };
	enum truth truth = fact_of(&interpreter->facts, asked[condition >> 1]);
	return condition & 1 ? truth_not(truth) : truth;
}

static void push(struct interpreter *interpreter, unsigned bytes, struct known_bits bits)
{
	struct known_bits *sp = &interpreter->general[X86_RSP];
	*sp = bits_subtract(*sp, bits_of(bytes));
	if (bits_are_known(*sp, 64))
		memory_store(&interpreter->memory, sp->value, bytes, bits);
}

static struct known_bits pop(struct interpreter *interpreter, unsigned bytes)
{
	struct known_bits *sp = &interpreter->general[X86_RSP];
	struct known_bits bits = bits_unknown();
	if (bits_are_known(*sp, 64))
		bits = memory_load(&interpreter->memory, sp->value, bytes);
	*sp = bits_add(*sp, bits_of(bytes), bits_of(0));
	return bits;
}

static unsigned width_of(const struct step *step)
{
	return 8u * step->operands[0].bytes;
}

static bool is_ours(const struct step *step, unsigned operand)
{
	unsigned kind = step->operands[operand].kind;
	return kind == OPERAND_GENERAL || kind == OPERAND_MEMORY || kind == OPERAND_IMMEDIATE;
}

static struct known_bits swap_bytes(struct known_bits bits, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;
	return (struct known_bits){ __builtin_bswap64(bits.value) >> shift,
				    __builtin_bswap64(bits.known) >> shift };
}

static void set_carry(struct facts *facts, enum truth truth)
{
	fact_set_truth(facts, FACT_CARRY, truth);
	fact_forget(facts, FACT_BELOW_EQUAL);
	facts_conclude(facts);
}

static void select(struct interpreter *interpreter, const struct step *step)
{
	struct known_bits no = x86_read(interpreter, step, 0);
	struct known_bits yes = x86_read(interpreter, step, 1);
	enum truth truth = x86_condition(interpreter, step->detail);
	x86_write(interpreter, step, 0,
		  truth == TRUTH_UNKNOWN ? bits_either(no, yes)
		  : truth		 ? yes
					 : no);
}

static void flip_carry(struct facts *facts)
{
	set_carry(facts, truth_not(fact_of(facts, FACT_CARRY)));
}

static void extend_a(struct interpreter *interpreter, unsigned bytes)
{
	struct known_bits low = x86_read_register(interpreter, X86_RAX, bytes / 2);
	x86_write_register(interpreter, X86_RAX, bytes, bits_extend(low, 4 * bytes));
}

static void extend_d(struct interpreter *interpreter, unsigned bytes)
{
	struct known_bits low = x86_read_register(interpreter, X86_RAX, bytes);
	x86_write_register(interpreter, X86_RDX, bytes,
			   bits_right_signed(bits_extend(low, 8 * bytes), 63));
}

/* push, pop, leave. */
static bool run_stack(struct interpreter *interpreter, const struct step *step)
{
	struct known_bits *general = interpreter->general;
	unsigned stack_bytes = step->narrow_operand ? 2 : 8;
	struct known_bits value;
	switch ((enum x86_work)step->work) {
	case WORK_PUSH: /* of flags and segments too, as unknown */
		value = is_ours(step, 0) ? x86_read(interpreter, step, 0) : bits_unknown();
		if (step->operands[0].kind == OPERAND_IMMEDIATE)
			value = bits_extend(value, 32);
		else if (step->operands[0].bytes != stack_bytes)
			value = bits_unknown(); /* 66 and REX.W, of which Capstone sees the 66 */
		push(interpreter, stack_bytes, value);
		return true;
	case WORK_POP:
		value = pop(interpreter, stack_bytes);
		if (step->operands[0].kind == OPERAND_GENERAL ||
		    step->operands[0].kind == OPERAND_MEMORY)
			x86_write(interpreter, step, 0, value);
		return true;
	case WORK_LEAVE:
		if (step->narrow_operand)
			return false;
		general[X86_RSP] = general[X86_RBP];
		general[X86_RBP] = pop(interpreter, 8);
		return true;
	default:
		return false;
	}
}

static bool run_flags(struct interpreter *interpreter, const struct step *step)
{
	struct facts *facts = &interpreter->facts;
	switch ((enum x86_work)step->work) {
	case WORK_SET_CARRY:
		set_carry(facts, TRUTH_TRUE);
		return true;
	case WORK_CLEAR_CARRY:
		set_carry(facts, TRUTH_FALSE);
		return true;
	case WORK_FLIP_CARRY:
		flip_carry(facts);
		return true;
	case WORK_SET_DIRECTION:
		interpreter->backwards = TRUTH_TRUE;
		return true;
	case WORK_CLEAR_DIRECTION:
		interpreter->backwards = TRUTH_FALSE;
		return true;
	default:
		return false;
	}
}

/* xchg. Memory is written first: the register may form its address. */
static void exchange(struct interpreter *interpreter, const struct step *step)
{
	struct known_bits a = x86_read(interpreter, step, 0);
	struct known_bits b = x86_read(interpreter, step, 1);
	bool memory_is_second = step->operands[1].kind == OPERAND_MEMORY;
	if (memory_is_second)
		x86_write(interpreter, step, 1, a);
	x86_write(interpreter, step, 0, b);
	if (!memory_is_second)
		x86_write(interpreter, step, 1, a);
}

/* setcc: 1 or 0, of which the low bit is unknown where the condition is. */
static void set_by_condition(struct interpreter *interpreter, const struct step *step)
{
	enum truth truth = x86_condition(interpreter, step->detail);
	struct known_bits bits = truth == TRUTH_UNKNOWN ? (struct known_bits){ 0, ~UINT64_C(1) }
							: bits_of(truth == TRUTH_TRUE);
	x86_write(interpreter, step, 0, bits);
}

static bool run_move(struct interpreter *interpreter, const struct step *step)
{
	switch ((enum x86_work)step->work) {
	case WORK_MOVE:
		if (!is_ours(step, 0) || !is_ours(step, 1))
			return false; /* segments, control registers */
		if (x86_is_guard(&step->operands[1])) {
			interpreter->guard_address = step->address + step->length;
			interpreter->guard_register = step->operands[0].number;
		}
		x86_write(interpreter, step, 0, x86_read(interpreter, step, 1));
		return true;
	case WORK_MOVE_ZERO:
		x86_write(interpreter, step, 0, x86_read(interpreter, step, 1));
		return true;
	case WORK_MOVE_SIGN:
		if (step->narrow_operand)
			return false; /* Capstone 4 misnames the registers of 66 63 */
		x86_write(
			interpreter, step, 0,
			bits_extend(x86_read(interpreter, step, 1), 8u * step->operands[1].bytes));
		return true;
	case WORK_ADDRESS:
		if (step->operands[1].kind != OPERAND_MEMORY)
			return false;
		x86_write(interpreter, step, 0, effective(interpreter, step, &step->operands[1]));
		return true;
	case WORK_EXCHANGE:
		exchange(interpreter, step);
		return true;
	case WORK_SELECT:
		select(interpreter, step);
		return true;
	case WORK_SET:
		set_by_condition(interpreter, step);
		return true;
	case WORK_SWAP_BYTES:
		if (step->operands[0].bytes < 4)
			return false;
		x86_write(interpreter, step, 0,
			  swap_bytes(x86_read(interpreter, step, 0), step->operands[0].bytes));
		return true;
	case WORK_EXTEND_A:
		extend_a(interpreter, step->detail);
		return true;
	case WORK_EXTEND_D:
		extend_d(interpreter, step->detail);
		return true;
	default:
		return run_stack(interpreter, step) || run_flags(interpreter, step);
	}
}

/* A conditional branch goes to its operand or on. */
static bool branch(struct interpreter *interpreter, const struct step *step, enum truth taken,
		   uint64_t *next, enum interpret_end *end)
{
	const struct step_operand *target = &step->operands[0];
	if (target->kind != OPERAND_IMMEDIATE)
		taken = TRUTH_UNKNOWN;
	return interpreter_branch(interpreter, step, taken, target->constant, next, end);
}

/* loop, loope, loopne: rcx counts down, and 0 ends the loop; so may FACT_ZERO. */
static bool loop(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		 enum interpret_end *end)
{
	unsigned bytes = step->narrow_address ? 4 : 8;
	struct known_bits count = x86_read_register(interpreter, X86_RCX, bytes);
	count = bits_low(bits_subtract(count, bits_of(1)), 8 * bytes);
	enum truth equal = fact_of(&interpreter->facts, FACT_ZERO);
	enum truth stays = truth_not(bits_are_zero(count));
	if (step->work != WORK_LOOP && stays != TRUTH_FALSE) {
		enum truth wanted = step->work == WORK_LOOP_EQUAL ? TRUTH_TRUE : TRUTH_FALSE;
		if (equal == TRUTH_UNKNOWN)
			stays = TRUTH_UNKNOWN;
		else if (equal != wanted)
			stays = TRUTH_FALSE;
	}
	if (!branch(interpreter, step, stays, next, end))
		return false;
	x86_write_register(interpreter, X86_RCX, bytes, count);
	return true;
}

/* Jumps and calls: *next becomes the target. */
static bool go(struct interpreter *interpreter, const struct step *step, uint64_t *next,
	       enum interpret_end *end)
{
	bool calls = step->work == WORK_CALL;
	bool direct = step->operands[0].kind == OPERAND_IMMEDIATE;
	struct known_bits target = x86_read(interpreter, step, 0);
	if (!bits_are_known(target, 64) || !is_ours(step, 0))
		return *end = INTERPRET_END_INDIRECT, false;
	if (calls)
		push(interpreter, 8, bits_of(*next));
	*next = target.value;
	if (!direct)
		interpreter_report(interpreter, step->address, *next,
				   calls ? INTERPRET_CALL : INTERPRET_INDIRECT);
	return true;
}

static bool go_back(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		    enum interpret_end *end)
{
	*end = INTERPRET_END_RETURN;
	struct known_bits before = interpreter->general[X86_RSP];
	struct known_bits target = pop(interpreter, 8);
	if (!bits_are_known(target, 64)) {
		interpreter->general[X86_RSP] = before;
		return false;
	}
	if (step->operand_count)
		interpreter->general[X86_RSP] =
			bits_add(interpreter->general[X86_RSP],
				 bits_of(step->operands[0].constant & 0xffff), bits_of(0));
	*next = target.value;
	interpreter_report(interpreter, step->address, *next, INTERPRET_RETURN);
	return true;
}

/* Makes unknown all that the effects say is written. */
static bool forget(struct interpreter *interpreter, const struct step *step,
		   enum interpret_end *end)
{
	uint64_t address;
	if (!step->known)
		return *end = INTERPRET_END_UNKNOWN, false;
	bool pushes = step->writes_memory && register_set_has(&step->writes, X86_RSP);
	if (pushes && bits_are_known(interpreter->general[X86_RSP], 64))
		memory_forget(&interpreter->memory,
			      interpreter->general[X86_RSP].value - FORGET_BYTES, FORGET_BYTES);
	for (unsigned i = 0; step->writes_memory && i < STEP_OPERANDS; i++)
		if (x86_address(interpreter, step, &step->operands[i], &address))
			memory_forget(&interpreter->memory, address,
				      step->written_bytes ? step->written_bytes : FORGET_BYTES);
	interpreter_forget(interpreter, step);
	const struct step_operand *first = &step->operands[0];
	if (first->kind == OPERAND_GENERAL && first->bytes == 4 && !step->repeats &&
	    register_set_has(&step->writes, first->number))
		interpreter->general[first->number] = bits_low(bits_unknown(), 32);
	if (register_set_has(&step->writes, X86_FLAGS))
		interpreter->facts = (struct facts){ 0, 0 };
	if (register_set_has(&step->writes, X86_DIRECTION))
		interpreter->backwards = TRUTH_UNKNOWN;
	return true;
}

static bool run_flow(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		     enum interpret_end *end)
{
	switch ((enum x86_work)step->work) {
	case WORK_BRANCH:
		return branch(interpreter, step, x86_condition(interpreter, step->detail), next,
			      end);
	case WORK_BRANCH_COUNT_ZERO:
		return branch(interpreter, step,
			      bits_are_zero(x86_read_register(interpreter, X86_RCX,
							      step->narrow_address ? 4 : 8)),
			      next, end);
	case WORK_LOOP:
	case WORK_LOOP_EQUAL:
	case WORK_LOOP_NOT_EQUAL:
		return loop(interpreter, step, next, end);
	case WORK_JUMP:
	case WORK_CALL:
		return go(interpreter, step, next, end);
	case WORK_RETURN:
		return go_back(interpreter, step, next, end);
	default:
		*end = INTERPRET_END_SYSTEM;
		return false;
	}
}

bool x86_step_run(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		  enum interpret_end *end)
{
	bool done = false;
	bool traps = false;
	if (step->work > WORK_LAST_VECTOR)
		return run_flow(interpreter, step, next, end);
	if (step->work == WORK_OTHER || width_of(step) > 512)
		done = false;
	else if (step->work <= WORK_LAST_MOVE)
		done = run_move(interpreter, step);
	else if (step->work <= WORK_LAST_ARITHMETIC)
		done = x86_run_arithmetic(interpreter, step);
	else if (step->work <= WORK_LAST_BITS)
		done = x86_run_bits(interpreter, step);
	else if (step->work <= WORK_LAST_PRODUCT)
		done = x86_run_product(interpreter, step, &traps);
	else
		done = x86_run_vector(interpreter, step);
	if (traps) {
		*end = INTERPRET_END_SYSTEM;
		return false;
	}
	return done || forget(interpreter, step, end);
}
