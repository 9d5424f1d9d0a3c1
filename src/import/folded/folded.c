/*
 * folded - stacks as folded text, one a line, root first, a count at the end
 * ("main;read;vfs_read 27"), as stackcollapse-perf.pl and its kin write them.
 * When all lines end in two counts ("main;read 27 31"), as difffolded.pl and
 * flame graphs of CPI have them, the first ones are an event of their own.
 * Memory grows with distinct stacks, never with lines.
 *
 * Every frame becomes a bare name (import/folded/folded_name.h). Whether a first frame
 * is a command's name can't be known, so contexts stay empty. A count says
 * nothing of how many samples it stands for: cells have an estimate and absent
 * samples. Fractional counts give an event a decimal scale.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"
#include "import/text/bad_lines.h"
#include "import/folded/folded_line.h"
#include "import/folded/folded_shape.h"
#include "import/folded/folded_stacks.h"
#include "import/formats.h"
#include "import/text/other_text.h"
#include "import/text/text_lines.h"
#include "profile/profile.h"

struct folded {
	const struct import_options *options;
	struct text_lines lines;
	struct profile *profile;
	struct folded_stacks stacks;
	struct bad_lines bad;
	struct folded_shape shape;
	uint64_t counted;    /* lines with a stack and a count */
	uint64_t two_counts; /* of them, those that end in two numbers */
	uint64_t rounded;    /* counts with more decimals than are kept */
	unsigned decimals;   /* most that a count had */
};

/* What a column of counts becomes. */
struct count_column {
	const char *name; /* of its event */
	size_t name_size;
	unsigned __int128 total; /* of the whole parts, each plus one for its fraction */
	unsigned decimals;
	uint32_t event;
};

static void folded_close(void *reader)
{
	struct folded *folded = reader;
	if (!folded)
		return;
	text_lines_release(&folded->lines);
	profile_free(folded->profile);
	folded_stacks_release(&folded->stacks);
	free(folded);
}

/* ---- lines */

static int add_count(struct folded *folded, struct folded_stack *stack,
		     const struct folded_count *count, struct error *err)
{
	uint64_t fraction = stack->fraction + (uint64_t)count->fraction;
	if (__builtin_add_overflow(stack->whole, count->whole, &stack->whole) ||
	    __builtin_add_overflow(stack->whole, fraction / FOLDED_ONE, &stack->whole))
		return error_set(err, -EOVERFLOW,
				 "line %" PRIu64
				 " of folded text: the counts of its stack pass 64 bits",
				 folded->lines.number);
	stack->fraction = (uint32_t)(fraction % FOLDED_ONE);
	stack->lines++;
	folded->rounded += count->rounded;
	if (count->decimals > folded->decimals)
		folded->decimals = count->decimals;
	return 0;
}

static int take_line(void *context, struct span line, struct error *err)
{
	struct folded *folded = context;
	struct folded_line parsed = { 0 };
	enum folded_line_kind kind =
		line.data ? folded_line_parse(line.data, line.size, &parsed) : FOLDED_BAD;
	if (folded->options->recognised)
		folded_shape_add(&folded->shape, kind, &parsed);
	if (kind == FOLDED_BAD)
		bad_lines_add(&folded->bad, folded->lines.number);
	if (kind != FOLDED_STACK)
		return 0;
	struct folded_stack *stack;
	if (folded_stacks_find(&folded->stacks, folded->profile, parsed.stack, &stack) < 0)
		return error_set(err, -ENOMEM, "out of memory at line %" PRIu64 " of folded text",
				 folded->lines.number);
	folded->counted++;
	folded->two_counts += parsed.second_number;
	return add_count(folded, stack, &parsed.count, err);
}

static int folded_open(const struct import_options *options, void **reader)
{
	struct folded *folded = calloc(1, sizeof(*folded));
	if (!folded)
		return -ENOMEM;
	folded->options = options;
	folded->lines =
		(struct text_lines){ .take = take_line, .context = folded, .tolerant = true };
	folded->profile = profile_new();
	if (!folded->profile) {
		folded_close(folded);
		return -ENOMEM;
	}
	*reader = folded;
	return 0;
}

static int folded_feed(void *reader, const void *bytes, size_t size, struct error *err)
{
	struct folded *folded = reader;
	return text_lines_feed(&folded->lines, bytes, size, err);
}

/* ---- columns */

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;
	while (exponent--)
		power *= 10;
	return power;
}

/* Keeps as many decimals as leave the column's total below 2^64. */
static int fit_decimals(struct folded *folded, struct count_column *column, struct error *err)
{
	unsigned wanted = column->decimals;
	while (column->total * power_of_ten(column->decimals) > UINT64_MAX)
		if (column->decimals-- == 0)
			return error_set(err, -EOVERFLOW, "the counts add up to more than 64 bits");
	if (column->decimals < wanted)
		import_report(
			folded->options, IMPORT_NOTE,
			"%u of %u decimals are kept: the sum of all counts has no room for more",
			column->decimals, wanted);
	return 0;
}

