#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "advice/perf_explain.h"
#include "advice/rights.h"
#include "machine/event.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"

/* EPERM does not come from perf's own check, which returns EACCES, but from a seccomp filter or a
 * security module. */
static void explain_refusal(const struct rights *rights, int code, bool kernel, pid_t pid, int cpu,
			    char *text, size_t size)
{
	if (code == -EPERM && rights->seccomp_mode == 2) {
		snprintf(
			text, size,
			"permission denied (a seccomp filter forbids perf_event_open, as container "
			"engines set it)");
		return;
	}
	if (rights->lockdown[0] && strcmp(rights->lockdown, "confidentiality") == 0) {
		snprintf(text, size, "permission denied (kernel lockdown is 'confidentiality')");
		return;
	}
	/* of one's own, which may have ended, only the kernel's part may not be counted */
	bool other = pid > 0 && kill(pid, 0) < 0 && errno == EPERM;
	if (pid > 0 && (other || !kernel || rights->paranoid < 2) &&
	    (rights->paranoid == RIGHTS_UNKNOWN || rights->paranoid <= 2) &&
	    rights->has[RIGHT_SYS_PTRACE] != FACT_YES) {
		snprintf(text, size,
			 "permission denied (process %ld is another user's or may not be traced; "
			 "perf_event_paranoid is %lld)",
			 (long)pid, (long long)rights->paranoid);
		return;
	}
	if (rights->paranoid == RIGHTS_UNKNOWN)
		snprintf(text, size, "permission denied (perf_event_paranoid cannot be read)");
	else
		snprintf(text, size, "permission denied (perf_event_paranoid is %lld%s)",
			 (long long)rights->paranoid,
			 pid == -1 && cpu >= 0 && rights->paranoid > 0
				 ? ", system-wide needs 0 or CAP_PERFMON"
				 : "");
}

static void explain_absence(const struct machine_root *root, const struct event *event, int cpu,
			    char *text, size_t size)
{
	struct pmu_list pmus;
	int ret = pmu_list_read(root, &pmus, NULL);
	if (event->kind == EVENT_SOFTWARE)
		snprintf(text, size, "this kernel does not have the software event");
	else if (ret == -ENOENT)
		snprintf(text, size,
			 "which PMUs there are is not known: /sys/bus/event_source is missing");
	else if (!pmu_core(&pmus, 0))
		snprintf(text, size, "this machine has no hardware counters (no PMU)");
	else if (cpu >= 0 && event->has_cpus && !cpu_set_has(&event->cpus, (size_t)cpu))
		snprintf(text, size, "CPU %d is not served by PMU '%s'", cpu, event->pmu);
	else
		snprintf(text, size, "PMU '%s' cannot count it", event->pmu);
	pmu_list_release(&pmus);
}

void perf_open_explain(const struct event *event, int code, pid_t pid, int cpu, char *text,
		       size_t size)
{
	struct machine_root root;
	struct rights rights;
	if (machine_root_open("/", &root, NULL)) {
		snprintf(text, size, "%s", strerror(-code));
		return;
	}
	switch (-code) {
	case EACCES:
	case EPERM:
		rights_read(&root, &rights);
		explain_refusal(&rights, code, !event->attr.exclude_kernel, pid, cpu, text, size);
		break;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		explain_absence(&root, event, cpu, text, size);
		break;
	case EOPNOTSUPP:
		if (event_is_kernel_only(&event->attr) && event->attr.exclude_kernel)
			snprintf(text, size, "it happens in the kernel, which is left out");
		else
			snprintf(text, size,
				 event->attr.precise_ip
					 ? "PMU '%s' has no precise sampling of it (drop the 'p')"
					 : "PMU '%s' counts it but cannot sample it, or not in "
					   "this way",
				 event->pmu);
		break;
	case EINVAL:
		snprintf(text, size,
			 event->uncore && pid != -1
				 ? "PMU '%s' counts whole sockets, not processes (use -a)"
				 : "PMU '%s' refuses this combination of settings",
			 event->pmu);
		break;
	case ESRCH:
		snprintf(text, size, "there is no process %ld", (long)pid);
		break;
	case EMFILE:
	case ENFILE:
		snprintf(text, size, "too many open files (raise 'ulimit -n')");
		break;
	case ENOSYS:
		snprintf(text, size, "this kernel is built without perf events");
		break;
	case EBUSY:
		snprintf(text, size, "PMU '%s' is held exclusively by somebody else", event->pmu);
		break;
	default:
		snprintf(text, size, "%s", strerror(-code));
	}
	machine_root_close(&root);
}
