/* Reads a table in the syntax of data/topdown/README.md. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "base/error.h"
#include "machine/topdown_encoding.h"
#include "machine/topdown_method.h"
#include "machine/topdown_table.h"

#define NAMES 64 /* events and `let` lines of a table */

struct named {
	struct span name;
	uint16_t node;
};

struct table {
	struct topdown_method *out;
	const char *name;
	size_t line;
	enum fact smt;
	enum topdown_encoding encoding;
	bool unit_seen, sum_seen, group_open;
	struct named names[NAMES];
	size_t name_count;
	bool correcting; /* names of categories are the corrected ones first */
	struct error *err;
};

typedef int (*line_reader)(struct table *, struct span, const struct topdown_line *);

static bool is(struct span text, const char *word)
{
	return span_equal(text, span_of_text(word));
}

static int wrong(const struct table *table, const char *what, struct span text)
{
	return error_set(table->err, -EBADMSG, "table '%s': line %zu: %s '%.*s'", table->name,
			 table->line, what, text.size > 80 ? 80 : (int)text.size,
			 text.size ? (const char *)text.data : "");
}

/* Copies the text, with what follows it, to the method; the same source is kept once. */
static int keep(struct table *table, struct span text, const char *rest, const char **out)
{
	struct topdown_method *method = table->out;
	size_t wanted = text.size + strlen(rest) + 1;
	for (size_t at = 0; !*rest && at < method->text_size; at += strlen(method->text + at) + 1)
		if (is(text, method->text + at)) {
			*out = method->text + at;
			return 0;
		}
	if (wanted > sizeof(method->text) - method->text_size)
		return wrong(table, "too much text at", text);
	char *copy = method->text + method->text_size;
	memcpy(copy, text.data, text.size);
	memcpy(copy + text.size, rest, strlen(rest) + 1);
	method->text_size += wanted;
	*out = copy;
	return 0;
}

static bool category_of(struct span name, unsigned *category)
{
	for (*category = 0; *category < TOPDOWN_CATEGORIES; ++*category)
		if (is(name, topdown_category_name(*category)))
			return true;
	return false;
}

static uint16_t resolve(void *context, struct span name)
{
	const struct table *table = context;
	const struct topdown_formula *formulas = table->out->formulas;
	unsigned category;
	for (size_t i = 0; i < table->name_count; i++)
		if (span_equal(table->names[i].name, name))
			return table->names[i].node;
	if (!category_of(name, &category))
		return TOPDOWN_NO_NODE;
	if (table->correcting && formulas[category].corrected != TOPDOWN_NO_NODE)
		return formulas[category].corrected;
	return formulas[category].plain;
}

static int add_name(struct table *table, struct span name, uint16_t node)
{
	const char *at = name.data;
	unsigned category;
	if (!name.size || !islower((unsigned char)*at))
		return wrong(table, "no name", name);
	for (size_t i = 0; i < name.size; i++)
		if (!islower((unsigned char)at[i]) && !isdigit((unsigned char)at[i]) &&
		    at[i] != '_' && at[i] != '.')
			return wrong(table, "no name", name);
	if (resolve(table, name) != TOPDOWN_NO_NODE || category_of(name, &category))
		return wrong(table, "given twice", name);
	if (table->name_count == NAMES || node == TOPDOWN_NO_NODE)
		return wrong(table, "too many names at", name);
	table->names[table->name_count++] = (struct named){ name, node };
	return 0;
}

static int read_formula(struct table *table, struct span text, uint16_t *root)
{
	int ret =
		topdown_expression_parse(&table->out->pool, text, resolve, table, root, table->err);
	return ret < 0 ? error_prefix(table->err, "table '%s': line %zu", table->name, table->line)
		       : 0;
}

/* ---- events */

static int read_event(struct table *table, struct span name, const struct topdown_line *line)
{
	struct topdown_method *method = table->out;
	struct topdown_event event = { .field = TOPDOWN_NO_FIELD };
	if (table->encoding == TOPDOWN_ENCODING_UNKNOWN || !table->group_open)
		return wrong(table, "no encoding or no group before", name);
	if (method->event_count == TOPDOWN_EVENTS)
		return wrong(table, "too many events at", name);
	struct span term;
	if (!topdown_encode(table->encoding, line->value, &event.config, &term))
		return wrong(table, "wrong term", term);
	if (line->value.size + TOPDOWN_METHOD_NAME_BYTES > TOPDOWN_EVENT_TEXT_BYTES)
		return wrong(table, "too long", line->value);
	event.group = (unsigned)method->group_count - 1;
	int ret = keep(table, name, "", &event.name);
	if (!ret)
		ret = keep(table, name, " was not counted", &event.uncounted);
	if (!ret)
		ret = keep(table, line->value, "", &event.terms);
	if (!ret)
		ret = keep(table, line->source, "", &event.source);
	if (!ret)
		ret = add_name(
			table, name,
			topdown_pool_add_event(&method->pool, (uint16_t)method->event_count));
	if (!ret)
		method->events[method->event_count++] = event;
	return ret;
}