static int add_event(struct folded *folded, struct count_column *column)
{
	const struct profile_event row = {
		.name = { column->name, column->name_size },
		.unit = span_of_text(folded->options->unit ? folded->options->unit : "samples"),
		.scale = column->decimals,
		.origin = ORIGIN_IMPORTED,
	};
	return profile_add_event(folded->profile, &row, &column->event);
}

static int add_cells(struct folded *folded, const struct count_column *column, uint32_t node,
		     const struct folded_count *count)
{
	uint64_t scale = power_of_ten(column->decimals);
	uint64_t step = FOLDED_ONE / scale;
	const struct cell cell = { .estimate = count->whole * scale +
					       (count->fraction + step / 2) / step };
	struct profile_frame leaf = profile_node(folded->profile, node, NULL);
	int ret = profile_add_stack(folded->profile, column->event, 0, node, &cell);
	return ret < 0 ? ret : profile_add_flat(folded->profile, column->event, 0, &leaf, &cell);
}

static struct folded_count count_of(const struct folded_stack *stack)
{
	return (struct folded_count){ .whole = stack->whole, .fraction = stack->fraction };
}

static int out_of_memory(const struct folded *folded, struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory for %zu stacks", folded->stacks.count);
}

static int finish_one(struct folded *folded, struct error *err)
{
	const char *name = folded->options->event ? folded->options->event : "samples";
	struct count_column column = { .name = name,
				       .name_size = strlen(name),
				       .decimals = folded->decimals };
	for (size_t i = 0; i < folded->stacks.count; i++)
		column.total += (unsigned __int128)folded->stacks.list[i].whole + 1;
	int ret = fit_decimals(folded, &column, err);
	if (ret < 0)
		return ret;
	if (add_event(folded, &column) < 0)
		return out_of_memory(folded, err);
	for (size_t i = 0; i < folded->stacks.count; i++) {
		const struct folded_stack *stack = &folded->stacks.list[i];
		const struct folded_count count = count_of(stack);
		if (add_cells(folded, &column, stack->node, &count) < 0)
			return out_of_memory(folded, err);
	}
	return 0;
}

/* ---- two columns: the first count was read as the end of the leaf's name */

/* The count at the end of a leaf's name, times the lines with the stack. False when the name has
 * none or the product passes 64 bits. */
static bool first_count(const struct folded *folded, const struct folded_stack *stack,
			struct span *name, struct folded_count *count)
{
	struct profile_frame leaf = profile_node(folded->profile, stack->node, NULL);
	*name = profile_bytes(folded->profile, leaf.name);
	if (!folded_count_take(name, count))
		return false;
	unsigned __int128 fraction = (unsigned __int128)count->fraction * stack->lines;
	uint64_t carry = (uint64_t)(fraction / FOLDED_ONE);
	count->fraction = (uint32_t)(fraction % FOLDED_ONE);
	return !__builtin_mul_overflow(count->whole, stack->lines, &count->whole) &&
	       !__builtin_add_overflow(count->whole, carry, &count->whole);
}

static int measure_columns(struct folded *folded, struct count_column columns[2], struct error *err)
{
	columns[1].decimals = folded->decimals;
	for (size_t i = 0; i < folded->stacks.count; i++) {
		const struct folded_stack *stack = &folded->stacks.list[i];
		struct folded_count count;
		struct span name;
		if (!first_count(folded, stack, &name, &count))
			return error_set(err, -EOVERFLOW,
					 "the first counts of a stack pass 64 bits");
		folded->rounded += count.rounded ? stack->lines : 0;
		if (count.decimals > columns[0].decimals)
			columns[0].decimals = count.decimals;
		columns[0].total += (unsigned __int128)count.whole + 1;
		columns[1].total += (unsigned __int128)stack->whole + 1;
	}
	int ret = fit_decimals(folded, &columns[0], err);
	return ret < 0 ? ret : fit_decimals(folded, &columns[1], err);
}

static int split_stack(struct folded *folded, const struct count_column columns[2],
		       const struct folded_stack *stack)
{
	struct folded_count first;
	const struct folded_count second = count_of(stack);
	struct span name;
	uint32_t parent, node;
	struct profile_frame leaf = profile_node(folded->profile, stack->node, &parent);
	first_count(folded, stack, &name, &first);
	if (profile_add_bytes(folded->profile, name, &leaf.name) < 0 ||
	    profile_add_node(folded->profile, parent, &leaf, &node) < 0 ||
	    add_cells(folded, &columns[0], node, &first) < 0)
		return -ENOMEM;
	return add_cells(folded, &columns[1], node, &second);
}

