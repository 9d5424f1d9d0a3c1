#include "advice/rights.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/capability.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "machine/machine_root.h"

/* Since Linux 5.8; libc's header may be older than the kernel. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const struct {
	int number;
	const char *name;
} capabilities[RIGHT_COUNT] = {
	[RIGHT_PERFMON] = { CAP_PERFMON, "cap_perfmon" },
	[RIGHT_BPF] = { CAP_BPF, "cap_bpf" },
	[RIGHT_SYS_PTRACE] = { CAP_SYS_PTRACE, "cap_sys_ptrace" },
	[RIGHT_SYSLOG] = { CAP_SYSLOG, "cap_syslog" },
	[RIGHT_SYS_ADMIN] = { CAP_SYS_ADMIN, "cap_sys_admin" },
	[RIGHT_DAC_READ_SEARCH] = { CAP_DAC_READ_SEARCH, "cap_dac_read_search" },
	[RIGHT_IPC_LOCK] = { CAP_IPC_LOCK, "cap_ipc_lock" },
};

const char *right_name(enum right right)
{
	return capabilities[right].name;
}

static int64_t read_number(const struct machine_root *root, const char *path)
{
	int64_t value;
	return root_read_i64(root, path, &value) ? RIGHTS_UNKNOWN : value;
}

/* The text after "\nKEY:" and spaces, to the end of the line; false when it is not there. */
static bool find_field(const char *text, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);
	for (const char *line = text; *line;) {
		size_t end = strcspn(line, "\n");
		if (strncmp(line, key, length) == 0) {
			size_t skip = length + strspn(line + length, ": \t");
			size_t kept = end > skip ? end - skip : 0;
			if (kept >= size)
				kept = size - 1;
			memcpy(value, line + skip, kept);
			value[kept] = 0;
			return true;
		}
		line += end + (line[end] == '\n');
	}
	return false;
}

static int64_t find_number(const char *text, const char *key)
{
	char value[64];
	uint64_t number;
	if (!find_field(text, key, value, sizeof(value)))
		return RIGHTS_UNKNOWN;
	value[strcspn(value, " \t")] = 0;
	return number_parse_u64(value, &number) && number <= INT64_MAX ? (int64_t)number
								       : RIGHTS_UNKNOWN;
}

/* Reads capabilities by a system call, for when /proc is not mounted. */
static void get_capabilities(struct rights *rights)
{
	cap_t held = cap_get_proc();
	if (!held)
		return;
	for (size_t i = 0; i < RIGHT_COUNT; i++) {
		cap_flag_value_t set;
		if (cap_get_flag(held, (cap_value_t)capabilities[i].number, CAP_EFFECTIVE, &set) ==
		    0)
			rights->has[i] = set == CAP_SET ? FACT_YES : FACT_NO;
	}
	cap_free(held);
}

static void read_status(const struct machine_root *root, struct rights *rights)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	char field[128], number[128];
	uint64_t mask;
	rights->uid = rights->seccomp_mode = RIGHTS_UNKNOWN;
	bool readable = root_read_text(root, "proc/self/status", &text) == 0;
	const char *status = buffer_text(&text);
	if (readable && find_field(status, "CapEff", field, sizeof(field))) {
		snprintf(number, sizeof(number), "0x%.100s", field);
		for (size_t i = 0; number_parse_u64(number, &mask) && i < RIGHT_COUNT; i++)
			rights->has[i] = mask >> capabilities[i].number & 1 ? FACT_YES : FACT_NO;
	} else if (root->live) {
		get_capabilities(rights);
	}
	if (!readable)
		return;
	unsigned long real, effective;
	if (find_field(status, "Uid", field, sizeof(field)) &&
	    sscanf(field, "%lu %lu", &real, &effective) == 2)
		rights->uid = (int64_t)effective;
	rights->seccomp_mode = find_number(status, "Seccomp");
	int64_t privileges = find_number(status, "NoNewPrivs");
	if (privileges != RIGHTS_UNKNOWN)
		rights->no_new_privileges = privileges ? FACT_YES : FACT_NO;
}

