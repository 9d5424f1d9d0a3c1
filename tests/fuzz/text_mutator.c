/*
 * text_mutator - formats of lines and words, and JSON: lines and words recombined,
 * what stands in brackets doubled, dropped, nested, numbers exchanged for telling
 * ones. The first byte is the target's own (import_bytes.h).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "mutator.h"

#define CHANGES_MOST 4
#define NESTED_MOST  4096

static struct pieces pieces, second_pieces;

/* Each with the mark that ends it. */
static void cut_lines(struct pieces *lines, struct span text)
{
	const char *at = text.data, *end = at + text.size;
	lines->count = 0;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
		pieces_add(lines, (struct span){ at, size });
		at += size;
	}
}

static bool is_mark(char letter)
{
	return !isalnum((unsigned char)letter) && letter != '.' && letter != '_';
}

/* Words, and every mark by itself. */
static void cut_words(struct pieces *words, struct span text)
{
	const char *letters = text.data;
	words->count = 0;
	for (size_t at = 0; at < text.size;) {
		size_t end = at + 1;
		while (!is_mark(letters[at]) && end < text.size && !is_mark(letters[end]))
			end++;
		pieces_add(words, (struct span){ letters + at, end - at });
		at = end;
	}
}

static struct span telling_word(struct random_state *random, struct span old)
{
	static const char *const words[] = { "-1",   "1e309",	  "1e-9", "0x",	     "nan",
					     "",     "0.5",	  "\"",	  "\\u0000", "[",
					     "{",    ";",	  "\xff", "%00",     "+",
					     "null", "[unknown]", "(1)",  "@plt",    "\r",
					     "\t",   "#",	  "fl=",  "calls=" };
	char text[32];
	uint64_t number = 0;
	for (size_t i = 0; i < old.size && isdigit(((const uint8_t *)old.data)[i]); i++)
		number = number * 10 + (uint64_t)(((const char *)old.data)[i] - '0');
	switch (random_below(random, 4)) {
	case 0:
		snprintf(text, sizeof(text), "%s",
			 words[random_below(random, sizeof(words) / sizeof(words[0]))]);
		break;
	case 1:
		snprintf(text, sizeof(text), "%llx",
			 (unsigned long long)mutator_number(random, number, 10));
		break;
	default:
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)mutator_number(random, number, 10));
		break;
	}
	size_t size = strlen(text);
	uint8_t *bytes = mutator_room(size);
	if (!bytes)
		return old;
	memcpy(bytes, text, size);
	return (struct span){ bytes, size };
}

/* From an opening bracket to the one that closes it; empty when there is none. */
static struct span bracketed(struct random_state *random, struct span text)
{
	const char *letters = text.data;
	size_t first = text.size ? random_below(random, text.size) : 0, depth = 0;
	while (first < text.size && !strchr("[{(", letters[first]))
		first++;
	for (size_t at = first; at < text.size; at++) {
		if (strchr("[{(", letters[at]) && letters[at])
			depth++;
		else if (strchr("]})", letters[at]) && letters[at] && --depth == 0)
			return (struct span){ letters + first, at + 1 - first };
	}
	return (struct span){ letters, 0 };
}

static struct span with_brackets(struct random_state *random, struct span text)
{
	struct span part = bracketed(random, text), other = bracketed(random, text);
	size_t before = (size_t)((const char *)part.data - (const char *)text.data);
	struct pieces *made = &second_pieces;
	if (!part.size)
		return text;
	made->count = 0;
	pieces_add(made, (struct span){ text.data, before });
	switch (random_below(random, 4)) {
	case 0: /* twice */
		pieces_add(made, part);
		pieces_add(made, (struct span){ ",", 1 });
		pieces_add(made, part);
		break;
	case 1:
		break;
	case 2: /* another in its place */
		pieces_add(made, other);
		break;
	default: { /* in itself */
		size_t deep = random_one_in(random, 16) ? random_below(random, NESTED_MOST)
							: random_below(random, 8);
		const char *letters = part.data;
		deep = deep < PIECES_MAX / 3 ? deep : PIECES_MAX / 3;
		for (size_t i = 0; i < deep; i++)
			pieces_add(made, (struct span){ letters, 1 });
		pieces_add(made, part);
		for (size_t i = 0; i < deep; i++)
			pieces_add(made, (struct span){ letters + part.size - 1, 1 });
		break;
	}
	}
	pieces_add(made, (struct span){ (const char *)part.data + part.size,
					text.size - before - part.size });
	return pieces_joined(made);
}

static struct span with_words(struct random_state *random, struct span line)
{
	struct pieces *words = &second_pieces;
	cut_words(words, line);
	if (!words->count)
		return line;
	if (random_one_in(random, 2)) {
		size_t at = random_below(random, words->count);
		words->list[at] = telling_word(random, words->list[at]);
	} else {
		pieces_change(words, random);
	}
	return pieces_joined(words);
}

static struct span change(struct random_state *random, struct span text)
{
	cut_lines(&pieces, text);
	size_t at = pieces.count ? random_below(random, pieces.count) : 0;
	switch (random_below(random, 6)) {
	case 0:
	case 1:
		pieces_change(&pieces, random);
		break;
	case 2:
	case 3:
		if (pieces.count)
			pieces.list[at] = with_words(random, pieces.list[at]);
		break;
	case 4:
		return with_brackets(random, text);
	default:
		if (pieces.count)
			pieces.list[at] = mutator_bytes(pieces.list[at], random);
		break;
	}
	return pieces_joined(&pieces);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (random_one_in(&random, 10) || size < 2)
		return LLVMFuzzerMutate(data, size, max_size);
	uint8_t options = random_one_in(&random, 8) ? (uint8_t)random_u64(&random) : data[0];
	struct span text = { data + 1, size - 1 };
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times--;)
		text = change(&random, text);
	return mutator_written(options, text, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	bool by_words = random_one_in(&random, 3);
	mutator_begin();
	if (first_size < 2 || second_size < 2)
		return 0;
	struct span text = { first + 1, first_size - 1 }, other = { second + 1, second_size - 1 };
	(by_words ? cut_words : cut_lines)(&pieces, text);
	(by_words ? cut_words : cut_lines)(&second_pieces, other);
	pieces_cross(&pieces, &second_pieces, &random);
	return mutator_written(first[0], pieces_joined(&pieces), out, max_size);
}
