#include "analyze/names/procedure_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/span.h"

#define ANONYMOUS  "(anonymous namespace)"
#define LEVELS_MAX 64 /* of brackets in brackets; names from deeper ones stay as they are */

enum arguments { ARGUMENTS_DROPPED, ARGUMENTS_KEPT };

struct strip {
	const char *name;
	size_t size;  /* without what compilers append to copies */
	size_t at;    /* how far it is read */
	size_t start; /* of the result in `out` */
	enum arguments arguments;
	bool conversion; /* within "operator unsigned long": blanks belong to the name */
	struct buffer *out;
};

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static bool stands_at(const struct strip *strip, size_t at, const char *text)
{
	size_t size = strlen(text);
	return at <= strip->size && size <= strip->size - at &&
	       memcmp(strip->name + at, text, size) == 0;
}

static void take(struct strip *strip, size_t size)
{
	buffer_append(strip->out, strip->name + strip->at, size);
	strip->at += size;
}

/* What closes the bracket that `c` opens, or 0. */
static char closing_of(char c)
{
	switch (c) {
	case '<':
		return '>';
	case '(':
		return ')';
	case '{':
		return '}';
	case '[':
		return ']';
	default:
		return 0;
	}
}

static bool closes(char c)
{
	return c == '>' || c == ')' || c == '}' || c == ']';
}

/* Bytes of the bracket that opens at `at`, its closing one included; 0: it does not pair. */
static size_t bracket_size(const struct strip *strip, size_t at)
{
	char closing[LEVELS_MAX];
	size_t depth = 0;
	for (size_t i = at; i < strip->size; i++) {
		char c = strip->name[i], closer = closing_of(c);
		if ((c == '-' || c == '=') && i + 1 < strip->size && strip->name[i + 1] == '>') {
			i++;
		} else if (c == 'o' && stands_at(strip, i, "operator()")) {
			i += strlen("operator()") - 1;
		} else if (closer) {
			if (depth == LEVELS_MAX)
				return 0;
			closing[depth++] = closer;
		} else if (closes(c)) {
			if (depth == 0 || closing[--depth] != c)
				return 0;
			if (depth == 0)
				return i + 1 - at;
		}
	}
	return 0;
}

/* The spelling of an operator at `at` ("operator<<"), 0 for none. */
static size_t operator_size(const struct strip *strip, size_t at)
{
	static const char *const symbols[] = { " new[]", " delete[]", "()",  "[]", "<=>",
					       "<<=",	 ">>=",	      "->*", "->", "<<",
					       ">>",	 "<=",	      ">=",  "<",  ">" };
	const size_t word = strlen("operator");
	if (!stands_at(strip, at, "operator") || (at && is_word(strip->name[at - 1])) ||
	    (at + word < strip->size && is_word(strip->name[at + word])))
		return 0;
	for (size_t i = 0; i < COUNT_OF(symbols); i++)
		if (stands_at(strip, at + word, symbols[i]))
			return word + strlen(symbols[i]);
	return word;
}

static void take_operator(struct strip *strip, size_t size)
{
	take(strip, size);
	char next = strip->at < strip->size ? strip->name[strip->at] : 0;
	char after = strip->at + 1 < strip->size ? strip->name[strip->at + 1] : 0;
	if (next == ' ' && (after == '<' || after == '('))
		strip->at++; /* "operator< <int>" */
	else if (next == ' ')
		strip->conversion = true;
}

/* "<alloc::Vec<T> as core::Clone>": the type that a Rust method belongs to. */
static bool begins_leading_type(const struct strip *strip)
{
	size_t done = strip->out->size - strip->start;
	if (done == 0)
		return true;
	return done >= 2 && memcmp(strip->out->data + strip->out->size - 2, "::", 2) == 0 &&
	       (stands_at(strip, strip->at, "<impl ") || stands_at(strip, strip->at, "<lambda"));
}

/* Copies a leading type of `size` bytes without the arguments of the types in it. Each byte is
 * looked at once: brackets within dropped ones are dropped with them. */
static void take_leading_type(struct strip *strip, size_t size)
{
	size_t end = strip->at + size - 1;
	take(strip, 1);
	while (strip->at < end) {
		bool dropped = strip->arguments == ARGUMENTS_DROPPED &&
			       strip->name[strip->at] == '<' && is_word(strip->name[strip->at - 1]);
		size_t inner = dropped ? bracket_size(strip, strip->at) : 0;
		if (inner)
			strip->at += inner;
		else
			take(strip, 1);
	}
	take(strip, 1);
}

static void drop_ending(struct strip *strip, const char *ending)
{
	size_t size = strlen(ending), done = strip->out->size - strip->start;
	if (done >= size && memcmp(strip->out->data + strip->out->size - size, ending, size) == 0)
		strip->out->size -= size;
}

