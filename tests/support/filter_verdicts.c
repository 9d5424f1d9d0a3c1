#include "support/filter_verdicts.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/count_of.h"

#ifdef __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const struct {
	uint32_t number;
	const char *name;
} calls[] = {
#include "syscall_names.h"
};

const char *filter_call_name(uint32_t number)
{
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

static unsigned int verdict_of(uint32_t returned)
{
	switch (returned & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return VERDICT_ALLOW;
	case SECCOMP_RET_ERRNO:
		return VERDICT_REFUSE;
	case SECCOMP_RET_TRAP:
		return VERDICT_TRAP;
	default:
		return VERDICT_KILL;
	}
}

/* Ends since jumps go forward only. `known`: the value of the accumulator is; else it depends on an
 * argument. */
static unsigned int walk(const struct sock_filter *code, size_t count, size_t at, uint32_t number,
			 uint32_t accumulator, int known)
{
	while (at < count) {
		const struct sock_filter *step = &code[at];
		int holds;
		switch (BPF_CLASS(step->code)) {
		case BPF_RET:
			return verdict_of(step->k);
		case BPF_LD:
			known = step->k == offsetof(struct seccomp_data, nr) ||
				step->k == offsetof(struct seccomp_data, arch);
			accumulator = step->k == offsetof(struct seccomp_data, nr)
					      ? number
					      : OWN_ARCHITECTURE;
			at++;
			break;
		case BPF_JMP:
			if (!known)
				return walk(code, count, at + 1 + step->jt, number, 0, 0) |
				       walk(code, count, at + 1 + step->jf, number, 0, 0);
			holds = BPF_OP(step->code) == BPF_JEQ	? accumulator == step->k
				: BPF_OP(step->code) == BPF_JGE ? accumulator >= step->k
				: BPF_OP(step->code) == BPF_JGT ? accumulator > step->k
								: (accumulator & step->k) != 0;
			at += 1u + (holds ? step->jt : step->jf);
			break;
		default: /* arithmetic, on arguments only */
			at++;
		}
	}
	return VERDICT_KILL;
}

unsigned int filter_verdicts(const struct sock_filter *code, size_t count, uint32_t number)
{
	return walk(code, count, 0, number, 0, 0);
}
