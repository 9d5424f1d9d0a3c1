#include "machine/topdown_table.h"

#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"

static const struct {
	const char *name;
	enum topdown_core core;
} cores[] = {
	{ "core", TOPDOWN_CORE_BIG },
	{ "atom", TOPDOWN_CORE_ATOM },
	{ "lowpower", TOPDOWN_CORE_LOW_POWER },
};

struct span topdown_cut(struct span *text, char end)
{
	const char *start = text->data;
	const char *at = text->size ? memchr(start, end, text->size) : NULL;
	size_t size = at ? (size_t)(at - start) : text->size;
	size_t skipped = size + (at != NULL);
	if (text->size)
		*text = (struct span){ start + skipped, text->size - skipped };
	return (struct span){ start, size };
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span trimmed(struct span text)
{
	const char *at = text.data;
	size_t size = text.size;
	while (size && blank(at[size - 1]))
		size--;
	while (size && blank(*at))
		at++, size--;
	return (struct span){ at, size };
}

struct span topdown_word(struct span *text)
{
	struct span rest = trimmed(*text);
	const char *at = rest.data;
	size_t size = 0;
	while (size < rest.size && !blank(at[size]))
		size++;
	if (rest.size)
		*text = (struct span){ at + size, rest.size - size };
	return (struct span){ at, size };
}

bool topdown_skip(struct span *text, const char *prefix)
{
	size_t size = strlen(prefix);
	if (!span_starts_with(*text, prefix))
		return false;
	*text = (struct span){ (const char *)text->data + size, text->size - size };
	return true;
}

bool topdown_number(struct span text, uint64_t *value)
{
	unsigned base = topdown_skip(&text, "0x") ? 16 : 10;
	const char *at = text.data, *end = at + text.size;
	return text.size && digits_take(&at, end, base, value) && at == end;
}

bool topdown_line_take(struct span *text, size_t *number, struct topdown_line *line)
{
	while (text->size) {
		struct span all = trimmed(topdown_cut(text, '\n'));
		++*number;
		if (!all.size || span_starts_with(all, "#"))
			continue;
		struct span before = topdown_cut(&all, '#');
		line->source = trimmed(all);
		line->key = topdown_word(&before);
		line->value = trimmed(before);
		return true;
	}
	return false;
}

/* "0x10-0x1f" or one number. */
static bool range(struct span text, uint64_t *first, uint64_t *last)
{
	struct span low = topdown_cut(&text, '-');
	return topdown_number(low, first) &&
	       (text.size ? topdown_number(text, last) && *last >= *first : (*last = *first, true));
}

bool topdown_match_x86(struct span value, struct topdown_match *match)
{
	*match = (struct topdown_match){ .last_revision = UINT64_MAX };
	struct span vendor = topdown_cut(&value, '/'), family = topdown_cut(&value, '/');
	struct span model = topdown_cut(&value, '/');
	bool core_known = value.size == 0;
	for (size_t i = 0; i < COUNT_OF(cores); i++)
		if (span_equal(value, span_of_text(cores[i].name))) {
			match->cpu.core = cores[i].core;
			core_known = true;
		}
	if (!core_known || !vendor.size || vendor.size >= sizeof(match->cpu.vendor))
		return false;
	memcpy(match->cpu.vendor, vendor.data, vendor.size);
	return topdown_number(family, &match->cpu.family) &&
	       range(model, &match->cpu.model, &match->last_model);
}

bool topdown_match_arm(struct span value, struct topdown_match *match)
{
	*match = (struct topdown_match){ .cpu.arm = true, .last_revision = UINT64_MAX };
	struct span implementer = topdown_cut(&value, '/'), part = topdown_cut(&value, '/');
	if (value.size && !range(value, &match->cpu.revision, &match->last_revision))
		return false;
	return topdown_number(implementer, &match->cpu.family) &&
	       range(part, &match->cpu.model, &match->last_model);
}

static enum topdown_fit fit(const struct topdown_match *match, const struct topdown_cpu *cpu)
{
	if (match->cpu.arm != cpu->arm || strcmp(match->cpu.vendor, cpu->vendor) != 0 ||
	    match->cpu.family != cpu->family || cpu->model < match->cpu.model ||
	    cpu->model > match->last_model || cpu->revision < match->cpu.revision ||
	    cpu->revision > match->last_revision)
		return TOPDOWN_NO_FIT;
	if (match->cpu.core == TOPDOWN_CORE_UNKNOWN || match->cpu.core == cpu->core)
		return TOPDOWN_FITS;
	return cpu->core == TOPDOWN_CORE_UNKNOWN ? TOPDOWN_NEEDS_CORE : TOPDOWN_NO_FIT;
}

enum topdown_fit topdown_table_fit(struct span text, const struct topdown_cpu *cpu)
{
	enum topdown_fit best = TOPDOWN_NO_FIT;
	struct topdown_line line;
	for (size_t number = 0; topdown_line_take(&text, &number, &line);) {
		struct topdown_match match;
		bool is_match = (span_equal(line.key, span_of_text("match.x86")) &&
				 topdown_match_x86(line.value, &match)) ||
				(span_equal(line.key, span_of_text("match.arm")) &&
				 topdown_match_arm(line.value, &match));
		enum topdown_fit this = is_match ? fit(&match, cpu) : TOPDOWN_NO_FIT;
		if (this == TOPDOWN_FITS)
			return this;
		if (this == TOPDOWN_NEEDS_CORE)
			best = this;
	}
	return best;
}

struct span topdown_table_value(struct span text, const char *key)
{
	struct topdown_line line;
	for (size_t number = 0; topdown_line_take(&text, &number, &line);)
		if (span_equal(line.key, span_of_text(key)))
			return line.value;
	return (struct span){ 0 };
}
