/* Reads a table in the syntax of data/pipelines/README.md. */
#include "pipelines/pipeline.h"

#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "base/error.h"

struct scalar {
	const char *key, *unit;
	size_t offset;
	uint32_t least, most;
	enum { MUST_BE_KNOWN, MAY_BE_UNKNOWN } unknown;
};

#define FIELD(name) offsetof(struct pipeline, name)
#define CACHE(key, field)                                                                          \
	{ key ".size", "bytes", FIELD(field.size_bytes), 512, 1u << 30, MAY_BE_UNKNOWN },          \
		{ key ".ways", "ways", FIELD(field.ways), 1, 64, MAY_BE_UNKNOWN },                 \
	{                                                                                          \
		key ".line", "bytes", FIELD(field.line_bytes), 16, 256, MAY_BE_UNKNOWN             \
	}
#define CYCLES(key, field)                                                                         \
	{                                                                                          \
		key, "cycles", FIELD(field), 0, PIPELINE_MAX_CYCLES, MUST_BE_KNOWN                 \
	}
#define ENTRIES(key, field)                                                                        \
	{                                                                                          \
		key, "entries", FIELD(field), 0, 1u << 16, MAY_BE_UNKNOWN                          \
	}

static const struct scalar scalars[] = {
	{ "width.issue", "instructions", FIELD(issue_width), 1, PIPELINE_MAX_WIDTH, MUST_BE_KNOWN },
	{ "width.retire", "instructions", FIELD(retire_width), 1, 64, MUST_BE_KNOWN },
	CYCLES("load-operand", load_operand_cycles),
	CYCLES("address-update", address_update_cycles),
	CYCLES("store-load-gap", store_load_gap_cycles),
	CACHE("l1i", l1i),
	CACHE("l1d", l1d),
	CACHE("l2", l2),
	CACHE("llc", llc),
	CYCLES("miss.l1i", l1i_miss_cycles),
	CYCLES("miss.l1d", l1d_miss_cycles),
	CYCLES("miss.l2", l2_miss_cycles),
	CYCLES("miss.llc", llc_miss_cycles),
	CYCLES("miss.store", store_miss_cycles),
	CYCLES("miss.fetch", fetch_miss_cycles),
	ENTRIES("itlb", itlb_entries),
	ENTRIES("dtlb", dtlb_entries),
	ENTRIES("l2-tlb", l2_tlb_entries),
	CYCLES("l2-tlb-hit", l2_tlb_cycles),
	CYCLES("page-walk", page_walk_cycles),
	CYCLES("mispredict", mispredict_cycles),
	ENTRIES("store-buffer", store_buffer_entries),
};

static const char *const extra_rows[PIPELINE_ROWS - LATENCY_CLASSES] = {
	[PIPELINE_DIVIDE_32 - LATENCY_CLASSES] = "divide-32",
	[PIPELINE_DIVIDE_16 - LATENCY_CLASSES] = "divide-16",
	[PIPELINE_FP_DIVIDE_32 - LATENCY_CLASSES] = "fp-divide-32",
	[PIPELINE_FP_ROOT_32 - LATENCY_CLASSES] = "fp-root-32",
};

static const char *const uses[PIPELINE_USES] = {
	[PIPELINE_OPERAND] = "",
	[PIPELINE_ADDRESS] = ".address",
	[PIPELINE_STORE_DATA] = ".store-data",
	[PIPELINE_FACTOR] = ".factor",
};

/* A bit in pipeline_work.units while reading: the row needs no unit, and says so. */
#define NEEDS_NONE (1u << PIPELINE_UNITS)

struct table {
	struct pipeline *out;
	const char *name;
	size_t line;
	bool named, kind_known, order_known;
	bool scalar_seen[COUNT_OF(scalars)];
	bool latency_seen[PIPELINE_ROWS][PIPELINE_USES];
	bool busy_seen[PIPELINE_ROWS];
	struct error *err;
};

struct line {
	struct span key, value, unit;
};

