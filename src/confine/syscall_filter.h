/*
 * syscall_filter - which system calls a process may still make: a list of rules,
 * made into a seccomp filter of the kernel's that cannot be taken off again.
 *
 * What no rule names is refused with EPERM, for libraries try things that they
 * can do without. Calls of another architecture's table (32-bit ones, x32) end
 * the process.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum syscall_verdict {
	SYSCALL_ALLOW,
	SYSCALL_TRAP, /* SIGSYS: a handler answers in the kernel's place */
	SYSCALL_KILL, /* ends the process: no code of ours or of a library makes such a call */
};

enum syscall_test {
	SYSCALL_ANY,	  /* holds always */
	SYSCALL_EQUALS,	  /* the argument's lower half, all that an int has, is the value */
	SYSCALL_AT_MOST,  /* the lower half is the value or less */
	SYSCALL_WITHOUT,  /* the lower half has none of the value's bits */
	SYSCALL_WITH,	  /* the lower half has one of them, or more */
	SYSCALL_ABOVE_4G, /* the argument is 4 GiB or more */
	SYSCALL_MASKED,	  /* the argument is below 4 GiB, and its bits in `mask` are the value */
};

struct syscall_condition {
	uint8_t argument; /* 0 to 5 */
	uint8_t test;
	uint32_t value, mask;
};

#define SYSCALL_CONDITIONS 2

/* A rule holds when all its conditions do; the first that holds decides. */
struct syscall_rule {
	int number;
	enum syscall_verdict verdict;
	struct syscall_condition conditions[SYSCALL_CONDITIONS];
};

#define SYSCALL_FILTER_MAX 1024

struct syscall_filter {
	struct sock_filter code[SYSCALL_FILTER_MAX];
	uint16_t count;
};

/* Empties *filter, which is not initialized. */
void syscall_filter_begin(struct syscall_filter *filter);
/* Rules that are added first come first. */
void syscall_filter_add(struct syscall_filter *filter, const struct syscall_rule *rules,
			size_t count);
/*
 * From here on the filter holds, for all threads and across execve(); it needs no_new_privs. 0;
 * -ENOSYS: this kernel has no filters, or what stands in for the kernel (qemu-user, valgrind) has
 * none; -E2BIG: too many rules; -EBUSY: a thread has a filter of its own; or another negative
 * errno.
 */
int syscall_filter_install(struct syscall_filter *filter);