/* Which field of the metrics register an event is. */
static int read_field(struct table *table, struct span name, const struct topdown_line *line)
{
	struct topdown_method *method = table->out;
	uint64_t field;
	if (!topdown_number(line->value, &field) || field >= 2 * TOPDOWN_LEVEL_1)
		return wrong(table, "no field", line->value);
	for (size_t i = 0; i < method->event_count; i++)
		if (is(name, method->events[i].name)) {
			method->events[i].field = (int)field;
			if (method->register_levels < 1 + field / TOPDOWN_LEVEL_1)
				method->register_levels = (unsigned)(1 + field / TOPDOWN_LEVEL_1);
			return 0;
		}
	return wrong(table, "no event", name);
}

static int read_group(struct table *table, struct span name, const struct topdown_line *line)
{
	struct topdown_method *method = table->out;
	(void)name;
	bool used = method->event_count &&
		    method->events[method->event_count - 1].group + 1 == method->group_count;
	if (table->group_open && !used)
		return wrong(table, "no event before group", line->value);
	table->group_open = true;
	method->group_count++;
	return 0;
}

/* ---- formulas */

static int read_let(struct table *table, struct span name, const struct topdown_line *line)
{
	uint16_t node;
	int ret = read_formula(table, line->value, &node);
	return ret < 0 ? ret : add_name(table, name, node);
}

static int read_figure(struct table *table, struct span name, const struct topdown_line *line)
{
	unsigned category;
	if (!category_of(name, &category))
		return wrong(table, "no category", name);
	struct topdown_formula *formula = &table->out->formulas[category];
	uint16_t *node = table->correcting ? &formula->corrected : &formula->plain;
	if (*node != TOPDOWN_NO_NODE || formula->absent)
		return wrong(table, "given twice", name);
	int ret = read_formula(table, line->value, node);
	return ret < 0 ? ret
		       : keep(table, line->source, "",
			      table->correcting ? &formula->corrected_source : &formula->source);
}

static int read_corrected(struct table *table, struct span name, const struct topdown_line *line)
{
	table->correcting = true;
	int ret = read_figure(table, name, line);
	table->correcting = false;
	return ret;
}

static int read_absent(struct table *table, struct span name, const struct topdown_line *line)
{
	unsigned category;
	if (!category_of(name, &category))
		return wrong(table, "no category", name);
	struct topdown_formula *formula = &table->out->formulas[category];
	if (formula->plain != TOPDOWN_NO_NODE || formula->corrected != TOPDOWN_NO_NODE ||
	    formula->absent)
		return wrong(table, "given twice", name);
	int ret = keep(table, line->value, "", &formula->absent);
	return ret < 0 ? ret : keep(table, line->source, "", &formula->source);
}

static int read_sum(struct table *table, struct span name, const struct topdown_line *line)
{
	(void)name;
	if (table->sum_seen)
		return wrong(table, "given twice", line->key);
	table->sum_seen = true;
	if (is(line->value, "none"))
		return 0;
	return read_formula(table, line->value, &table->out->sum);
}

/* ---- the table as a whole */

static int read_name(struct table *table, struct span name, const struct topdown_line *line)
{
	struct topdown_method *method = table->out;
	(void)name;
	if (method->name[0] || line->value.size >= sizeof(method->name))
		return wrong(table, "wrong name", line->value);
	memcpy(method->name, line->value.data, line->value.size);
	return 0;
}

static int read_title(struct table *table, struct span name, const struct topdown_line *line)
{
	(void)name;
	int ret = keep(table, line->value, "", &table->out->title);
	return ret < 0 ? ret : keep(table, line->source, "", &table->out->source);
}

static int read_unit(struct table *table, struct span name, const struct topdown_line *line)
{
	(void)name;
	if (table->unit_seen || (!is(line->value, "slots") && !is(line->value, "cycles")))
		return wrong(table, "wrong unit", line->value);
	table->unit_seen = true;
	table->out->unit = is(line->value, "slots") ? TOPDOWN_SLOTS : TOPDOWN_CYCLES;
	return 0;
}

static int read_encoding(struct table *table, struct span name, const struct topdown_line *line)
{
	(void)name;
	table->encoding = topdown_encoding_named(line->value);
	return table->encoding == TOPDOWN_ENCODING_UNKNOWN
		       ? wrong(table, "wrong encoding", line->value)
		       : 0;
}

static int read_match(struct table *table, struct span name, const struct topdown_line *line)
{
	struct topdown_match match;
	if (is(name, "x86") ? topdown_match_x86(line->value, &match)
			    : is(name, "arm") && topdown_match_arm(line->value, &match))
		return 0;
	return wrong(table, "no processor", line->value);
}

/* Lines that topdown_method_choose() reads. */
static int read_elsewhere(struct table *table, struct span name, const struct topdown_line *line)
{
	(void)table, (void)name, (void)line;
	return 0;
}