const char *pipeline_row_name(unsigned row)
{
	if (row == LATENCY_DIVIDE)
		return "divide-64";
	if (row == LATENCY_FP_DIVIDE)
		return "fp-divide-64";
	if (row == LATENCY_FP_ROOT)
		return "fp-root-64";
	if (row >= LATENCY_CLASSES)
		return extra_rows[row - LATENCY_CLASSES];
	return latency_class_name((enum latency_class)row);
}

static bool is(struct span text, const char *word)
{
	return span_equal(text, span_of_text(word));
}

/* Cuts `prefix` off the front of *text; false when it does not begin so. */
static bool skip_prefix(struct span *text, const char *prefix)
{
	size_t size = strlen(prefix);
	if (!span_starts_with(*text, prefix))
		return false;
	*text = (struct span){ (const char *)text->data + size, text->size - size };
	return true;
}

/* Cuts the part before `end`, and `end`, off the front of *text; all of it without an `end`. */
static struct span cut_until(struct span *text, char end)
{
	const char *at = text->size ? memchr(text->data, end, text->size) : NULL;
	size_t size = at ? (size_t)(at - (const char *)text->data) : text->size;
	struct span part = { text->data, size };
	size_t skipped = size + (at != NULL);
	if (skipped)
		*text = (struct span){ (const char *)text->data + skipped, text->size - skipped };
	return part;
}

static int wrong(const struct table *table, const char *what, struct span text)
{
	return error_set(table->err, -EBADMSG, "table '%s': line %zu: %s '%.*s'", table->name,
			 table->line, what, text.size > 80 ? 80 : (int)text.size,
			 text.size ? (const char *)text.data : "");
}

static int missing(const struct table *table, const char *key, const char *rest)
{
	return error_set(table->err, -EBADMSG, "table '%s': '%s%s' is missing", table->name, key,
			 rest);
}

static bool parse_number(struct span text, uint32_t *value)
{
	const char *at = text.data, *end = at + text.size;
	uint64_t number;
	unsigned base = 10;
	if (text.size > 2 && at[0] == '0' && at[1] == 'x') {
		base = 16;
		at += 2;
	}
	if (!text.size || !digits_take(&at, end, base, &number) || at != end ||
	    number > UINT32_MAX - 1)
		return false;
	*value = (uint32_t)number;
	return true;
}

static bool row_of_name(struct span name, unsigned *row)
{
	for (*row = 0; *row < PIPELINE_ROWS; ++*row)
		if (is(name, pipeline_row_name(*row)))
			return true;
	return false;
}

static int wants_unit(const struct table *table, const struct line *line, const char *unit)
{
	if (is(line->unit, unit))
		return 0;
	return wrong(table, "wrong unit", line->unit);
}

static int parse_name(struct table *table, struct span value)
{
	struct pipeline *out = table->out;
	if (table->named)
		return wrong(table, "a second name", value);
	if (value.size >= sizeof(out->name))
		return wrong(table, "too long a name", value);
	memcpy(out->name, value.data, value.size);
	table->named = true;
	return 0;
}

static int parse_choice(struct table *table, struct span value, const char *yes, const char *no,
			bool *known, bool *out)
{
	if (*known || (!is(value, yes) && !is(value, no)))
		return wrong(table, *known ? "given twice" : "unknown value", value);
	*out = is(value, yes);
	*known = true;
	return 0;
}

static int parse_cycles(struct table *table, struct span row_name, struct span value, bool *seen,
			uint32_t *out)
{
	if (*seen)
		return wrong(table, "given twice", row_name);
	if (!parse_number(value, out) || *out > PIPELINE_MAX_CYCLES)
		return wrong(table, "no number of cycles", value);
	*seen = true;
	return 0;
}

/* A latency: `key` is ROW, ROW.address, ... */
static int parse_latency(struct table *table, struct span key, struct span value)
{
	struct span rest = key, name = cut_until(&rest, '.');
	unsigned row, use = PIPELINE_OPERAND;
	if (!row_of_name(name, &row))
		return wrong(table, "unknown class", key);
	if (name.size < key.size)
		for (use = PIPELINE_ADDRESS; use < PIPELINE_USES && !is(rest, uses[use] + 1);)
			use++;
	if (use == PIPELINE_USES)
		return wrong(table, "unknown use", key);
	return parse_cycles(table, key, value, &table->latency_seen[row][use],
			    &table->out->work[row].latency_cycles[use]);
}

