/* Marking regions: what runs inside the code that is measured. Nothing here allocates or locks, and
 * where events are read in user space there is no system call. */
#include <math.h>

#include "count/count_set.h"
#include "count/counter_private.h"
#include "count/region_private.h"

#define RARELY(condition) __builtin_expect(!!(condition), 0)

__thread struct region_here region_here;

/* Orders what this thread does for its own signal handlers. */
static inline void order_for_handlers(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Whether these are the regions that the thread joined last. */
static inline bool is_here(const struct culprit_region *region)
{
	return region_here.id == region->id;
}

static struct region_stack *stack_of(const struct culprit_region *region)
{
	return is_here(region) ? region_here.stack : pthread_getspecific(region->key);
}

static inline struct region_cells *cells_of(struct region_stack *stack,
					    const struct culprit_region *region)
{
	return atomic_load_explicit(&stack->cells[region->number], memory_order_relaxed);
}

static inline uint32_t last_of(const struct region_stack *stack)
{
	return atomic_load_explicit(&stack->plain_last, memory_order_relaxed);
}

static inline void set_last(struct region_stack *stack, uint32_t last)
{
	order_for_handlers();
	atomic_store_explicit(&stack->plain_last, last, memory_order_relaxed);
	order_for_handlers();
}

static inline struct region_frame *frame_at(struct region_stack *stack, uint32_t at)
{
	return (struct region_frame *)((char *)stack + at);
}

/* By a handler at any time, so in one step. */
static void count_up(_Atomic uint64_t *field)
{
	atomic_fetch_add_explicit(field, 1, memory_order_relaxed);
}

static struct count_moment *moments_of(struct region_stack *stack, const struct region_frame *frame)
{
	return stack->moments + (size_t)(frame - stack->frames - 2) * stack->events;
}

/* With events, with another clock, too deep, or where nothing is measured. */
static __attribute__((noinline)) void begin_in_general(struct culprit_region *region)
{
	struct region_stack *stack = stack_of(region);
	if (!region_stack_is_live(stack)) {
		count_up(&region->not_joined);
		return;
	}
	if (stack->top >= REGION_LAST_FRAME) {
		count_up(&cells_of(stack, region)->omitted);
		stack->deeper++;
		stack->top = REGION_LAST_FRAME + sizeof(struct region_frame);
		return;
	}
	stack->top += sizeof(struct region_frame);
	order_for_handlers();
	struct region_frame *frame = frame_at(stack, stack->top);
	frame->plain_region = NULL;
	frame->region = region;
	frame->inner = 0;
	if (stack->counters)
		count_set_moments(stack->counters->set, moments_of(stack, frame));
	frame->ticks = ticks_read(&stack->clock);
}

void culprit_region_begin(struct culprit_region *region)
{
	struct region_stack *stack = region_here.stack;
	if (RARELY(!is_here(region) || stack->top >= last_of(stack))) {
		begin_in_general(region);
		return;
	}
	uint32_t top = stack->top + (uint32_t)sizeof(struct region_frame);
	/* a handler that begins a region from here on takes the frame after this one */
	stack->top = top;
	order_for_handlers();
	struct region_frame *frame = frame_at(stack, top);
	frame->plain_region = region;
	frame->inner = 0;
	frame->ticks = instruction_ticks();
}

static inline struct culprit_region *region_of(const struct region_frame *frame)
{
	return frame->plain_region ? frame->plain_region : frame->region;
}

static inline void pop(struct region_stack *stack, struct region_frame *frame)
{
	frame[-1].inner += frame->inner + 1;
	order_for_handlers();
	stack->top = (uint32_t)((char *)(frame - 1) - (char *)stack);
}

static inline void add_time(const struct region_stack *stack, const struct region_frame *frame,
			    uint64_t ticks, struct region_cells *cells)
{
	uint64_t passed = ticks - frame->ticks;
	/* on machines whose CPUs' clocks differ */
	if (RARELY((int64_t)passed < 0))
		tally_miss(&cells->tallies[0]);
	else
		tally_add(&cells->tallies[0], passed, frame->inner, &stack->prices[0]);
}

static void add_event(const struct region_stack *stack, size_t event,
		      const struct count_moment *begin, const struct count_moment *end,
		      uint64_t inner, struct region_cells *cells)
{
	struct region_tally *tally = &cells->tallies[1 + event];
	const struct region_price *price = &stack->prices[1 + event];
	if (begin[event].known && end[event].known && begin[event].sequence &&
	    begin[event].sequence == end[event].sequence) {
		/* it was on the PMU all the time */
		tally_add(tally, end[event].count - begin[event].count, inner, price);
		return;
	}
	struct culprit_value value;
	counters_difference(stack->counters, begin, end, event, NULL, &value);
	tally_flag(tally, value.flags & ~(uint32_t)CULPRIT_ABSENT);
	if (value.flags & CULPRIT_ABSENT) {
		tally_miss(tally);
		return;
	}
	uint64_t count = value.count;
	if (value.flags & CULPRIT_MULTIPLEXED)
		count = (uint64_t)llround(value.value /
					  stack->counters->events.events[event].scale);
	tally_add(tally, count, inner, price);
}

static void end_in_general(struct region_stack *stack, struct region_frame *frame)
{
	struct count_moment end[CULPRIT_REGION_EVENTS];
	uint64_t ticks = ticks_read(&stack->clock);
	if (stack->counters)
		count_set_moments(stack->counters->set, end);
	struct region_cells *cells = cells_of(stack, region_of(frame));
	if (last_of(stack) == REGION_WRITING) {
		count_up(&cells->omitted);
		pop(stack, frame);
		return;
	}
	set_last(stack, REGION_WRITING);
	uint64_t sequence = region_cells_begin(cells);
	add_time(stack, frame, ticks, cells);
	for (size_t i = 0; i < stack->events; i++)
		add_event(stack, i, moments_of(stack, frame), end, frame->inner, cells);
	region_cells_end(cells, sequence);
	set_last(stack, stack->usual_last);
	pop(stack, frame);
}

/*
 * Where a region other than the innermost ends, those within it have not ended, as after a
 * longjmp(), and count as mismatched; so does one that ends and has not begun.
 */
static __attribute__((noinline)) void end_unexpectedly(struct culprit_region *region)
{
	struct region_stack *stack = stack_of(region);
	if (!region_stack_is_live(stack))
		return;
	if (stack->deeper) {
		if (--stack->deeper == 0)
			stack->top = REGION_LAST_FRAME;
		return;
	}
	struct region_frame *innermost = frame_at(stack, stack->top), *frame = innermost;
	struct region_frame *outside = frame_at(stack, REGION_FIRST_FRAME);
	while (frame > outside && region_of(frame) != region)
		frame--;
	if (frame == outside) {
		count_up(&cells_of(stack, region)->mismatched);
		return;
	}
	for (; innermost > frame; innermost--)
		count_up(&cells_of(stack, region_of(innermost))->mismatched);
	end_in_general(stack, frame);
}

void culprit_region_end(struct culprit_region *region)
{
	struct region_stack *stack = region_here.stack;
	if (RARELY(!is_here(region) || frame_at(stack, stack->top)->plain_region != region)) {
		end_unexpectedly(region);
		return;
	}
	struct region_frame *frame = frame_at(stack, stack->top);
	uint64_t ticks = instruction_ticks();
	struct region_cells *cells = cells_of(stack, region);
	set_last(stack, REGION_WRITING);
	uint64_t sequence = region_cells_begin(cells);
	add_time(stack, frame, ticks, cells);
	region_cells_end(cells, sequence);
	set_last(stack, REGION_LAST_FRAME);
	pop(stack, frame);
}