static void take_or_drop_arguments(struct strip *strip, size_t size)
{
	if (strip->arguments == ARGUMENTS_KEPT) {
		take(strip, size);
		return;
	}
	drop_ending(strip, "::"); /* "f::<T>" */
	strip->at += size;
}

static size_t qualifier_size(const struct strip *strip)
{
	static const char *const qualifiers[] = { " const", " volatile", " noexcept", " &&",
						  " &",	    "&&",	 "&" };
	for (size_t i = 0; i < COUNT_OF(qualifiers); i++)
		if (stands_at(strip, strip->at, qualifiers[i]))
			return strlen(qualifiers[i]);
	return 0;
}

/* "(int, long) const &" */
static void drop_parameters(struct strip *strip, size_t size)
{
	drop_ending(strip, "!"); /* D's "f!(int)" */
	strip->conversion = false;
	for (; size; size = qualifier_size(strip))
		strip->at += size;
}

/* What opens at strip->at; false: it does not pair. */
static bool take_bracket(struct strip *strip)
{
	size_t size = bracket_size(strip, strip->at);
	char c = strip->name[strip->at], before = strip->at ? strip->name[strip->at - 1] : 0;
	if (!size)
		return false;
	bool receiver = c == '(' && (before == 0 || before == '.') &&
			stands_at(strip, strip->at, "(*"); /* Go's "main.(*T).f" */
	if (c == '{' || (c == '[' && !is_word(before)) || (c == '<' && before == '.')) {
		take(strip, size); /* a closure, Java's "<init>" */
	} else if (receiver) {
		const char *generic = memchr(strip->name + strip->at, '[', size);
		size_t kept = generic && strip->arguments == ARGUMENTS_DROPPED
				      ? (size_t)(generic - strip->name) - strip->at
				      : size;
		take(strip, kept);
		strip->at += size - kept;
		if (kept < size)
			buffer_append_u8(strip->out, ')');
	} else if (c == '(') {
		drop_parameters(strip, size);
	} else if (c == '<' && begins_leading_type(strip)) {
		take_leading_type(strip, size);
	} else {
		take_or_drop_arguments(strip, size);
	}
	return true;
}

/* What is taken before a blank was a return type. */
static void take_blank(struct strip *strip)
{
	if (strip->conversion) {
		take(strip, 1);
		return;
	}
	strip->at++;
	if (strip->at < strip->size)
		strip->out->size = strip->start;
}

static bool take_next(struct strip *strip)
{
	char c = strip->name[strip->at];
	size_t size = operator_size(strip, strip->at);
	if (size)
		take_operator(strip, size);
	else if (stands_at(strip, strip->at, ANONYMOUS))
		take(strip, strlen(ANONYMOUS));
	else if (closing_of(c))
		return take_bracket(strip);
	else if (closes(c))
		return false;
	else if (c == ' ')
		take_blank(strip);
	else
		take(strip, 1);
	return true;
}

/* "::h0123456789abcdef", Rust's mark of an instance. */
static size_t without_hash(const char *name, size_t size)
{
	const size_t mark = strlen("::h") + 16;
	if (size <= mark || memcmp(name + size - mark, "::h", 3) != 0)
		return size;
	for (size_t i = size - 16; i < size; i++)
		if (!strchr("0123456789abcdef", name[i]))
			return size;
	return size - mark;
}

/* What is the function in a name that a run-time compiler wrote: "JS:*work /srv/app.js:3:14". */
static bool compiled_name(const char *name, const char **function, size_t *size)
{
	static const struct {
		const char *before, *marks, *ends;
	} forms[] = { { "JS:", "*~^+", " " },
		      { "LazyCompile:", "*~^+", " " },
		      { "Function:", "*~^+", " " },
		      { "Eval:", "*~^+", " " },
		      { "InterpretedFunction:", "", " " },
		      { "Builtin:", "", " " },
		      { "py::", "", ":" } };
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		size_t before = strlen(forms[i].before);
		if (strncmp(name, forms[i].before, before) != 0)
			continue;
		*function = name + before;
		*function += strspn(*function, forms[i].marks);
		*size = strcspn(*function, forms[i].ends);
		return *size > 0;
	}
	return false;
}

size_t procedure_name_own_size(const char *name)
{
	static const char *const marks[] = { " [clone ", ".isra.",     ".constprop.",
					     ".part.",	 ".lto_priv.", ".llvm." };
	size_t size = strlen(name);
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		const char *found = strstr(name, marks[i]);
		if (found && found != name && (size_t)(found - name) < size)
			size = (size_t)(found - name);
	}
	return size;
}

static void strip_name(const char *name, enum arguments arguments, struct buffer *out)
{
	const char *function;
	size_t size;
	if (compiled_name(name, &function, &size)) {
		buffer_append(out, function, size);
		return;
	}
	size = without_hash(name, procedure_name_own_size(name));
	struct strip strip = {
		.name = name, .size = size, .start = out->size, .arguments = arguments, .out = out
	};
	bool pairs = name[0] != '['; /* "[no symbol]" */
	while (pairs && strip.at < size && !buffer_failed(out))
		pairs = take_next(&strip);
	if (pairs && out->size > strip.start)
		return;
	out->size = strip.start;
	buffer_append(out, name, size);
}