static int parse_busy(struct table *table, struct span key, struct span value)
{
	unsigned row;
	if (!row_of_name(key, &row))
		return wrong(table, "unknown class", key);
	int ret = parse_cycles(table, key, value, &table->busy_seen[row],
			       &table->out->work[row].busy_cycles);
	if (ret == 0 && table->out->work[row].busy_cycles == 0)
		return wrong(table, "no number of cycles", value);
	return ret;
}

/* Adds `unit` to each row in the list; with `unit` 0 marks that the row ends its group. */
static int parse_rows(struct table *table, struct span value, uint32_t unit)
{
	for (struct span rest = value; rest.size;) {
		struct span name = cut_until(&rest, ',');
		unsigned row;
		if (!row_of_name(name, &row))
			return wrong(table, "unknown class", name);
		struct pipeline_work *work = &table->out->work[row];
		if (unit ? (work->units & unit || work->units & NEEDS_NONE ||
			    (unit == NEEDS_NONE && work->units))
			 : work->ends_group)
			return wrong(table, "given twice", name);
		if (unit)
			work->units |= unit;
		else
			work->ends_group = true;
	}
	return 0;
}

static int parse_unit(struct table *table, struct span name, struct span value)
{
	struct pipeline *out = table->out;
	if (out->unit_count == PIPELINE_UNITS || name.size == 0 ||
	    name.size >= PIPELINE_UNIT_NAME_BYTES)
		return wrong(table, "too many units, or no name for one,", name);
	for (uint32_t i = 0; i < out->unit_count; i++)
		if (is(name, out->unit_names[i]))
			return wrong(table, "given twice", name);
	memcpy(out->unit_names[out->unit_count], name.data, name.size);
	return parse_rows(table, value, 1u << out->unit_count++);
}

/* GenuineIntel/0x6/0x55, AuthenticAMD/0x19/0x10-0x1f, or 0x41/0xd03 */
static int parse_match(struct table *table, struct span value, bool arm)
{
	struct pipeline *out = table->out;
	struct pipeline_match match = { .arm = arm };
	struct span rest = value;
	if (out->match_count == PIPELINE_MATCHES)
		return wrong(table, "too many matches at", value);
	if (!arm) {
		struct span vendor = cut_until(&rest, '/');
		if (vendor.size == 0 || vendor.size >= sizeof(match.vendor))
			return wrong(table, "no vendor in", value);
		memcpy(match.vendor, vendor.data, vendor.size);
	}
	struct span family = cut_until(&rest, '/'), first = cut_until(&rest, '-');
	if (!parse_number(family, &match.family) || !parse_number(first, &match.first_model) ||
	    !parse_number(rest.size ? rest : first, &match.last_model) ||
	    match.last_model < match.first_model)
		return wrong(table, "no processor", value);
	out->matches[out->match_count++] = match;
	return 0;
}

static int parse_scalar(struct table *table, const struct line *line)
{
	for (size_t i = 0; i < COUNT_OF(scalars); i++) {
		const struct scalar *scalar = &scalars[i];
		uint32_t number = PIPELINE_UNKNOWN;
		if (!is(line->key, scalar->key))
			continue;
		if (table->scalar_seen[i])
			return wrong(table, "given twice", line->key);
		table->scalar_seen[i] = true;
		if (scalar->unknown != MAY_BE_UNKNOWN || !is(line->value, "unknown"))
			if (!parse_number(line->value, &number) || number < scalar->least ||
			    number > scalar->most)
				return wrong(table, "no such number", line->value);
		memcpy((char *)table->out + scalar->offset, &number, sizeof(number));
		return wants_unit(table, line, scalar->unit);
	}
	return wrong(table, "unknown key", line->key);
}

