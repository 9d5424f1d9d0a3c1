#include "symbol/demangle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "symbol/plain_name.h"

/* Real names stay below 4 KiB mangled; a substitution can double the output again and again. */
#define MANGLED_MAX_BYTES   8192
#define DEMANGLED_MAX_BYTES 32768
#define BROKEN_MAX	    8 /* so that strangers' names cost seconds at the most */

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
	       (text[1] == 'Z' || text[1] == 'R');
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

/* Fills text; false when this is no mangled name or has too much to say. libiberty refuses names of
 * more than 1,024 bytes for the stack they take, unless it is told not to mind. */
static bool run(const char *mangled, int stack, struct buffer *text)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | stack;
	struct output output = { .text = text };
	if (setjmp(output.too_long))
		return false;
	if (rust_demangle_callback(mangled, options, take_piece, &output))
		return text->size > 0;
	buffer_empty(text);
	return cplus_demangle_v3_callback(mangled, options, take_piece, &output) && text->size > 0;
}

/* The helper process: a request's payload is a name, its answer's what it means or nothing. */
static int serve(void *context, const struct message *request, struct message *answer,
		 struct error *err)
{
	(void)context;
	CLEANUP(free_pointer)
	char *mangled = strndup((const char *)request->payload.data, request->payload.size);
	if (!mangled)
		return error_set(err, -ENOMEM, "out of memory");
	if (!run(mangled, DMGL_NO_RECURSE_LIMIT, &answer->payload))
		answer->payload.size = 0;
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
	*demangler = (struct demangler){ .helper.run = serve_names };
}

void demangler_release(struct demangler *demangler)
{
	helper_stop(&demangler->helper);
}

const char *demangler_trouble(const struct demangler *demangler)
{
	return demangler->broken ? demangler->first.text : NULL;
}

static void run_in_helper(struct demangler *demangler, struct span linkage, struct buffer *text)
{
	struct message request = { 0 };
	struct message answer = { 0 };
	struct error err;
	if (demangler->broken >= BROKEN_MAX)
		return;
	buffer_append(&request.payload, linkage.data, linkage.size);
	int ret = helper_ask(&demangler->helper, &request, DEMANGLE_DEADLINE_MS, &answer, &err);
	if (ret == 0) {
		buffer_append(text, answer.payload.data, answer.payload.size);
		message_release(&answer);
	} else if (demangler->broken++ == 0) {
		demangler->first = err;
	}
	message_release(&request);
}

static void run_here(struct span linkage, struct buffer *text)
{
	CLEANUP(free_pointer) char *mangled = strndup(linkage.data, linkage.size);
	if (!mangled || !run(mangled, 0, text))
		buffer_empty(text);
}

char *demangle(struct demangler *demangler, struct span linkage)
{
	const struct name_parts parts = take_apart(linkage);
	CLEANUP(buffer_release) struct buffer shown = { 0 };
	struct buffer text = { 0 };
	if (!looks_mangled(parts.mangled))
		return NULL;
	if (name_is_plain(parts.mangled))
		run_here(parts.mangled, &shown);
	else
		run_in_helper(demangler, parts.mangled, &shown);
	if (shown.size == 0)
		return NULL;
	buffer_append(&text, parts.before.data, parts.before.size);
	buffer_append(&text, shown.data, shown.size);
	buffer_append(&text, parts.behind.data, parts.behind.size);
	buffer_append_u8(&text, 0);
	if (!buffer_failed(&text) && !buffer_failed(&shown))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}
