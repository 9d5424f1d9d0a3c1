#include "machine/event_private.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/number.h"
#include "machine/event_names.h"

#define TERM_SIZE 256

struct term {
	char key[TERM_SIZE];
	char value[TERM_SIZE]; /* "" without "=" */
	bool has_value;
	const char *at; /* where it begins */
};

/* Takes the next term of [*at, end). False when it is too long or empty. */
static bool take_term(const char **at, const char *end, struct term *term)
{
	const char *start = *at;
	const char *stop = start;
	bool quoted = false;
	while (stop < end && (quoted || *stop != ',')) {
		if (*stop == '\'')
			quoted = !quoted;
		stop++;
	}
	const char *equal = memchr(start, '=', (size_t)(stop - start));
	const char *key_end = equal ? equal : stop;
	size_t key = (size_t)(key_end - start);
	size_t value = equal ? (size_t)(stop - equal) - 1 : 0;
	term->at = start;
	term->has_value = equal;
	*at = stop < end ? stop + 1 : end;
	if (key == 0 || key >= TERM_SIZE || value >= TERM_SIZE)
		return false;
	memcpy(term->key, start, key);
	term->key[key] = 0;
	if (value >= 2 && equal[1] == '\'' && equal[value] == '\'') {
		equal++;
		value -= 2;
	}
	if (value)
		memcpy(term->value, equal + 1, value);
	term->value[value] = 0;
	return true;
}

static bool has_key(const char *terms, size_t size, const char *key)
{
	const char *at = terms;
	struct term term;
	while (at < terms + size)
		if (take_term(&at, terms + size, &term) && strcmp(term.key, key) == 0)
			return true;
	return false;
}

struct resolving {
	const struct event_parser *parser;
	const struct pmu *pmu;
	struct event *event;
	const char *user_terms; /* what was written, which may override an event's own terms */
	size_t user_size;
	const struct pmu_event *within; /* the sysfs event whose terms are being applied, or NULL */
	uint64_t words[PMU_WORDS];
};

/* What a PMU knows, for a message: its fields and at most a few of its events. */
static void describe_terms(const struct pmu *pmu, struct buffer *out)
{
	for (size_t i = 0; i < pmu->format_count; i++)
		buffer_printf(out, "%s%s", i ? ", " : "", pmu->formats[i].name);
	if (!pmu->format_count)
		buffer_append_text(out, "none");
}

static int unknown_term(struct resolving *resolving, const struct term *term)
{
	const struct pmu *pmu = resolving->pmu;
	struct suggestion suggestion;
	suggestion_init(&suggestion, term->key);
	for (size_t i = 0; i < pmu->format_count; i++)
		suggestion_offer(&suggestion, pmu->formats[i].name);
	for (size_t i = 0; i < pmu->event_count; i++)
		suggestion_offer(&suggestion, pmu->events[i].name);
	if (suggestion.nearest[0])
		return event_parse_error(resolving->parser, -ENOENT, term->at,
					 "PMU '%s' has no event or field '%s'; did you mean '%s'?",
					 pmu->name, term->key, suggestion.nearest);
	struct buffer fields = { 0 };
	describe_terms(pmu, &fields);
	int status = event_parse_error(resolving->parser, -ENOENT, term->at,
				       "PMU '%s' has no event or field '%s'; its fields: %s",
				       pmu->name, term->key, buffer_text(&fields));
	buffer_release(&fields);
	return status;
}

static int bad_value(struct resolving *resolving, const struct term *term, const char *wanted)
{
	return event_parse_error(resolving->parser, -EINVAL, term->at,
				 "'%s' of PMU '%s' needs %s, not '%s'", term->key,
				 resolving->pmu->name, wanted, term->value);
}

static int apply_field(struct resolving *resolving, const struct pmu_format *format,
		       const struct term *term, uint64_t value)
{
	if (format->word == PMU_CONFIG3)
		return event_parse_error(
			resolving->parser, -ENOTSUP, term->at,
			"field '%s' of PMU '%s' lies in config3, which is not supported", term->key,
			resolving->pmu->name);
	if (pmu_format_apply(format, value, resolving->words))
		return 0;
	return event_parse_error(resolving->parser, -EINVAL, term->at,
				 "'%s' of PMU '%s' has %d bits; 0x%llx does not fit", term->key,
				 resolving->pmu->name, __builtin_popcountll(format->mask),
				 (unsigned long long)value);
}

static int apply_terms(struct resolving *resolving, const char *terms, size_t size);

static int apply_event(struct resolving *resolving, const struct pmu_event *named)
{
	resolving->within = named;
	int status = apply_terms(resolving, named->terms, strlen(named->terms));
	resolving->within = NULL;
	resolving->event->scale = named->scale;
	if (named->unit[0])
		resolving->event->unit = named->unit;
	return status;
}

