#include "import/gperftools/cpu_profile_file.h"

#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "base/error.h"

#define HEADER_WORDS	 5    /* 0, words that follow (3), version, period, padding */
#define HEADER_MAX_WORDS 1024 /* that may follow the second */

static const char symbol_mark[] = "--- symbol\n";
static const char profile_mark[] = "--- profile\n";

uint64_t cpu_word_at(const struct cpu_words *words, size_t at)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < words->width; i++) {
		unsigned shift = 8 * (words->big ? words->width - 1 - i : i);
		value |= (uint64_t)words->start[at + i] << shift;
	}
	return value;
}

static size_t words_left(const struct cpu_words *words)
{
	return (words->size - words->at) / words->width;
}

static uint64_t take(struct cpu_words *words)
{
	uint64_t value = cpu_word_at(words, words->at);
	words->at += words->width;
	return value;
}

/* Finds the width and order in which the header makes sense. */
static bool find_words(const uint8_t *start, size_t size, struct cpu_words *out, uint64_t *version,
		       uint64_t *period)
{
	static const struct {
		unsigned width;
		bool big;
	} forms[] = { { 8, false }, { 4, false }, { 8, true }, { 4, true } };
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct cpu_words words = { start, size, 0, forms[i].width, forms[i].big };
		if (words_left(&words) < HEADER_WORDS || take(&words) != 0)
			continue;
		uint64_t follow = take(&words);
		*version = take(&words);
		*period = take(&words);
		if (follow < HEADER_WORDS - 2 || follow > HEADER_MAX_WORDS || *version > 1 ||
		    *period == 0 || *period > UINT32_MAX || take(&words) != 0)
			continue;
		words.at = 2 * words.width;
		if (words_left(&words) < follow)
			continue;
		words.at += (size_t)follow * words.width;
		*out = words;
		return true;
	}
	return false;
}

/* Where the profile begins behind the names; NULL: nowhere. */
static const uint8_t *skip_symbols(struct span bytes, struct span *symbols)
{
	const char *text = (const char *)bytes.data + sizeof(symbol_mark) - 1;
	size_t size = bytes.size - (sizeof(symbol_mark) - 1);
	const char *mark = memmem(text, size, profile_mark, sizeof(profile_mark) - 1);
	if (!mark)
		return NULL;
	*symbols = (struct span){ text, (size_t)(mark - text) };
	return (const uint8_t *)mark + sizeof(profile_mark) - 1;
}

int cpu_profile_head(struct span bytes, struct cpu_profile_head *head, struct error *err)
{
	*head = (struct cpu_profile_head){ 0 };
	const uint8_t *start = bytes.data;
	size_t size = bytes.size;
	uint64_t version;
	if (span_starts_with(bytes, symbol_mark)) {
		start = skip_symbols(bytes, &head->symbols);
		if (!start)
			return error_set(err, -EPROTO,
					 "there is no CPU profile behind its names of addresses");
		size -= (size_t)(start - (const uint8_t *)bytes.data);
	}
	if (!find_words(start, size, &head->words, &version, &head->period_us))
		return error_set(err, -EPROTO, "this is no CPU profile");
	head->java = version == 1;
	/* offsets in messages are those of the whole file */
	size_t before = (size_t)(start - (const uint8_t *)bytes.data);
	head->words.start = bytes.data;
	head->words.at += before;
	head->words.size = bytes.size;
	return 0;
}

bool cpu_profile_looks_like(const void *bytes, size_t size)
{
	struct cpu_words words;
	uint64_t version, period;
	return span_starts_with((struct span){ bytes, size }, symbol_mark) ||
	       find_words(bytes, size, &words, &version, &period);
}

int cpu_next_sample(struct cpu_words *words, struct cpu_sample *sample, struct error *err)
{
	size_t at = words->at;
	if (words_left(words) >= 2) {
		sample->count = take(words);
		uint64_t depth = take(words);
		sample->first = words->at;
		sample->depth = (size_t)depth;
		if (depth <= words_left(words)) {
			words->at += (size_t)depth * words->width;
			return !(sample->count == 0 && depth == 1 &&
				 cpu_word_at(words, sample->first) == 0);
		}
	}
	words->at = at;
	return error_set(err, -EBADMSG, "at byte %zu: the sample is damaged, or the file cut off",
			 at);
}

/* ---- text */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(const char **at, const char *end)
{
	while (*at < end && is_blank(**at))
		++*at;
}

static struct span take_word(const char **at, const char *end)
{
	skip_blanks(at, end);
	const char *first = *at;
	while (*at < end && !is_blank(**at))
		++*at;
	return (struct span){ first, (size_t)(*at - first) };
}

static struct span without_blanks_behind(const char *at, const char *end)
{
	while (end > at && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	return (struct span){ at, (size_t)(end - at) };
}

bool cpu_mapping_parse(struct span line, struct cpu_mapping *mapping)
{
	const char *at = line.data;
	const char *end = at + line.size;
	*mapping = (struct cpu_mapping){ 0 };
	skip_blanks(&at, end);
	if (!digits_take(&at, end, 16, &mapping->start) || at == end || *at++ != '-' ||
	    !digits_take(&at, end, 16, &mapping->end))
		return false;
	struct span rights = take_word(&at, end);
	if (rights.size < 3)
		return false;
	mapping->executable = memchr(rights.data, 'x', rights.size) != NULL;
	skip_blanks(&at, end);
	if (!digits_take(&at, end, 16, &mapping->offset))
		return false;
	take_word(&at, end); /* device */
	take_word(&at, end); /* inode */
	skip_blanks(&at, end);
	mapping->path = without_blanks_behind(at, end);
	return true;
}

bool cpu_symbol_parse(struct span line, uint64_t *address, struct span *names)
{
	const char *at = line.data;
	const char *end = at + line.size;
	skip_blanks(&at, end);
	if (end - at < 3 || at[0] != '0' || at[1] != 'x')
		return false;
	at += 2;
	if (!digits_take(&at, end, 16, address))
		return false;
	skip_blanks(&at, end);
	*names = without_blanks_behind(at, end);
	return names->size > 0;
}

struct span cpu_java_name(struct span text)
{
	static const char stub[] = "generated stub/JIT";
	const char *start = text.data;
	const char *open = text.data ? memrchr(start, '(', text.size) : NULL;
	if (open && open > start && is_blank(open[-1]) && start[text.size - 1] == ')')
		return without_blanks_behind(start, open);
	if (text.size && memmem(start, text.size, stub, sizeof(stub) - 1))
		return span_of_text("STUB");
	return text;
}