static int parse_line(struct table *table, const struct line *line)
{
	struct pipeline *out = table->out;
	struct span key = line->key, value = line->value;
	const char *unit = "classes";
	int ret;
	if (is(key, "name")) {
		unit = "text";
		ret = parse_name(table, value);
	} else if (is(key, "kind")) {
		unit = "choice";
		ret = parse_choice(table, value, "generic", "cpu", &table->kind_known,
				   &out->generic);
	} else if (is(key, "order")) {
		unit = "choice";
		ret = parse_choice(table, value, "in", "out", &table->order_known, &out->in_order);
	} else if (is(key, "match.x86") || is(key, "match.arm")) {
		unit = "processor";
		ret = parse_match(table, value, is(key, "match.arm"));
	} else if (is(key, "no-unit")) {
		ret = parse_rows(table, value, NEEDS_NONE);
	} else if (is(key, "ends-group")) {
		ret = parse_rows(table, value, 0);
	} else if (skip_prefix(&key, "unit.")) {
		ret = parse_unit(table, key, value);
	} else if (skip_prefix(&key, "latency.")) {
		unit = "cycles";
		ret = parse_latency(table, key, value);
	} else if (skip_prefix(&key, "busy.")) {
		unit = "cycles";
		ret = parse_busy(table, key, value);
	} else {
		return parse_scalar(table, line);
	}
	return ret < 0 ? ret : wants_unit(table, line, unit);
}

static struct span next_word(struct span *text)
{
	const char *at = text->data, *end = at + text->size;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *start = at;
	while (at < end && *at != ' ' && *at != '\t')
		at++;
	*text = (struct span){ at, (size_t)(end - at) };
	return (struct span){ start, (size_t)(at - start) };
}

/* "key value unit # source"; a line that starts with # is a comment, an empty one nothing. */
static int parse_text_line(struct table *table, struct span text)
{
	struct span rest = text, start = text;
	if (next_word(&start).size == 0 || ((const char *)text.data)[0] == '#')
		return 0;
	struct line line = { .key = next_word(&rest) };
	line.value = next_word(&rest);
	line.unit = next_word(&rest);
	if (!line.value.size || !line.unit.size)
		return wrong(table, "not 'key value unit # source':", text);
	if (!is(next_word(&rest), "#") || next_word(&rest).size == 0)
		return wrong(table, "no source in", text);
	return parse_line(table, &line);
}

static int check_rows(struct table *table)
{
	for (unsigned row = 0; row < PIPELINE_ROWS; row++) {
		struct pipeline_work *work = &table->out->work[row];
		if (!table->latency_seen[row][PIPELINE_OPERAND])
			return missing(table, "latency.", pipeline_row_name(row));
		for (unsigned use = PIPELINE_ADDRESS; use < PIPELINE_USES; use++)
			if (!table->latency_seen[row][use])
				work->latency_cycles[use] = work->latency_cycles[PIPELINE_OPERAND];
		if (!work->units)
			return missing(table, "a unit for ", pipeline_row_name(row));
		if (!table->busy_seen[row])
			work->busy_cycles = 1;
		work->units &= ~NEEDS_NONE;
	}
	return 0;
}

int pipeline_parse(struct span text, const char *name, struct pipeline *out, struct error *err)
{
	struct table table = { .out = out, .name = name, .err = err };
	memset(out, 0, sizeof(*out));
	for (struct span rest = text; rest.size;) {
		table.line++;
		int ret = parse_text_line(&table, cut_until(&rest, '\n'));
		if (ret < 0)
			return ret;
	}
	if (!table.named || !table.kind_known || !table.order_known)
		return missing(&table,
			       !table.named	   ? "name"
			       : !table.kind_known ? "kind"
						   : "order",
			       "");
	for (size_t i = 0; i < COUNT_OF(scalars); i++)
		if (!table.scalar_seen[i])
			return missing(&table, scalars[i].key, "");
	if (!out->generic && out->match_count == 0)
		return missing(&table, "match", "");
	return check_rows(&table);
}
