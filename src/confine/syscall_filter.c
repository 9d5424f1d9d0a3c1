#include "confine/syscall_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.h"

#define X32_BIT 0x40000000u

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define NUMBER_AT	(uint32_t) offsetof(struct seccomp_data, nr)
#define ARCHITECTURE_AT (uint32_t) offsetof(struct seccomp_data, arch)

static const uint32_t verdicts[] = {
	[SYSCALL_ALLOW] = SECCOMP_RET_ALLOW,
	[SYSCALL_TRAP] = SECCOMP_RET_TRAP,
	[SYSCALL_KILL] = SECCOMP_RET_KILL_PROCESS,
};

static void put(struct syscall_filter *filter, struct sock_filter instruction)
{
	if (filter->count < SYSCALL_FILTER_MAX)
		filter->code[filter->count] = instruction;
	if (filter->count <= SYSCALL_FILTER_MAX)
		filter->count++; /* one more than fits: too many */
}

static void put_load(struct syscall_filter *filter, uint32_t offset)
{
	put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* Goes `past` instructions further where the comparison fails (or, `inverted`, holds). */
static void put_test(struct syscall_filter *filter, uint16_t comparison, uint32_t value,
		     uint8_t past, int inverted)
{
	put(filter, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | comparison | BPF_K), value,
						 inverted ? past : 0, inverted ? 0 : past));
}

static void put_return(struct syscall_filter *filter, uint32_t verdict)
{
	put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

void syscall_filter_begin(struct syscall_filter *filter)
{
	filter->count = 0;
#ifdef OWN_ARCHITECTURE
	put_load(filter, ARCHITECTURE_AT);
	put_test(filter, BPF_JEQ, OWN_ARCHITECTURE, 1, 1);
	put_return(filter, SECCOMP_RET_KILL_PROCESS);
#endif
#ifdef __x86_64__
	put_load(filter, NUMBER_AT);
	put_test(filter, BPF_JGE, X32_BIT, 1, 0);
	put_return(filter, SECCOMP_RET_KILL_PROCESS);
#endif
}

static unsigned int condition_length(const struct syscall_condition *condition)
{
	return condition->test == SYSCALL_ANY ? 0 : condition->test == SYSCALL_MASKED ? 5 : 2;
}

/* `past` instructions follow the condition within its rule. */
static void put_condition(struct syscall_filter *filter, const struct syscall_condition *condition,
			  uint8_t past)
{
	uint32_t low = (uint32_t)offsetof(struct seccomp_data, args) +
		       condition->argument * (uint32_t)sizeof(uint64_t);
	uint32_t high = low + (uint32_t)sizeof(uint32_t); /* little-endian */
	uint32_t value = condition->value;
	switch ((enum syscall_test)condition->test) {
	case SYSCALL_ANY:
		return;
	case SYSCALL_EQUALS:
		put_load(filter, low);
		put_test(filter, BPF_JEQ, value, past, 0);
		return;
	case SYSCALL_AT_MOST:
		put_load(filter, low);
		put_test(filter, BPF_JGT, value, past, 1);
		return;
	case SYSCALL_WITHOUT:
		put_load(filter, low);
		put_test(filter, BPF_JSET, value, past, 1);
		return;
	case SYSCALL_WITH:
		put_load(filter, low);
		put_test(filter, BPF_JSET, value, past, 0);
		return;
	case SYSCALL_ABOVE_4G:
		put_load(filter, high);
		put_test(filter, BPF_JEQ, 0, past, 1);
		return;
	case SYSCALL_MASKED:
		put_load(filter, high);
		put_test(filter, BPF_JEQ, 0, (uint8_t)(past + 3), 0);
		put_load(filter, low);
		put(filter,
		    (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition->mask));
		put_test(filter, BPF_JEQ, value, past, 0);
		return;
	}
}

void syscall_filter_add(struct syscall_filter *filter, const struct syscall_rule *rules,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct syscall_rule *rule = &rules[i];
		unsigned int left = 1; /* instructions of the rule that are still to come */
		for (size_t k = 0; k < SYSCALL_CONDITIONS; k++)
			left += condition_length(&rule->conditions[k]);
		put_load(filter, NUMBER_AT);
		put_test(filter, BPF_JEQ, (uint32_t)rule->number, (uint8_t)left, 0);
		for (size_t k = 0; k < SYSCALL_CONDITIONS; k++) {
			left -= condition_length(&rule->conditions[k]);
			put_condition(filter, &rule->conditions[k], (uint8_t)left);
		}
		put_return(filter, verdicts[rule->verdict]);
	}
}

int syscall_filter_install(struct syscall_filter *filter)
{
#ifdef OWN_ARCHITECTURE
	put_return(filter, SECCOMP_RET_ERRNO | EPERM);
	if (filter->count > SYSCALL_FILTER_MAX)
		return -E2BIG;
	struct sock_fprog program = { filter->count, filter->code };
	/* Not prctl(): what runs under valgrind would put valgrind itself under the filter. */
	/* The thread sanitizer's own thread does what no list knows. */
	unsigned int flags = THREAD_SANITIZER ? 0 : SECCOMP_FILTER_FLAG_TSYNC;
	long ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (ret > 0)
		return -EBUSY; /* a thread that has a filter of its own */
	if (ret == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS || errno == EPERM ? -ENOSYS : -errno;
#else
	(void)filter;
	return -ENOSYS;
#endif
}
