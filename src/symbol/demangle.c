#include "symbol/demangle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/cursor.h"
#include "base/error.h"

/* Real names stay below 4 KiB mangled; a substitution can double the output again and again. */
#define MANGLED_MAX_BYTES   8192
#define DEMANGLED_MAX_BYTES 32768
#define LOST_MOST_NS	    UINT64_C(4000000000) /* what strangers' names may cost */

struct output {
	struct buffer *text;
	jmp_buf too_long;
};

static void take_piece(const char *piece, size_t size, void *context)
{
	struct output *output = context;
	buffer_append(output->text, piece, size);
	/* The demangler cannot be told to stop, and may have exponentially much to say. */
	if (output->text->size > DEMANGLED_MAX_BYTES || buffer_failed(output->text))
		longjmp(output->too_long, 1);
}

static bool looks_mangled(struct span linkage)
{
	const char *text = linkage.data;
	return linkage.size > 2 && linkage.size <= MANGLED_MAX_BYTES && text[0] == '_' &&
	       (text[1] == 'Z' || text[1] == 'R') && !memchr(text, 0, linkage.size);
}

/* What linkers and build tools put before a mangled name; it stays, for it tells which of several
 * symbols this is. */
static const char *const marks[] = {
	"__dl_",	     /* Android's linker, of its own functions */
	"__imp_",	     /* a pointer into a library of Windows */
	"__wrap_",	     /* ld --wrap, both of them */
	"__real_", ".text.", /* the section of a function */
};

/* A name around its mangled part: "__dl_" "_ZN3foo3barEv" "@plt". */
struct name_parts {
	struct span before, mangled, behind;
};

static struct span part(struct span text, size_t from, size_t to)
{
	return (struct span){ (const char *)text.data + from, to - from };
}

static struct name_parts take_apart(struct span linkage)
{
	struct name_parts parts = { .mangled = linkage };
	for (size_t i = 0; i < COUNT_OF(marks); i++)
		if (span_starts_with(linkage, marks[i])) {
			size_t size = strlen(marks[i]);
			parts.before = part(linkage, 0, size);
			parts.mangled = part(linkage, size, linkage.size);
			break;
		}
	/* on macOS all symbols have one more underscore than in their source */
	if (span_starts_with(parts.mangled, "__Z") || span_starts_with(parts.mangled, "__R"))
		parts.mangled = part(parts.mangled, 1, parts.mangled.size);
	/* "@plt", "@@GLIBCXX_3.4": whose, not what */
	const char *text = parts.mangled.data;
	const char *at = parts.mangled.size ? memchr(text, '@', parts.mangled.size) : NULL;
	if (at) {
		parts.behind = part(parts.mangled, (size_t)(at - text), parts.mangled.size);
		parts.mangled.size = (size_t)(at - text);
	}
	return parts;
}

/* Fills text; false when this is no mangled name or means too much. libiberty refuses names of more
 * than 1,024 bytes for the stack they take, unless it is told not to mind. */
static bool run(const char *mangled, struct buffer *text)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	struct output output = { .text = text };
	if (setjmp(output.too_long))
		return false;
	if (rust_demangle_callback(mangled, options, take_piece, &output))
		return text->size > 0;
	buffer_empty(text);
	return cplus_demangle_v3_callback(mangled, options, take_piece, &output) && text->size > 0;
}

/* The helper process: a request's payload is names, its answer's what each of them means, empty
 * when it means nothing; each ends with a zero byte. */
static int serve(void *context, const struct message *request, struct message *answer,
		 struct error *err)
{
	(void)context;
	struct cursor cursor = cursor_of(request->payload.data, request->payload.size);
	CLEANUP(buffer_release) struct buffer text = { 0 };
	while (cursor_left(&cursor) > 0) {
		const char *mangled = cursor_text(&cursor).data;
		if (cursor.failed)
			return error_set(err, -EBADMSG, "a request makes no sense");
		buffer_empty(&text);
		if (run(mangled, &text))
			buffer_append(&answer->payload, text.data, text.size);
		if (buffer_failed(&text))
			return error_set(err, -ENOMEM, "out of memory");
		buffer_append_u8(&answer->payload, 0);
	}
	return 0;
}

