#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advice/advice_parts.h"

/* The level of perf_event_paranoid to advise. Above 2 everything is refused, and 1 lets users
 * sample their own processes with the kernel's code; at 1 and 2 only -a is missing or the kernel,
 * which 0 gives. */
static int paranoid_target(const struct rights *rights)
{
	return rights->paranoid > 2 ? 1 : 0;
}

static void advise_paranoid(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	const char *what =
		advising_text(advising, "perf_event_paranoid is %lld", (long long)rights->paranoid);
	if (rights->paranoid == RIGHTS_UNKNOWN) {
		advising_add(advising, "paranoid", FINDING_UNKNOWN,
			     "perf_event_paranoid cannot be read",
			     "what an ordinary user may sample is seen by trying only",
			     "mount /proc with /proc/sys in it");
		return;
	}
	const char *cure =
		advising_sysctl(advising, advising_text(advising, "kernel.perf_event_paranoid=%d",
							paranoid_target(rights)));
	if (rights_perfmon(rights))
		advising_add(advising, "paranoid", FINDING_OK,
			     advising_text(advising, "%s; it does not bind you (%s)", what,
					   rights->has[RIGHT_PERFMON] == FACT_YES
						   ? "cap_perfmon"
						   : "cap_sys_admin"),
			     "", "");
	else if (rights->paranoid <= 0)
		advising_add(advising, "paranoid", FINDING_OK,
			     advising_text(advising, "%s: every user may sample everything", what),
			     "", "");
	else if (rights->paranoid == 1)
		advising_add(advising, "paranoid", FINDING_LIMIT, what,
			     "your own processes only, no -a", cure);
	else if (rights->paranoid == 2)
		advising_add(advising, "paranoid", FINDING_LIMIT, what,
			     "your own processes' user code only: no kernel code, no -a", cure);
	else
		advising_add(advising, "paranoid", FINDING_STOP, what,
			     "the kernel refuses every event to ordinary users", cure);
}

static void advise_capabilities(struct advising *advising)
{
	static const struct {
		enum right right;
		const char *loses;
	} wanted[] = {
		{ RIGHT_PERFMON, "other users' processes and the kernel" },
		{ RIGHT_BPF, "adding up samples inside the kernel" },
		{ RIGHT_SYS_PTRACE, "names in other users' processes that ran before the start" },
		{ RIGHT_SYSLOG, "the kernel's addresses" },
	};
	const struct rights *rights = advising->facts->rights;
	char held[256] = "", missing[256] = "", loses[512] = "";
	size_t unknown = 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool has = rights_hold(rights, wanted[i].right);
		char *list = has ? held : missing;
		size_t length = strlen(list);
		snprintf(list + length, 256 - length, "%s%s", length ? ", " : "",
			 right_name(wanted[i].right));
		unknown += rights->has[wanted[i].right] == FACT_UNKNOWN;
		/* cap_sys_admin includes the first two. */
		bool covered = i < 2 && rights_hold(rights, RIGHT_SYS_ADMIN);
		length = strlen(loses);
		if (!has && !covered)
			snprintf(loses + length, sizeof(loses) - length, "%s%s", length ? "; " : "",
				 wanted[i].loses);
	}
	if (unknown) {
		advising_add(advising, "capabilities", FINDING_UNKNOWN,
			     "capabilities cannot be read (/proc/self/status)", "", "");
		return;
	}
	if (!missing[0]) {
		advising_add(advising, "capabilities", FINDING_OK,
			     advising_text(advising, "capabilities: %s", held), "", "");
		return;
	}
	const char *what = rights->user_namespace == FACT_YES
				   ? "capabilities hold inside a user namespace only"
				   : advising_text(advising, "missing capabilities: %s%s%s",
						   missing, held[0] ? "; held: " : "", held);
	advising_add(advising, "capabilities", FINDING_LIMIT, what,
		     loses[0] ? advising_text(advising,
					      "out of reach, unless another setting allows it: %s",
					      loses)
			      : "",
		     loses[0] ? advising_setcap(advising) : "");
}

static void advise_seccomp(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	bool refused = facts->probe->clock_user == -EPERM || facts->probe->clock_user == -ENOSYS;
	if (facts->rights->seccomp_mode == 0)
		advising_add(advising, "seccomp", FINDING_OK, "no system call filter", "", "");
	else if (facts->rights->seccomp_mode == RIGHTS_UNKNOWN)
		advising_add(advising, "seccomp", FINDING_UNKNOWN,
			     "whether system calls are filtered cannot be read", "", "");
	else if (refused)
		advising_add(
			advising, "seccomp", FINDING_STOP,
			"a system call filter forbids perf_event_open",
			"nothing can be sampled or counted in this container or service",
			"docker or podman: run with --security-opt seccomp=unconfined; Kubernetes: "
			"seccompProfile {type: Unconfined}; systemd: "
			"SystemCallFilter=perf_event_open");
	else
		advising_add(advising, "seccomp", FINDING_OK,
			     "a system call filter is set; it lets perf_event_open through", "",
			     "");
}

