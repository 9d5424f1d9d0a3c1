#include "count/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/small_file.h"
#include "machine/event.h"
#include "machine/pmu.h"

static void explain_rights(char *text, size_t size)
{
	char paranoid[16];
	if (small_file_read_line("/proc/sys/kernel/perf_event_paranoid", paranoid,
				 sizeof(paranoid)))
		snprintf(text, size, "permission denied");
	else
		snprintf(text, size, "permission denied (kernel.perf_event_paranoid is %s)",
			 paranoid);
}

void refusal_explain(const struct event *event, const struct pmu_list *pmus, int code, char *text,
		     size_t size)
{
	switch (-code) {
	case EACCES:
	case EPERM:
		explain_rights(text, size);
		return;
	case EOPNOTSUPP:
		if (event_is_kernel_only(&event->attr) && event->attr.exclude_kernel) {
			snprintf(text, size, "it happens in the kernel, which is left out");
			return;
		}
		/* fall through */
	case ENOENT:
	case ENODEV:
	case ENXIO:
		if (event->kind != EVENT_SOFTWARE && !pmu_core(pmus, 0))
			snprintf(text, size, "this machine has no hardware counters (no PMU)");
		else
			snprintf(text, size, "'%s' cannot count it", event->pmu);
		return;
	case EINVAL:
		snprintf(text, size,
			 event->uncore ? "'%s' counts whole sockets, not threads (CULPRIT_CPU)"
				       : "'%s' refuses this combination of settings",
			 event->pmu);
		return;
	case EBUSY:
		snprintf(text, size, "'%s' is held by somebody else", event->pmu);
		return;
	case ENOSYS:
		snprintf(text, size, "this kernel is built without perf events");
		return;
	default:
		snprintf(text, size, "%s", strerror(-code));
	}
}
