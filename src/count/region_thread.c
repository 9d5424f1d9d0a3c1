/* Threads join and leave, and end without having left. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "count/count_set.h"
#include "count/counter_private.h"
#include "count/region_private.h"
#include "count/region_summary.h"

static size_t stack_bytes(size_t events)
{
	return sizeof(struct region_stack) +
	       CULPRIT_REGION_DEPTH * events * sizeof(struct count_moment);
}

static void free_stack(struct region_stack *stack, size_t events)
{
	if (stack)
		munmap(stack, stack_bytes(events));
}

static int new_stack(size_t events, struct region_stack **stack, struct error *err)
{
	void *pages = mmap(NULL, stack_bytes(events), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages == MAP_FAILED)
		return error_set(err, -ENOMEM, "out of memory while joining regions");
	if (madvise(pages, stack_bytes(events), MADV_WIPEONFORK) != 0) {
		int status = -errno;
		free_stack(pages, events);
		return error_set(err, status,
				 "cannot join regions: a child that is forked could "
				 "not be kept from counting (MADV_WIPEONFORK, Linux 4.14)");
	}
	*stack = pages;
	return 0;
}

static void set_cells(struct region_thread *thread, size_t number, struct region_cells *cells)
{
	if (thread->stack)
		atomic_store_explicit(&thread->stack->cells[number], cells, memory_order_relaxed);
	atomic_store_explicit(&thread->cells[number], cells, memory_order_relaxed);
}

static struct region_cells *cells_of(const struct region_thread *thread, size_t number)
{
	return atomic_load_explicit(&thread->cells[number], memory_order_relaxed);
}

static int add_cells(struct region_thread *thread, size_t number)
{
	struct region_cells *cells = region_cells_new(1 + thread->regions->event_count);
	if (!cells)
		return -ENOMEM;
	set_cells(thread, number, cells);
	return 0;
}

static void remove_cells(struct region_thread *thread, size_t number)
{
	struct region_cells *cells = cells_of(thread, number);
	set_cells(thread, number, NULL);
	region_cells_free(cells);
}

int region_threads_add_cells(struct culprit_regions *regions, uint32_t number)
{
	int status = 0;
	struct region_thread *thread;
	for (thread = regions->threads; thread && status == 0; thread = thread->next)
		if (thread->stack)
			status = add_cells(thread, number);
	for (thread = regions->threads; thread && status; thread = thread->next)
		remove_cells(thread, number);
	return status;
}

static void free_thread(struct region_thread *thread)
{
	for (size_t i = 0; i < REGION_NUMBERS; i++)
		region_cells_free(cells_of(thread, i));
	for (size_t i = 0; i < CULPRIT_REGION_NAMES; i++)
		free(thread->remainders[i]);
	culprit_counters_close(thread->counters);
	free_stack(thread->stack, thread->regions->event_count);
	free(thread);
}

static void free_list(struct region_thread *thread)
{
	while (thread) {
		struct region_thread *next = thread->next;
		free_thread(thread);
		thread = next;
	}
}

void region_threads_free(struct culprit_regions *regions)
{
	free_list(regions->threads);
	free_list(regions->forgotten);
}

/* False when nothing is in the cells. */
static bool summarize(const struct region_thread *thread, const struct region_cells *cells,
		      struct region_summary *parts, struct region_remainder *remainder)
{
	const struct culprit_regions *regions = thread->regions;
	remainder->mismatched = tally_get(&cells->mismatched);
	remainder->omitted = tally_get(&cells->omitted);
	bool any = remainder->mismatched || remainder->omitted;
	for (size_t i = 0; i <= regions->event_count; i++) {
		region_summary_add(&parts[i], cells, i, &thread->costs[i]);
		region_summary_result(&parts[i], regions->scales[i], &remainder->quantities[i]);
		any |= parts[i].count || parts[i].absent;
	}
	return any;
}

/* Instead of its histograms, which are large, the figures of a thread that leaves stay. Without
 * memory for them everything does. */
static void condense(struct region_thread *thread, size_t number)
{
	struct culprit_regions *regions = thread->regions;
	size_t quantities = 1 + regions->event_count;
	struct region_cells *cells = cells_of(thread, number);
	struct region_remainder *remainder =
		calloc(1, sizeof(*remainder) + quantities * sizeof(remainder->quantities[0]));
	struct region_summary *parts = calloc(quantities, sizeof(*parts));
	struct region_summary *left = regions->left[number];
	if (!left)
		left = calloc(quantities, sizeof(*left));
	bool any =
		cells && remainder && parts && left && summarize(thread, cells, parts, remainder);
	if (any) {
		for (size_t i = 0; i < quantities; i++)
			region_summary_merge(&left[i], &parts[i]);
		regions->left_mismatched[number] += remainder->mismatched;
		regions->left_omitted[number] += remainder->omitted;
		regions->left[number] = left;
		thread->remainders[number] = remainder;
		remainder = NULL;
	}
	if (cells && parts && left && (any || remainder))
		remove_cells(thread, number);
	if (left != regions->left[number])
		free(left);
	free(parts);
	free(remainder);
}