static void serve_names(int socket)
{
	helper_serve(&(struct helper_service){ .name = "culprit-names",
					       .serve = serve,
					       .without_rights = true },
		     socket);
}

void demangler_init(struct demangler *demangler)
{
	*demangler = (struct demangler){
		.helper = { .run = serve_names,
			    .most_answer_bytes = DEMANGLE_BATCH * (DEMANGLED_MAX_BYTES + 1) }
	};
}

void demangler_release(struct demangler *demangler)
{
	helper_stop(&demangler->helper);
}

const char *demangler_trouble(const struct demangler *demangler)
{
	return demangler->broken ? demangler->first.text : NULL;
}

bool demangle_concerns(struct span linkage)
{
	return looks_mangled(take_apart(linkage).mangled);
}

static char *put_together(const struct name_parts *parts, struct span shown)
{
	const struct span pieces[] = { parts->before, shown, parts->behind };
	char *text = shown.size ? malloc(parts->before.size + shown.size + parts->behind.size + 1)
				: NULL;
	char *at = text;
	for (size_t i = 0; text && i < COUNT_OF(pieces); i++)
		at = pieces[i].size ? mempcpy(at, pieces[i].data, pieces[i].size) : at;
	if (text)
		*at = 0;
	return text;
}

static int read_answer(const struct message *answer, const struct name_parts *parts, size_t count,
		       char **shown, struct error *err)
{
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	for (size_t i = 0; i < count; i++)
		shown[i] = put_together(&parts[i], cursor_text(&cursor));
	return cursor.failed || cursor_left(&cursor) > 0
		       ? error_set(err, -EIO,
				   "could not be read: the helper's answer makes no sense")
		       : 0;
}

/* One request. */
static int ask(struct demangler *demangler, const struct name_parts *parts, size_t count,
	       char **shown, struct error *err)
{
	struct message request = { 0 };
	struct message answer;
	for (size_t i = 0; i < count; i++) {
		buffer_append(&request.payload, parts[i].mangled.data, parts[i].mangled.size);
		buffer_append_u8(&request.payload, 0);
	}
	int ret = helper_ask(&demangler->helper, &request, DEMANGLE_DEADLINE_MS, &answer, err);
	buffer_release(&request.payload);
	if (ret < 0)
		return ret;
	ret = read_answer(&answer, parts, count, shown, err);
	message_release(&answer);
	return ret;
}

/* Asks for all of them at once; where that breaks, for each by itself, so that the one that
 * broke it costs no other. */
static void demangle_batch(struct demangler *demangler, const struct name_parts *parts,
			   size_t count, char **shown)
{
	struct error err;
	uint64_t begin_ns = clock_monotonic_ns();
	if (count == 0 || demangler->lost_ns >= LOST_MOST_NS ||
	    ask(demangler, parts, count, shown, &err) == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t now_ns = clock_monotonic_ns();
		demangler->lost_ns += now_ns - begin_ns;
		begin_ns = now_ns;
		free(shown[i]);
		shown[i] = NULL;
		if (count > 1 && demangler->lost_ns < LOST_MOST_NS &&
		    ask(demangler, &parts[i], 1, &shown[i], &err) == 0)
			continue;
		if (demangler->broken++ == 0)
			demangler->first = err;
	}
	demangler->lost_ns += clock_monotonic_ns() - begin_ns;
}

void demangle(struct demangler *demangler, const struct span *linkages, size_t count, char **shown)
{
	struct name_parts parts[DEMANGLE_BATCH];
	char *answers[DEMANGLE_BATCH];
	size_t origins[DEMANGLE_BATCH], waiting = 0;
	for (size_t i = 0; i < count; i++) {
		shown[i] = NULL;
		parts[waiting] = take_apart(linkages[i]);
		if (looks_mangled(parts[waiting].mangled)) {
			answers[waiting] = NULL;
			origins[waiting++] = i;
		}
		if (waiting < DEMANGLE_BATCH && i + 1 < count)
			continue;
		demangle_batch(demangler, parts, waiting, answers);
		while (waiting > 0) {
			waiting--;
			shown[origins[waiting]] = answers[waiting];
		}
	}
}