/* "A,B" of the options; a comma between slashes belongs to an event's name. */
static int name_columns(const char *names, struct count_column columns[2], struct error *err)
{
	bool inside = false;
	const char *comma = NULL;
	columns[0].name = "before";
	columns[1].name = "after";
	for (const char *at = names; at && *at && !comma; at++) {
		inside ^= *at == '/';
		if (*at == ',' && !inside)
			comma = at;
	}
	for (int i = 0; i < 2; i++)
		columns[i].name_size = strlen(columns[i].name);
	if (!names)
		return 0;
	if (!comma)
		return error_set(err, -EINVAL,
				 "every line ends in two counts: name two events, as 'A,B'");
	columns[0] = (struct count_column){ .name = names, .name_size = (size_t)(comma - names) };
	columns[1] = (struct count_column){ .name = comma + 1, .name_size = strlen(comma + 1) };
	return 0;
}

static int finish_two(struct folded *folded, struct error *err)
{
	struct count_column columns[2] = { 0 };
	int ret = name_columns(folded->options->event, columns, err);
	if (ret == 0)
		ret = measure_columns(folded, columns, err);
	if (ret < 0)
		return ret;
	if (add_event(folded, &columns[0]) < 0 || add_event(folded, &columns[1]) < 0)
		return out_of_memory(folded, err);
	for (size_t i = 0; i < folded->stacks.count; i++)
		if (split_stack(folded, columns, &folded->stacks.list[i]) < 0)
			return out_of_memory(folded, err);
	/* nothing refers to the nodes whose names end in a count any more */
	CLEANUP(profile_freep) struct profile *all = folded->profile;
	folded->profile = NULL;
	return profile_canonical(all, &folded->profile) < 0 ? out_of_memory(folded, err) : 0;
}

/* ---- as one format among others */

/* Where the format was recognised by the first bytes: all of the text must be folded text. */
static int judge_lines(const struct folded *folded, struct error *err)
{
	const struct folded_shape *shape = &folded->shape;
	if (!folded->options->recognised)
		return 0;
	if (!folded_shape_fits(shape))
		return error_set(err, -ENODATA,
				 "%" PRIu64 " of %" PRIu64
				 " lines are no folded text, which is 'frame;frame;frame COUNT'; "
				 "--format folded takes all that end in a number",
				 shape->others, shape->stacks + shape->names + shape->others);
	if (shape->stacks == 0)
		import_report(folded->options, IMPORT_NOTE,
			      "no line has a stack of two frames: each is taken for a name and its "
			      "count");
	return 0;
}

static int folded_finish(void *reader, struct profile **out, struct error *err)
{
	struct folded *folded = reader;
	const struct profile_source source = { .tool = span_of_text("folded text") };
	int ret = text_lines_finish(&folded->lines, err);
	if (ret < 0)
		return ret;
	if (folded->counted == 0)
		return error_set(err, -ENODATA,
				 "no line is folded text, which is 'frame;frame;frame COUNT'");
	ret = judge_lines(folded, err);
	if (ret < 0)
		return ret;
	if (profile_add_source(folded->profile, &source) < 0)
		return out_of_memory(folded, err);
	bool two = folded->two_counts == folded->counted && !folded->options->one_count;
	ret = two ? finish_two(folded, err) : finish_one(folded, err);
	if (ret < 0)
		return ret;
	bad_lines_report(&folded->bad, folded->options, folded->lines.number, "have no count");
	if (folded->lines.unended)
		import_report_unended(folded->options);
	if (folded->rounded)
		import_report(folded->options, IMPORT_NOTE,
			      "%" PRIu64 " counts had more than %u decimals and were rounded",
			      folded->rounded, FOLDED_MAX_DECIMALS);
	*out = folded->profile;
	folded->profile = NULL; /* the caller's from here on */
	return 0;
}

/* Weaker than other formats' marks: the last one in formats.c. */
static bool folded_recognise(const void *bytes, size_t size)
{
	const struct span head = { bytes, size };
	const size_t mark = utf8_mark_size(bytes, size);
	struct span rest = { (const char *)bytes + mark, size - mark }, line;
	struct folded_shape shape = { 0 };
	if (size && memchr(bytes, 0, size))
		return false;
	while (text_lines_cut(&rest, &line)) {
		struct folded_line parsed;
		bool cut = rest.size == 0 && size >= IMPORT_HEAD_BYTES;
		if (cut && shape.stacks + shape.names + shape.others > 0)
			break; /* judge by the whole lines */
		folded_shape_add(&shape, folded_line_parse(line.data, line.size, &parsed), &parsed);
	}
	/* lists of names and numbers are in other texts too */
	return folded_shape_fits(&shape) &&
	       (shape.stacks > shape.names || other_text_find(head) == NULL);
}

const struct importer importer_folded = {
	.name = "folded",
	.what = "folded stacks",
	.recognise = folded_recognise,
	.open = folded_open,
	.feed = folded_feed,
	.finish = folded_finish,
	.close = folded_close,
};
