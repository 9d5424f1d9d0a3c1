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
#include "base/cursor.h"
#include "base/error.h"
#include "symbol/name_parts.h"

/* What strangers' names may cost: by breaking requests, and by being answered, each of them, later
 * than any real name. Those take some 2 us. */
#define LOST_MOST_NS UINT64_C(4000000000)
#define SLOW_MOST_NS UINT64_C(20000000000)
#define NAME_NS	     UINT64_C(100000)
/* What they may become in memory: real ones 2 to 10 times their size, others 800 times. */
#define TEXT_FREE_BYTES (UINT64_C(16) << 20)
#define TEXT_RATIO	16

struct output {
	struct buffer *text;
	jmp_buf too_long;
};

static void take_piece(const char *piece, size_t size, void *context)
{
	struct output *output = context;
	buffer_append(output->text, piece, size);
	/* The demangler cannot be told to stop, and may have exponentially much to say. */
	if (output->text->size > NAME_SHOWN_MAX_BYTES || buffer_failed(output->text))
		longjmp(output->too_long, 1);
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
			    .most_answer_bytes = DEMANGLE_BATCH * (NAME_SHOWN_MAX_BYTES + 1) },
		.deadline_ms = DEMANGLE_DEADLINE_MS,
	};
}

void demangler_release(struct demangler *demangler)
{
	helper_stop(&demangler->helper);
}

const char *demangler_trouble(const struct demangler *demangler)
{
	if (demangler->gave_up)
		return demangler->gave_up;
	return demangler->broken ? demangler->first.text : NULL;
}

bool demangle_concerns(struct span linkage)
{
	const struct name_parts parts = name_parts_of(linkage);
	return name_parts_look_mangled(&parts);
}

/* Whether names are still asked for. */
static bool goes_on(struct demangler *demangler)
{
	if (demangler->lost_ns >= LOST_MOST_NS || demangler->slow_ns >= SLOW_MOST_NS)
		demangler->gave_up = "could not be read: those before it took too long";
	return !demangler->gave_up;
}

/* Counts what came of a request, and leaves out what is too much. */
static void count_texts(struct demangler *demangler, const struct name_parts *parts, size_t count,
			char **shown)
{
	for (size_t i = 0; i < count; i++) {
		demangler->name_bytes +=
			parts[i].before.size + parts[i].mangled.size + parts[i].behind.size;
		demangler->text_bytes += shown[i] ? strlen(shown[i]) : 0;
		if (!shown[i] ||
		    demangler->text_bytes <= TEXT_FREE_BYTES + TEXT_RATIO * demangler->name_bytes)
			continue;
		free(shown[i]);
		shown[i] = NULL;
		demangler->gave_up = "could not be read: those before it are too long";
	}
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
	int ret = helper_ask(&demangler->helper, &request, demangler->deadline_ms, &answer, err);
	buffer_release(&request.payload);
	if (ret < 0)
		return ret;
	const struct span texts = { answer.payload.data, answer.payload.size };
	ret = name_parts_read(texts, parts, count, shown, err);
	message_release(&answer);
	if (ret == 0)
		count_texts(demangler, parts, count, shown);
	return ret;
}

static void leave_alone(struct demangler *demangler, size_t count, const struct error *why)
{
	if (demangler->broken == 0) {
		demangler->first = *why;
		if (!span_starts_with(span_of_text(why->text), "could not be read"))
			error_prefix(&demangler->first, "could not be read");
	}
	demangler->broken += count;
}

/* Asks for each by itself, so that the one that broke the request for all costs no other. */
static void demangle_singly(struct demangler *demangler, const struct name_parts *parts,
			    size_t count, char **shown, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t begin_ns = clock_monotonic_ns();
		if (goes_on(demangler) && ask(demangler, &parts[i], 1, &shown[i], err) < 0)
			leave_alone(demangler, 1, err);
		demangler->lost_ns += clock_monotonic_ns() - begin_ns;
	}
}

static void demangle_batch(struct demangler *demangler, const struct name_parts *parts,
			   size_t count, char **shown)
{
	struct error err;
	if (count == 0 || !goes_on(demangler))
		return;
	uint64_t begin_ns = clock_monotonic_ns();
	int ret = ask(demangler, parts, count, shown, &err);
	uint64_t spent_ns = clock_monotonic_ns() - begin_ns;
	if (ret == 0) {
		demangler->slow_ns += spent_ns > count * NAME_NS ? spent_ns - count * NAME_NS : 0;
		return;
	}
	demangler->lost_ns += spent_ns;
	if (count == 1 || demangler->helper.unstarted)
		leave_alone(demangler, count, &err);
	else
		demangle_singly(demangler, parts, count, shown, &err);
}

void demangle(struct demangler *demangler, const struct span *linkages, size_t count, char **shown)
{
	struct name_parts parts[DEMANGLE_BATCH];
	char *answers[DEMANGLE_BATCH];
	size_t origins[DEMANGLE_BATCH], waiting = 0;
	for (size_t i = 0; i < count; i++) {
		shown[i] = NULL;
		parts[waiting] = name_parts_of(linkages[i]);
		if (name_parts_look_mangled(&parts[waiting])) {
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