/* Terms that are not the PMU's: 1 when taken, 0 when it is none of them, else negative errno. */
static int apply_common(struct resolving *resolving, const struct term *term)
{
	static const char *const words[] = { "config", "config1", "config2" };
	struct perf_event_attr *attr = &resolving->event->attr;
	uint64_t value;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(term->key, words[i]) == 0) {
			if (!number_parse_u64(term->value, &value))
				return bad_value(resolving, term, "a number");
			resolving->words[i] = value;
			return 1;
		}
	if (strcmp(term->key, "name") == 0) {
		if (!term->value[0])
			return bad_value(resolving, term, "a name");
		resolving->event->name = arena_copy_text(&resolving->parser->list->arena,
							 term->value, strlen(term->value));
		return resolving->event->name ? 1
					      : error_set(resolving->parser->err, -ENOMEM,
							  "out of memory while reading events");
	}
	bool frequency = strcmp(term->key, "freq") == 0;
	if (!frequency && strcmp(term->key, "period") != 0)
		return 0;
	if (!number_parse_u64(term->value, &value) || value == 0)
		return bad_value(resolving, term, "a number above 0");
	attr->freq = frequency;
	attr->sample_period = value;
	return 1;
}

static int apply_term(struct resolving *resolving, const struct term *term)
{
	const struct pmu *pmu = resolving->pmu;
	/* As for perf, the PMU's own field goes before a common word of the same name. */
	const struct pmu_format *format = pmu_find_format(pmu, term->key);
	if (format) {
		uint64_t value = 1;
		if (resolving->within && strcmp(term->value, "?") == 0) {
			if (has_key(resolving->user_terms, resolving->user_size, term->key))
				return 0;
			return event_parse_error(
				resolving->parser, -EINVAL, NULL,
				"event '%s' of PMU '%s' needs a value: write '%s/%s,%s=.../'",
				resolving->within->name, pmu->name, pmu->name,
				resolving->within->name, term->key);
		}
		if (term->has_value && !number_parse_u64(term->value, &value))
			return bad_value(resolving, term, "a number");
		return apply_field(resolving, format, term, value);
	}
	int status = apply_common(resolving, term);
	if (status)
		return status < 0 ? status : 0;
	const struct pmu_event *named = pmu_find_event(pmu, term->key);
	if (named && !term->has_value && !resolving->within)
		return 0; /* apply_named_event() did it */
	return unknown_term(resolving, term);
}

static int apply_terms(struct resolving *resolving, const char *terms, size_t size)
{
	const char *at = terms;
	while (at < terms + size) {
		struct term term;
		const char *start = at;
		if (!take_term(&at, terms + size, &term))
			return event_parse_error(resolving->parser, -EINVAL,
						 resolving->within ? NULL : start,
						 "a term of PMU '%s' is empty or longer than %d "
						 "characters",
						 resolving->pmu->name, TERM_SIZE - 1);
		if (resolving->within)
			term.at = NULL;
		int status = apply_term(resolving, &term);
		if (status)
			return status;
	}
	return 0;
}

/* The PMU's event among the terms, if one is there, goes first: what was written overrides its
 * terms. */
static int apply_named_event(struct resolving *resolving)
{
	const char *at = resolving->user_terms;
	const char *end = at + resolving->user_size;
	const struct pmu_event *first = NULL;
	while (at < end) {
		struct term term;
		if (!take_term(&at, end, &term) || term.has_value ||
		    pmu_find_format(resolving->pmu, term.key))
			continue;
		const struct pmu_event *named = pmu_find_event(resolving->pmu, term.key);
		if (!named)
			continue;
		if (first)
			return event_parse_error(
				resolving->parser, -EINVAL, term.at,
				"'%s' and '%s' are two events of PMU '%s'; write them "
				"as two",
				first->name, named->name, resolving->pmu->name);
		first = named;
	}
	return first ? apply_event(resolving, first) : 0;
}

int event_terms_resolve(const struct event_parser *parser, const struct pmu *pmu, const char *terms,
			size_t size, struct event *event)
{
	struct resolving resolving = {
		.parser = parser, .pmu = pmu, .event = event, .user_terms = terms, .user_size = size
	};
	int status = apply_named_event(&resolving);
	if (!status)
		status = apply_terms(&resolving, terms, size);
	if (status)
		return status;
	event->attr.type = pmu->type;
	event->attr.config = resolving.words[PMU_CONFIG];
	event->attr.config1 = resolving.words[PMU_CONFIG1];
	event->attr.config2 = resolving.words[PMU_CONFIG2];
	return 0;
}
