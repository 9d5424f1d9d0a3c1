#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "analyze/flame/flame_view.h"
#include "base/cleanup.h"
#include "base/error.h"

static void set_ratio(struct flame_ratio *ratio, const struct event_columns *columns, size_t above,
		      size_t below)
{
	*ratio = (struct flame_ratio){ .known = true,
				       .above = above,
				       .below = below,
				       .samples = event_column_ratio_samples(
					       &columns->list[above], &columns->list[below]) };
}

int flame_ratio_cpi(const struct event_columns *columns, size_t width, struct flame_ratio *ratio,
		    struct error *err)
{
	if (columns->pair_count == 0)
		return error_set(err, -ENODATA,
				 "no CPI to colour by: the profile needs both cycles and "
				 "instructions");
	const struct event_pair *pair = &columns->pairs[0];
	for (size_t i = columns->pair_count; i-- > 0;)
		if (columns->pairs[i].cycles == width || columns->pairs[i].instructions == width)
			pair = &columns->pairs[i];
	*ratio = (struct flame_ratio){ true, pair->cycles, pair->instructions, pair->samples };
	return 0;
}

int flame_ratio_ipc(const struct event_columns *columns, size_t width, struct flame_ratio *ratio,
		    struct error *err)
{
	struct flame_ratio cpi;
	int ret = flame_ratio_cpi(columns, width, &cpi, err);
	if (ret == 0)
		*ratio = (struct flame_ratio){ true, cpi.below, cpi.above, cpi.samples };
	return ret;
}

static bool holds(struct span name, const char *part)
{
	size_t size = strlen(part);
	const char *text = name.data;
	for (size_t i = 0; i + size <= name.size; i++)
		if (strncasecmp(text + i, part, size) == 0)
			return true;
	return false;
}

/* The first column whose name holds one of the parts, in the order of the parts. */
static bool find_by_part(const struct event_columns *columns, const char *const *parts,
			 size_t *column)
{
	for (; *parts; parts++)
		for (size_t i = 0; i < columns->count; i++)
			if (holds(columns->list[i].name, *parts)) {
				*column = i;
				return true;
			}
	return false;
}

int flame_ratio_stalls(const struct event_columns *columns, struct flame_ratio *ratio,
		       struct error *err)
{
	/* backend first: that is what RESOURCE_STALLS.ANY and its successors count */
	static const char *const stalls[] = { "stalled-cycles-backend",
					      "resource_stalls",
					      "resource stalls",
					      "stall_backend",
					      "cycle_activity.stalls_total",
					      "stalled-cycles-frontend",
					      "stall",
					      NULL };
	size_t above = 0;
	if (!find_by_part(columns, stalls, &above))
		return error_set(err, -ENODATA,
				 "no stalls to colour by: the profile has no event of stalled "
				 "cycles");
	for (size_t i = 0; i < columns->count; i++) {
		const struct event_column *column = &columns->list[i];
		if (i != above && (event_column_counts_cycles(column) ||
				   holds(column->name, "cpu_clk_unhalted") ||
				   holds(column->name, "cpu clk unhalted"))) {
			set_ratio(ratio, columns, above, i);
			return 0;
		}
	}
	return error_set(err, -ENODATA, "no stalls to colour by: the profile has no cycles");
}

/* By the events of Linux, of the scope that `width` has where there are several. */
static int find_slots(const struct event_columns *columns, enum slot_part which, size_t width,
		      struct flame_ratio *ratio)
{
	CLEANUP(free_pointer) struct slot_columns *list = NULL;
	const struct slot_columns *chosen = NULL;
	size_t count;
	int ret = slot_columns_find(columns, &list, &count);
	if (ret < 0)
		return ret;
	for (size_t i = count; i-- > 0;)
		if (list[i].parts[which] != EVENT_COLUMN_NONE &&
		    (!chosen ||
		     event_column_same_scope(&columns->list[list[i].slots],
					     &columns->list[width]) ||
		     !event_column_same_scope(&columns->list[chosen->slots],
					      &columns->list[width])))
			chosen = &list[i];
	if (chosen)
		*ratio = (struct flame_ratio){ true, chosen->parts[which], chosen->slots,
					       chosen->samples[which] };
	return chosen ? 0 : -ENODATA;
}

/* The first column whose name says that it is all slots, and not those that did something. */
static bool find_all_slots(const struct event_columns *columns, size_t but, size_t *column)
{
	static const char *const slots[] = { "topdown-total-slots", "topdown.slots", "slots",
					     NULL };
	for (size_t part = 0; slots[part]; part++)
		for (size_t i = 0; i < columns->count; i++) {
			struct span name = columns->list[i].name;
			if (i == but || !holds(name, slots[part]) || holds(name, "retired") ||
			    holds(name, "bound") || holds(name, "stall"))
				continue;
			*column = i;
			return true;
		}
	return false;
}

int flame_ratio_slots(const struct event_columns *columns, enum slot_part which, size_t width,
		      struct flame_ratio *ratio, struct error *err)
{
	static const char *const retiring[] = {
		"topdown-retiring",   "topdown_retiring", "topdown-slots-retired",
		"uops_retired.slots", "op_retired",	  NULL
	};
	static const char *const backend[] = { "topdown-be-bound", "topdown-backend-bound",
					       "topdown.backend_bound_slots", "stall_slot_backend",
					       NULL };
	bool retires = which == SLOTS_RETIRING;
	size_t above, below;
	int ret = find_slots(columns, which, width, ratio);
	if (ret != -ENODATA)
		return ret < 0 ? error_set(err, ret, "out of memory finding slots") : 0;
	/* what other tools call them */
	if (!find_by_part(columns, retires ? retiring : backend, &above))
		return error_set(
			err, -ENODATA, "no event of %s slots in the profile, as topdown-%s",
			retires ? "retiring" : "backend", retires ? "retiring" : "be-bound");
	if (!find_all_slots(columns, above, &below))
		return error_set(err, -ENODATA, "no event of all slots in the profile, as slots");
	set_ratio(ratio, columns, above, below);
	return 0;
}

int flame_ratio_of(const struct event_columns *columns, const char *text, struct flame_ratio *ratio,
		   struct error *err)
{
	char name[256];
	size_t above, below;
	if (!strchr(text, '/'))
		return error_set(err, -EINVAL, "'%s' is no EVENT/EVENT", text);
	error_set(err, -ENODATA, "a name is missing beside the slash, or longer than %zu bytes",
		  sizeof(name) - 1);
	for (const char *slash = strchr(text, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t size = (size_t)(slash - text);
		if (size == 0 || size >= sizeof(name) || slash[1] == 0)
			continue;
		memcpy(name, text, size);
		name[size] = 0;
		if (event_columns_find(columns, name, &above, err) == 0 &&
		    event_columns_find(columns, slash + 1, &below, err) == 0) {
			set_ratio(ratio, columns, above, below);
			return 0;
		}
	}
	error_prefix(err, "cannot colour by '%s'", text);
	return -ENODATA;
}

struct estimate flame_ratio_at(const struct flame *flame, const struct flame_ratio *ratio,
			       enum flame_side side, size_t frame)
{
	const struct cell *cells = flame_total(flame, side, frame);
	struct estimate value =
		interval_ratio(&cells[ratio->above], &cells[ratio->below], ratio->samples);
	uint64_t above = flame->scales[ratio->above], below = flame->scales[ratio->below];
	if (above == below)
		return value;
	double factor = event_scale_divisor(below) / event_scale_divisor(above);
	value.value *= factor;
	value.low *= factor;
	value.high *= factor;
	return value;
}
