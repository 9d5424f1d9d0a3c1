#include "import/callgrind_line.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int digit_of(char c, unsigned base)
{
	int digit = c >= '0' && c <= '9'   ? c - '0'
		    : c >= 'a' && c <= 'f' ? c - 'a' + 10
		    : c >= 'A' && c <= 'F' ? c - 'A' + 10
					   : 99;
	return digit < (int)base ? digit : -1;
}

void callgrind_skip_blanks(struct callgrind_words *words)
{
	while (words->at < words->end && is_blank(*words->at))
		words->at++;
}

bool callgrind_at_end(struct callgrind_words *words)
{
	callgrind_skip_blanks(words);
	return words->at == words->end;
}

bool callgrind_number(struct callgrind_words *words, uint64_t *value)
{
	callgrind_skip_blanks(words);
	const char *at = words->at;
	unsigned base = 10;
	if (words->end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	}
	const char *first = at;
	uint64_t number = 0;
	for (int digit; at < words->end && (digit = digit_of(*at, base)) >= 0; at++)
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	if (at == first)
		return false;
	words->at = at;
	*value = number;
	return true;
}

bool callgrind_position(struct callgrind_words *words, uint64_t before, uint64_t *value)
{
	callgrind_skip_blanks(words);
	char sign = words->at < words->end ? *words->at : 0;
	if (sign == '*') {
		words->at++;
		*value = before;
		return true;
	}
	if (sign != '+' && sign != '-')
		return callgrind_number(words, value);
	struct callgrind_words distance = { words->at + 1, words->end };
	uint64_t number;
	if (distance.at == distance.end || is_blank(*distance.at) ||
	    !callgrind_number(&distance, &number))
		return false;
	if (sign == '+' ? __builtin_add_overflow(before, number, value)
			: __builtin_sub_overflow(before, number, value))
		return false;
	words->at = distance.at;
	return true;
}

struct span callgrind_word(struct callgrind_words *words)
{
	callgrind_skip_blanks(words);
	const char *first = words->at;
	while (words->at < words->end && !is_blank(*words->at))
		words->at++;
	return (struct span){ first, (size_t)(words->at - first) };
}

struct span callgrind_rest(struct callgrind_words *words)
{
	callgrind_skip_blanks(words);
	const char *end = words->end;
	while (end > words->at && is_blank(end[-1]))
		end--;
	return (struct span){ words->at, (size_t)(end - words->at) };
}

bool callgrind_name(struct span text, struct callgrind_name *name)
{
	struct callgrind_words words = callgrind_words_of(text);
	*name = (struct callgrind_name){ 0 };
	callgrind_skip_blanks(&words);
	/* a name may begin with a bracket too: "(below main)" */
	if (words.at < words.end && *words.at == '(') {
		struct callgrind_words number = { words.at + 1, words.end };
		if (number.at < number.end && digit_of(*number.at, 10) >= 0 &&
		    callgrind_number(&number, &name->number) && number.at < number.end &&
		    *number.at == ')' && (number.at + 1 == number.end || is_blank(number.at[1]))) {
			name->numbered = true;
			words.at = number.at + 1;
		}
	}
	name->text = callgrind_rest(&words);
	return name->numbered || name->text.size;
}
