/* The pair of registers of Intel's slots and metrics, read in user space. */
#include "count/count_set_private.h"
#include "count/kernel.h"
#include "count/reading.h"
#include "count/topdown_private.h"

/* The slots lead their group; any metric event stands for the register of all. */
static const struct count_slot *slots_of(const struct topdown_cores *cores)
{
	return &cores->set->slots[cores->where.event_of[0]];
}

static const struct count_slot *metrics_of(const struct topdown_cores *cores)
{
	return &cores->set->slots[cores->where.event_of[1]];
}

static bool is_readable(const struct count_slot *slot)
{
	return slot->page && slot->page->cap_user_rdpmc;
}

bool topdown_registers_readable(struct topdown_cores *cores)
{
	if (!is_readable(slots_of(cores)) || !is_readable(metrics_of(cores)))
		return false;
	cores->slots_bits = slots_of(cores)->page->pmc_width;
	if (cores->slots_bits == 0 || cores->slots_bits > TOPDOWN_MOST_SLOTS_BITS)
		cores->slots_bits = TOPDOWN_SLOTS_BITS;
	return true;
}

bool topdown_read_registers(const struct topdown_cores *cores, struct topdown_reading *reading,
			    uint32_t *sequence)
{
	const struct count_kernel *kernel = cores->set->kernel;
	const volatile struct perf_event_mmap_page *slots = slots_of(cores)->page;
	const volatile struct perf_event_mmap_page *metrics = metrics_of(cores)->page;
	if (!own_process_is_this(&cores->set->own))
		return false;
	do {
		*sequence = slots->lock;
		COMPILER_BARRIER();
		if (!slots->cap_user_rdpmc || !slots->index || !metrics->index)
			return false;
		reading->slots = read_counter(kernel, TOPDOWN_RDPMC_SLOTS);
		reading->metrics = read_counter(kernel, TOPDOWN_RDPMC_METRICS);
		COMPILER_BARRIER();
	} while (slots->lock != *sequence);
	return true;
}

int topdown_reset_registers(const struct topdown_cores *cores)
{
	return cores->set->kernel->control(slots_of(cores)->fd, PERF_EVENT_IOC_RESET, 0);
}