void procedure_name_base(const char *name, struct buffer *out)
{
	strip_name(name, ARGUMENTS_DROPPED, out);
}

/* ---- how well a name fits */

static enum procedure_name_fit fit_text(const char *base, const char *wanted)
{
	size_t size = strlen(base), tail = strlen(wanted);
	if (tail > size || tail == 0 || memcmp(base + size - tail, wanted, tail) != 0)
		return NAME_FITS_NOT;
	if (tail == size)
		return NAME_FITS_BASE;
	char before = base[size - tail - 1];
	bool component = before == '.' || before == '/' ||
			 (before == ':' && size - tail >= 2 && base[size - tail - 2] == ':');
	return component ? NAME_FITS_TAIL : NAME_FITS_NOT;
}

/* How many bytes at the start of a text of `size` bytes do not matter to fit_text(), which compares
 * the end, or all, and looks at "::" before it. */
static size_t bytes_to_skip(size_t size, const char *wanted)
{
	size_t telling = strlen(wanted) + strlen("::") + 1;
	return size > telling ? size - telling : 0;
}

/* Fits `type` + `rest`, as "Vec" + "::push". A name may have many types and a long rest. */
static enum procedure_name_fit fit_method(struct span type, struct span rest, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	size_t skipped = bytes_to_skip(type.size + rest.size, wanted);
	size_t of_type = skipped < type.size ? skipped : type.size;
	size_t of_rest = skipped - of_type;
	buffer_append(&text, (const char *)type.data + of_type, type.size - of_type);
	buffer_append(&text, (const char *)rest.data + of_rest, rest.size - of_rest);
	return buffer_failed(&text) ? NAME_FITS_NOT : fit_text(buffer_text(&text), wanted);
}

static enum procedure_name_fit better(enum procedure_name_fit a, enum procedure_name_fit b)
{
	return a > b ? a : b;
}

/* "<A as B>::f" is meant by "A::f" and "B::f", "<impl B for A>::f" likewise. */
static enum procedure_name_fit fit_leading_type(const char *base, const char *wanted)
{
	static const char impl[] = "<impl ";
	const char *open = strstr(base, impl);
	bool is_impl = open != NULL;
	if (!open && base[0] == '<')
		open = base;
	if (!open)
		return NAME_FITS_NOT;
	const struct strip whole = { .name = base, .size = strlen(base) };
	size_t size = bracket_size(&whole, (size_t)(open - base));
	if (!size)
		return NAME_FITS_NOT;
	const char *first = open + (is_impl ? strlen(impl) : 1), *end = open + size - 1;
	const struct span rest = span_of_text(open + size);
	const char *between = is_impl ? " for " : " as ";
	enum procedure_name_fit fit = NAME_FITS_NOT;
	const char *at = first, *found;
	while ((found = memmem(at, (size_t)(end - at), between, strlen(between)))) {
		struct span type = { at, (size_t)(found - at) };
		fit = better(fit, fit_method(type, rest, wanted));
		at = found + strlen(between);
	}
	struct span type = { at, (size_t)(end - at) };
	return better(fit, fit_method(type, rest, wanted));
}

static enum procedure_name_fit fit_base(const char *name, enum arguments arguments,
					const char *wanted)
{
	CLEANUP(buffer_release) struct buffer base = { 0 };
	strip_name(name, arguments, &base);
	if (buffer_failed(&base))
		return NAME_FITS_NOT;
	return better(fit_text(buffer_text(&base), wanted),
		      fit_leading_type(buffer_text(&base), wanted));
}

/* Whether a name has the last word of `wanted`, as every name that it fits does: most do not. */
static bool may_fit(const char *name, const char *wanted)
{
	const char *last = wanted;
	for (const char *c = wanted; *c; c++)
		if (!is_word(*c) && is_word(c[1]))
			last = c + 1;
	size_t size = 0;
	while (is_word(last[size]))
		size++;
	return size == 0 || memmem(name, strlen(name), last, size) != NULL;
}

enum procedure_name_fit procedure_name_fit(const char *name, const char *linkage,
					   const char *wanted)
{
	if (strcmp(name, wanted) == 0 || (linkage[0] && strcmp(linkage, wanted) == 0) ||
	    fold_name_is(name, wanted))
		return NAME_FITS_WHOLE;
	enum procedure_name_fit fit = NAME_FITS_NOT;
	if (strstr(name, wanted) || strstr(linkage, wanted))
		fit = NAME_FITS_PART;
	if (!may_fit(name, wanted))
		return fit;
	fit = better(fit, fit_base(name, ARGUMENTS_DROPPED, wanted));
	return fit == NAME_FITS_BASE ? fit : better(fit, fit_base(name, ARGUMENTS_KEPT, wanted));
}
