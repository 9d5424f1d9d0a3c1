/*
 * rights - what this process may do with performance events, by the kernel's settings
 * and the process's own status; machine/probe.h tries whether it works. What cannot be
 * read is FACT_UNKNOWN, RIGHTS_UNKNOWN or "".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/cpu.h"

struct machine_root;

#define RIGHTS_UNKNOWN INT64_MIN

enum right {
	RIGHT_PERFMON,
	RIGHT_BPF,
	RIGHT_SYS_PTRACE,
	RIGHT_SYSLOG,
	RIGHT_SYS_ADMIN,
	RIGHT_DAC_READ_SEARCH,
	RIGHT_IPC_LOCK,
	RIGHT_COUNT
};

struct rights {
	char kernel[CPU_TEXT_SIZE]; /* release; "" unknown */
	int64_t uid;		    /* effective */
	enum fact has[RIGHT_COUNT]; /* effective capabilities */
	enum fact user_namespace; /* capabilities are those of a user namespace, which do not count
				     for perf and BPF */
	enum fact no_new_privileges; /* setcap and setuid have no effect for this process */
	int64_t seccomp_mode;	     /* 0 none, 1 strict, 2 filter */
	int64_t paranoid;	     /* kernel.perf_event_paranoid */
	int64_t kptr_restrict;
	int64_t nmi_watchdog;
	int64_t max_sample_rate; /* per CPU and second */
	int64_t max_stack;	 /* frames */
	int64_t cpu_time_max_percent;
	int64_t mlock_kb; /* KiB of ring memory per user and CPU that do not count as memlock */
	int64_t memlock_bytes; /* RLIMIT_MEMLOCK, soft; INT64_MAX: unlimited */
	int64_t open_files;    /* RLIMIT_NOFILE, soft */
	int64_t unprivileged_bpf_disabled;
	int64_t ptrace_scope;	      /* yama's; RIGHTS_UNKNOWN without yama */
	int64_t perf_user_access;     /* arm64's switch for user-space counter reads */
	int64_t rdpmc;		      /* x86's, of the first core PMU */
	char lockdown[CPU_TEXT_SIZE]; /* "none", "integrity", "confidentiality"; "" unknown or not
					 built */
	enum fact addresses_hidden;   /* /proc/kallsyms shows zeros */
};

void rights_read(const struct machine_root *root, struct rights *rights);
const char *right_name(enum right right); /* "cap_perfmon" */
/* Whether the capability is effective, and not only in a user namespace, which does not count for
 * perf and BPF. */
bool rights_hold(const struct rights *rights, enum right right);
/* Whether it holds CAP_PERFMON or CAP_SYS_ADMIN. */
bool rights_perfmon(const struct rights *rights);