static void forget_here(const struct culprit_regions *regions)
{
	pthread_setspecific(regions->key, NULL);
	if (region_here.id == regions->id)
		region_here.id = 0;
}

static void leave(struct region_thread *thread)
{
	struct culprit_regions *regions = thread->regions;
	forget_here(regions); /* a signal handler finds no stack from here on */
	region_lock(regions);
	for (size_t i = 0; i < regions->count; i++)
		condense(thread, i);
	culprit_counters_close(thread->counters);
	thread->counters = NULL;
	free_stack(thread->stack, regions->event_count);
	thread->stack = NULL;
	region_unlock(regions);
}

void region_thread_ends(void *pages)
{
	struct region_stack *stack = pages;
	if (region_stack_is_live(stack)) /* else it is the parent's */
		leave(stack->thread);
}

void culprit_regions_leave(struct culprit_regions *regions)
{
	struct region_stack *stack = pthread_getspecific(regions->key);
	if (!stack)
		return;
	region_thread_ends(stack);
}

/* Everything but the cells of regions that have names. */
static int set_up(struct region_thread *thread, struct culprit_error *error, struct error *err)
{
	struct culprit_regions *regions = thread->regions;
	struct culprit_options options = regions->options;
	options.flags |= CULPRIT_NOT_CALIBRATED; /* that is done here */
	int status = regions->events ? counters_open(regions->events, &options, regions->world,
						     &thread->counters, error)
				     : 0;
	if (status) {
		err->code = 0; /* said already */
		return status;
	}
	if (thread->counters && culprit_counters_count(thread->counters) != regions->event_count)
		return error_set(err, -EIO,
				 "cannot join regions: the events of this machine are "
				 "not those any more that they were opened with");
	status = new_stack(regions->event_count, &thread->stack, err);
	if (status)
		return status;
	struct region_stack *stack = thread->stack;
	stack->live = true;
	stack->clock = regions->clock;
	stack->top = REGION_FIRST_FRAME;
	stack->usual_last = regions->events || regions->clock.read ? (uint32_t)REGION_GENERAL
								   : REGION_LAST_FRAME;
	stack->plain_last = stack->usual_last;
	stack->counters = thread->counters;
	stack->events = regions->event_count;
	stack->thread = thread;
	if (!(regions->options.flags & CULPRIT_NOT_CALIBRATED))
		status = region_calibrate(regions, stack, thread->costs);
	return status ? error_set(err, status, "out of memory while joining regions") : 0;
}

/* From the moment that the thread finds its stack a signal handler may use any region: each has its
 * cells by then. */
static int take_part(struct region_thread *thread, struct error *err)
{
	struct culprit_regions *regions = thread->regions;
	int status = 0;
	region_lock(regions);
	for (size_t i = 0; i < regions->count && status == 0; i++)
		status = add_cells(thread, i);
	if (status == 0)
		status = -pthread_setspecific(regions->key, thread->stack);
	if (status == 0) {
		region_here_set(regions->id, thread->stack);
		*regions->last = thread;
		regions->last = &thread->next;
	}
	region_unlock(regions);
	return status ? error_set(err, status, "out of memory while joining regions") : 0;
}

static bool has_joined(struct culprit_regions *regions)
{
	region_lock(regions); /* in the child of a fork: forgets the parent's threads */
	struct region_stack *stack = pthread_getspecific(regions->key);
	region_unlock(regions);
	return region_stack_is_live(stack);
}

static int join(struct culprit_regions *regions, struct culprit_error *error, struct error *err)
{
	if (has_joined(regions))
		return error_set(err, -EALREADY, "this thread has joined the regions before");
	struct region_thread *thread = calloc(1, sizeof(*thread));
	if (!thread)
		return error_set(err, -ENOMEM, "out of memory while joining regions");
	thread->regions = regions;
	thread->tid = gettid();
	int status = set_up(thread, error, err);
	if (status == 0)
		status = take_part(thread, err);
	if (status) {
		forget_here(regions);
		free_thread(thread);
	}
	return status;
}

int culprit_regions_join(struct culprit_regions *regions, struct culprit_error *error)
{
	struct error err = { 0 };
	sigset_t all, before;
	/* A handler that marks regions would find a stack that has no cells for them yet. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int status = join(regions, error, &err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error && err.code) {
		error->code = status;
		snprintf(error->text, sizeof(error->text), "%s", err.text);
	}
	return status;
}
