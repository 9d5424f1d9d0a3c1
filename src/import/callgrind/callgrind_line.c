#include "import/callgrind/callgrind_line.h"

#include "base/digits.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
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
	if (!digits_take(&at, words->end, base, value))
		return false;
	words->at = at;
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
		if (number.at < number.end && *number.at >= '0' && *number.at <= '9' &&
		    callgrind_number(&number, &name->number) && number.at < number.end &&
		    *number.at == ')' && (number.at + 1 == number.end || is_blank(number.at[1]))) {
			name->numbered = true;
			words.at = number.at + 1;
		}
	}
	name->text = callgrind_rest(&words);
	return name->numbered || name->text.size;
}
