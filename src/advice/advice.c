#include "advice/advice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice/advice_parts.h"
#include "base/array.h"

const char *finding_state_name(enum finding_state state)
{
	static const char *const names[] = { "ok", "limit", "stop", "unknown" };
	return names[state];
}

const char *advising_text(struct advising *advising, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	const char *kept = arena_copy_text(&advising->advice->arena, text, strlen(text));
	if (!kept)
		advising->failed = true;
	return kept ? kept : "";
}

void advising_add(struct advising *advising, const char *key, enum finding_state state,
		  const char *what, const char *means, const char *cure)
{
	struct advice *advice = advising->advice;
	if (advising->failed || array_reserve(&advice->findings, &advising->capacity, advice->count,
					      sizeof(*advice->findings))) {
		advising->failed = true;
		return;
	}
	advice->findings[advice->count++] = (struct finding){ key, state, what, means, cure };
}

/* The prefix of a command that changes a kernel setting, which a container cannot do. */
static const char *as_root(const struct advising *advising)
{
	const struct facts *facts = advising->facts;
	if (facts->cpu->container[0] || facts->rights->user_namespace == FACT_YES)
		return "on the host: sudo ";
	return facts->rights->uid == 0 ? "" : "sudo ";
}

const char *advising_sysctl(struct advising *advising, const char *assignments)
{
	return advising_text(advising, "%ssysctl -w %s", as_root(advising), assignments);
}

const char *advising_write(struct advising *advising, const char *value, const char *file)
{
	const char *root = as_root(advising);
	if (!root[0] && !strchr(file, '*'))
		return advising_text(advising, "echo %s >%s", value, file);
	if (root[0] == 'o')
		return advising_text(advising, "on the host: echo %s | sudo tee %s", value, file);
	return advising_text(advising, "echo %s | %stee %s", value, root, file);
}

/* The program's path quoted for a shell. */
static const char *quoted_program(struct advising *advising)
{
	const char *path = advising->facts->program;
	bool plain = !path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789/._+-")];
	return plain || path[0] == '$' || strchr(path, '\'')
		       ? path
		       : advising_text(advising, "'%s'", path);
}

static bool kernel_before(const char *release, int major, int minor)
{
	int has_major, has_minor;
	if (sscanf(release, "%d.%d", &has_major, &has_minor) != 2)
		return false;
	return has_major < major || (has_major == major && has_minor < minor);
}

const char *advising_setcap(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	if (rights->user_namespace == FACT_YES)
		return "run culprit outside of the user namespace (rootless container): no right "
		       "given "
		       "inside it counts";
	if (advising->facts->cpu->container[0] && rights->uid == 0)
		return advising_text(advising,
				     "start the container with --cap-add PERFMON --cap-add BPF "
				     "--cap-add SYS_PTRACE --cap-add SYSLOG "
				     "--security-opt seccomp=unconfined");
	if (rights->no_new_privileges == FACT_YES)
		return advising_text(advising,
				     "start culprit without no_new_privs, then: sudo setcap "
				     "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog+ep %s",
				     quoted_program(advising));
	/* CAP_PERFMON and CAP_BPF came with Linux 5.8; before, CAP_SYS_ADMIN was both. */
	bool old = kernel_before(rights->kernel, 5, 8);
	return advising_text(advising, "%ssetcap %s,cap_sys_ptrace,cap_syslog+ep %s",
			     rights->uid == 0 ? "" : "sudo ",
			     old ? "cap_sys_admin" : "cap_perfmon,cap_bpf",
			     quoted_program(advising));
}

bool advising_refused(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* What record does here, in one sentence: event, code, processes, rate. */
static void give_verdict(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	struct advice *advice = advising->advice;
	advice->can_record = facts->event;
	if (!facts->event) {
		advice->verdict = advising_text(advising, "nothing can be recorded: %s",
						facts->event_refusal ? facts->event_refusal
								     : "no event opens");
		return;
	}
	bool cycles = strstr(facts->event, "cycles");
	bool kernel = cycles ? facts->probe->cycles == 0 : facts->probe->clock == 0;
	const char *why =
		cycles					      ? ""
		: advising_refused(facts->probe->cycles_user) ? " (hardware cycles refused)"
		: facts->cpu->virtual_machine == FACT_YES     ? " (no PMU in this virtual machine)"
							      : " (no PMU)";
	char rate[96] = "";
	if (facts->cost)
		snprintf(rate, sizeof(rate), "; 1 %% of a CPU buys %llu samples a second",
			 (unsigned long long)sample_cost_rate(facts->cost, 0.01));
	advice->verdict = advising_text(
		advising, "culprit record works here: %s%s, %s, %s%s", facts->event, why,
		kernel ? "user and kernel code" : "user code only",
		facts->probe->all_processes == 0 ? "every process (-a)" : "your own processes",
		rate);
}

int advice_give(const struct facts *facts, struct advice *advice)
{
	struct advising advising = { .facts = facts, .advice = advice };
	*advice = (struct advice){ 0 };
	give_verdict(&advising);
	advise_rights(&advising);
	advise_helpers(&advising);
	advise_counters(&advising);
	advise_limits(&advising);
	advise_processor(&advising);
	advise_clock(&advising);
	if (!advising.failed)
		return 0;
	advice_release(advice);
	return -ENOMEM;
}

void advice_release(struct advice *advice)
{
	free(advice->findings);
	arena_release(&advice->arena);
	*advice = (struct advice){ 0 };
}