/* Outside every user namespace the map is the identity over all ids. */
static void read_namespace(const struct machine_root *root, struct rights *rights)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	unsigned long long inside, outside, count;
	if (root_read_text(root, "proc/self/uid_map", &text))
		return;
	if (sscanf(buffer_text(&text), "%llu %llu %llu", &inside, &outside, &count) != 3)
		return;
	bool whole = inside == 0 && outside == 0 && count == UINT32_MAX;
	rights->user_namespace = whole ? FACT_NO : FACT_YES;
}

static int64_t find_limit(const char *limits, const char *name)
{
	char field[128];
	if (!find_field(limits, name, field, sizeof(field)))
		return RIGHTS_UNKNOWN;
	if (strncmp(field, "unlimited", 9) == 0)
		return INT64_MAX;
	return find_number(limits, name);
}

static void read_limits(const struct machine_root *root, struct rights *rights)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	rights->memlock_bytes = rights->open_files = RIGHTS_UNKNOWN;
	if (root_read_text(root, "proc/self/limits", &text))
		return;
	rights->memlock_bytes = find_limit(buffer_text(&text), "Max locked memory");
	rights->open_files = find_limit(buffer_text(&text), "Max open files");
}

/* "none [integrity] confidentiality": the one in brackets is in force. */
static void read_lockdown(const struct machine_root *root, struct rights *rights)
{
	char line[CPU_TEXT_SIZE];
	if (root_read_line(root, "sys/kernel/security/lockdown", line, sizeof(line)))
		return;
	char *open = strchr(line, '[');
	char *close = open ? strchr(open, ']') : NULL;
	if (close)
		snprintf(rights->lockdown, sizeof(rights->lockdown), "%.*s",
			 (int)(close - open - 1), open + 1);
}

/* Whether all addresses are 0: kptr_restrict hides all or none, and the first symbols may really be
 * at 0 (per-CPU data). */
static void read_addresses(const struct machine_root *root, struct rights *rights)
{
	char line[512];
	int fd = openat(root->fd, "proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	CLEANUP(close_file) FILE *file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		rights->addresses_hidden = FACT_YES;
		if (strspn(line, "0") < strcspn(line, " ")) {
			rights->addresses_hidden = FACT_NO;
			return;
		}
	}
}

void rights_read(const struct machine_root *root, struct rights *rights)
{
	*rights = (struct rights){ 0 };
	struct utsname name;
	if (root_read_line(root, "proc/sys/kernel/osrelease", rights->kernel,
			   sizeof(rights->kernel)) &&
	    root->live && uname(&name) == 0)
		snprintf(rights->kernel, sizeof(rights->kernel), "%s", name.release);
	read_status(root, rights);
	read_namespace(root, rights);
	read_limits(root, rights);
	read_lockdown(root, rights);
	read_addresses(root, rights);
	rights->paranoid = read_number(root, "proc/sys/kernel/perf_event_paranoid");
	rights->kptr_restrict = read_number(root, "proc/sys/kernel/kptr_restrict");
	rights->nmi_watchdog = read_number(root, "proc/sys/kernel/nmi_watchdog");
	rights->max_sample_rate = read_number(root, "proc/sys/kernel/perf_event_max_sample_rate");
	rights->max_stack = read_number(root, "proc/sys/kernel/perf_event_max_stack");
	rights->cpu_time_max_percent =
		read_number(root, "proc/sys/kernel/perf_cpu_time_max_percent");
	rights->mlock_kb = read_number(root, "proc/sys/kernel/perf_event_mlock_kb");
	rights->unprivileged_bpf_disabled =
		read_number(root, "proc/sys/kernel/unprivileged_bpf_disabled");
	rights->ptrace_scope = read_number(root, "proc/sys/kernel/yama/ptrace_scope");
	rights->perf_user_access = read_number(root, "proc/sys/kernel/perf_user_access");
	rights->rdpmc = read_number(root, "sys/bus/event_source/devices/cpu/rdpmc");
	if (rights->rdpmc == RIGHTS_UNKNOWN)
		rights->rdpmc = read_number(root, "sys/bus/event_source/devices/cpu_core/rdpmc");
}

bool rights_hold(const struct rights *rights, enum right right)
{
	return rights->has[right] == FACT_YES && rights->user_namespace != FACT_YES;
}

bool rights_perfmon(const struct rights *rights)
{
	return rights_hold(rights, RIGHT_PERFMON) || rights_hold(rights, RIGHT_SYS_ADMIN);
}
