#include "analyze/names/kernel_names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * From Linux 5.10 to 6.18: the unlock functions of kernel/locking/spinlock.c
 * that restore or enable interrupts, and functions that do so inline at a point
 * where much waits for it. Sorted for bsearch().
 */
static const char *const late[] = {
	"__local_bh_enable_ip",
	"__raw_read_unlock_irq",
	"__raw_read_unlock_irqrestore",
	"__raw_spin_unlock_irq",
	"__raw_spin_unlock_irqrestore",
	"__raw_write_unlock_irq",
	"__raw_write_unlock_irqrestore",
	"_raw_read_unlock_irq",
	"_raw_read_unlock_irqrestore",
	"_raw_spin_unlock_irq",
	"_raw_spin_unlock_irqrestore",
	"_raw_write_unlock_irq",
	"_raw_write_unlock_irqrestore",
	"finish_task_switch",
	"native_irq_enable",
	"native_restore_fl",
	"pv_native_irq_enable",
	"raw_spin_rq_unlock_irq",
	"raw_spin_rq_unlock_irqrestore",
	"xen_irq_enable_direct",
	"xen_restore_fl_direct",
};

/* kernel/sched/idle.c, drivers/cpuidle, drivers/idle, arch idle.c and process.c */
static const char *const idle[] = {
	"acpi_idle_do_entry",
	"acpi_idle_enter",
	"acpi_processor_ffh_cstate_enter",
	"acpi_safe_halt",
	"amd_e400_idle",
	"arch_cpu_idle",
	"cpu_do_idle",
	"cpu_idle_poll",
	"cpu_v7_do_idle",
	"cpuidle_enter_state",
	"default_idle",
	"default_idle_call",
	"do_idle",
	"haltpoll_enter_idle",
	"intel_idle",
	"intel_idle_hlt",
	"intel_idle_hlt_irq",
	"intel_idle_ibrs",
	"intel_idle_irq",
	"mwait_idle",
	"mwait_idle_with_hints",
	"native_halt",
	"native_safe_halt",
	"poll_idle",
	"psci_cpu_suspend_enter",
	"psci_enter_idle_state",
	"pv_native_safe_halt",
	"tdx_halt",
	"tdx_safe_halt",
	"xen_safe_halt",
};

struct stem {
	const char *text;
	size_t size;
};

static int compare(const void *key, const void *element)
{
	const struct stem *stem = key;
	const char *name = *(const char *const *)element;
	int order = strncmp(stem->text, name, stem->size);
	return order ? order : -(int)(name[stem->size] != 0);
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
	struct stem stem = { name, strcspn(name, ".") };
	return bsearch(&stem, list, count, sizeof(*list), compare) != NULL;
}

bool kernel_name_is_late(const char *name)
{
	return is_in(name, late, sizeof(late) / sizeof(late[0]));
}

bool kernel_name_is_idle(const char *name)
{
	return is_in(name, idle, sizeof(idle) / sizeof(idle[0]));
}
