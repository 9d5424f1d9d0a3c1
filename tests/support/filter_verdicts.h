/*
 * filter_verdicts - what a seccomp filter decides for each system call, by walking
 * its program along every branch that an argument may take.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* Bits: a call whose arguments decide has several. */
enum filter_verdict {
	VERDICT_ALLOW = 1,
	VERDICT_REFUSE = 2, /* an errno */
	VERDICT_TRAP = 4,
	VERDICT_KILL = 8,
};

/* The verdicts for a system call, by its number on this machine. */
unsigned int filter_verdicts(const struct sock_filter *code, size_t count, uint32_t number);
/* "openat"; NULL: no such number. */
const char *filter_call_name(uint32_t number);
#define FILTER_CALLS 480 /* numbers from 0; newer ones are unknown to every list */