static void advise_reach(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	int code = facts->probe->all_processes;
	if (code == 0)
		advising_add(advising, "system-wide", FINDING_OK,
			     "every process can be sampled (-a)", "", "");
	else if (code == -ENOSYS)
		advising_add(advising, "system-wide", FINDING_STOP,
			     "this kernel has no perf events", "nothing can be sampled or counted",
			     "boot a kernel built with CONFIG_PERF_EVENTS=y");
	else if (!advising_refused(code) || rights_perfmon(facts->rights))
		/* A refusal for lack of rights is in the findings before. */
		advising_add(
			advising, "system-wide", FINDING_LIMIT,
			advising_text(advising, "sampling a whole CPU fails: %s", strerror(-code)),
			"no -a, no other users' processes", "");
}

static void advise_kernel_names(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	if (rights->addresses_hidden == FACT_NO) {
		advising_add(advising, "kernel-names", FINDING_OK,
			     advising_text(advising,
					   "kernel addresses are readable (kptr_restrict %lld)",
					   (long long)rights->kptr_restrict),
			     "", "");
		return;
	}
	if (rights->addresses_hidden == FACT_UNKNOWN) {
		advising_add(advising, "kernel-names", FINDING_UNKNOWN,
			     "/proc/kallsyms cannot be read",
			     "kernel samples stay without procedure names", "");
		return;
	}
	/* kernel/ksyms_common.c: level 0 shows them to all where paranoid is at most 1, and to
	   CAP_SYSLOG otherwise; level 1 to CAP_SYSLOG; level 2 to nobody. */
	const char *cure = "";
	if (rights_hold(rights, RIGHT_SYSLOG))
		cure = advising_sysctl(advising, "kernel.kptr_restrict=1");
	else if (rights->paranoid > 1 || rights->paranoid == RIGHTS_UNKNOWN)
		cure = advising_sysctl(
			advising,
			advising_text(advising, "%skernel.perf_event_paranoid=%d",
				      rights->kptr_restrict ? "kernel.kptr_restrict=0 " : "",
				      paranoid_target(rights)));
	else
		cure = advising_sysctl(advising, "kernel.kptr_restrict=0");
	advising_add(advising, "kernel-names", FINDING_LIMIT,
		     rights->kptr_restrict == RIGHTS_UNKNOWN
			     ? "kernel addresses are hidden"
			     : advising_text(advising,
					     "kernel addresses are hidden (kptr_restrict %lld)",
					     (long long)rights->kptr_restrict),
		     "kernel samples stay without procedure names", cure);
}

static void advise_bpf(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	static const char rings[] =
		"samples come through rings: some 0.25 us more each, and more to lose";
	int code = facts->probe->bpf;
	if (facts->probe->btf == FACT_YES)
		advising_add(advising, "btf", FINDING_OK, "the kernel describes its types (BTF)",
			     "", "");
	else if (facts->probe->btf == FACT_NO)
		advising_add(advising, "btf", FINDING_LIMIT,
			     "the kernel does not describe its types (no BTF)", rings,
			     "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	else
		advising_add(advising, "btf", FINDING_UNKNOWN,
			     "/sys/kernel/btf/vmlinux cannot be read", rings, "");
	if (code == 0)
		advising_add(advising, "bpf", FINDING_OK, "BPF programs load", "", "");
	else if (advising_refused(code))
		advising_add(advising, "bpf", FINDING_LIMIT, "BPF programs may not be loaded",
			     rings,
			     strcmp(facts->rights->lockdown, "confidentiality") == 0
				     ? "boot without lockdown=confidentiality"
				     : advising_setcap(advising));
	else if (code == -ENOSYS)
		advising_add(advising, "bpf", FINDING_LIMIT, "this kernel has no bpf()", rings,
			     "boot a kernel built with CONFIG_BPF_SYSCALL=y");
	else
		advising_add(
			advising, "bpf", FINDING_LIMIT,
			advising_text(advising, "loading a BPF program fails: %s", strerror(-code)),
			rings, "");
}

void advise_rights(struct advising *advising)
{
	advise_paranoid(advising);
	advise_capabilities(advising);
	advise_seccomp(advising);
	advise_reach(advising);
	advise_kernel_names(advising);
	advise_bpf(advising);
}