static const struct {
	const char *key; /* with a dot at its end: a name follows */
	line_reader read;
} keys[] = {
	{ "name", read_name },
	{ "title", read_title },
	{ "encoding", read_encoding },
	{ "unit", read_unit },
	{ "match.", read_match },
	{ "needs", read_elsewhere },
	{ "fallback-of", read_elsewhere },
	{ "group", read_group },
	{ "event.", read_event },
	{ "field.", read_field },
	{ "let.", read_let },
	{ "figure.", read_figure },
	{ "corrected.", read_corrected },
	{ "absent.", read_absent },
	{ "sum", read_sum },
};

/* Lines for cores whose two threads share them, or do not: the others are passed over. */
static int condition(const struct table *table, struct span *key, bool *applies)
{
	bool smt = topdown_skip(key, "smt:"), single = !smt && topdown_skip(key, "single:");
	*applies = !(smt || single) || table->smt == (smt ? FACT_YES : FACT_NO);
	if ((smt || single) && table->smt == FACT_UNKNOWN)
		return error_set(table->err, -ENODATA,
				 "the method '%s' has to know whether two threads share a core, "
				 "and this machine does not say",
				 table->name);
	return 0;
}

static int read_line(struct table *table, struct topdown_line *line)
{
	struct span key = line->key;
	bool applies;
	if (!line->value.size)
		return wrong(table, "no value for", key);
	if (!line->source.size)
		return wrong(table, "no source for", key);
	int ret = condition(table, &key, &applies);
	if (ret < 0 || !applies)
		return ret;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct span name = key;
		size_t size = strlen(keys[i].key);
		bool named = keys[i].key[size - 1] == '.';
		if (named ? topdown_skip(&name, keys[i].key) : is(key, keys[i].key))
			return keys[i].read(table, name, line);
	}
	return wrong(table, "unknown key", line->key);
}

static void use(const struct topdown_method *method, uint16_t root, unsigned level,
		unsigned levels[TOPDOWN_EVENTS])
{
	bool used[TOPDOWN_EVENTS] = { false };
	topdown_expression_events(&method->pool, root, used);
	for (size_t i = 0; i < method->event_count; i++)
		if (used[i] && (!levels[i] || level < levels[i]))
			levels[i] = level;
}

/* Which levels need each event; one that nothing needs is a mistake. */
static int find_uses(struct table *table)
{
	struct topdown_method *method = table->out;
	unsigned plain[TOPDOWN_EVENTS] = { 0 }, corrected[TOPDOWN_EVENTS] = { 0 };
	use(method, method->slots, 1, plain);
	use(method, method->sum, 1, plain);
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++) {
		const struct topdown_formula *formula = &method->formulas[i];
		unsigned level = topdown_category_level((enum topdown_category)i);
		bool both =
			formula->plain != TOPDOWN_NO_NODE && formula->corrected != TOPDOWN_NO_NODE;
		use(method,
		    both || formula->corrected == TOPDOWN_NO_NODE ? formula->plain
								  : formula->corrected,
		    level, plain);
		use(method,
		    formula->corrected == TOPDOWN_NO_NODE ? formula->plain : formula->corrected,
		    level, corrected);
	}
	for (size_t i = 0; i < method->event_count; i++) {
		struct topdown_event *event = &method->events[i];
		event->level = plain[i];
		event->corrected_level = corrected[i];
		if (!plain[i] && !corrected[i])
			return error_set(table->err, -EBADMSG,
					 "table '%s': nothing uses event '%s'", table->name,
					 event->name);
	}
	return 0;
}

static int check(struct table *table)
{
	struct topdown_method *method = table->out;
	method->slots =
		resolve(table, span_of_text(method->unit == TOPDOWN_SLOTS ? "slots" : "cycles"));
	const char *missing = !method->name[0]			 ? "name"
			      : !method->title			 ? "title"
			      : !table->unit_seen		 ? "unit"
			      : !table->sum_seen		 ? "sum"
			      : !method->event_count		 ? "event"
			      : method->slots == TOPDOWN_NO_NODE ? "let.slots"
								 : NULL;
	for (unsigned i = 0; !missing && i < TOPDOWN_CATEGORIES; i++) {
		const struct topdown_formula *formula = &method->formulas[i];
		if (formula->plain == TOPDOWN_NO_NODE && formula->corrected == TOPDOWN_NO_NODE &&
		    !formula->absent)
			missing = topdown_category_name(i);
	}
	if (missing)
		return error_set(table->err, -EBADMSG, "table '%s': '%s' is missing", table->name,
				 missing);
	return find_uses(table);
}

int topdown_method_parse(struct span text, const char *name, enum fact smt,
			 struct topdown_method *out, struct error *err)
{
	struct table table = { .out = out, .name = name, .smt = smt, .err = err };
	struct topdown_line line;
	*out = (struct topdown_method){ .sum = TOPDOWN_NO_NODE, .slots = TOPDOWN_NO_NODE };
	for (unsigned i = 0; i < TOPDOWN_CATEGORIES; i++)
		out->formulas[i] = (struct topdown_formula){ .plain = TOPDOWN_NO_NODE,
							     .corrected = TOPDOWN_NO_NODE };
	while (topdown_line_take(&text, &table.line, &line)) {
		int ret = read_line(&table, &line);
		if (ret < 0)
			return ret;
	}
	return check(&table);
}
