#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buffer.h"
#include "base/cleanup.h"

/* Real names stay below 4 KiB mangled; a substitution can double the output again and again. */
#define MANGLED_MAX_BYTES   8192
#define DEMANGLED_MAX_BYTES 32768

struct output {
	struct buffer text;
	jmp_buf too_long;
};

static void take_piece(const char *piece, size_t size, void *context)
{
	struct output *output = context;
	buffer_append(&output->text, piece, size);
	/* The demangler cannot be told to stop, and may have exponentially much to say. */
	if (output->text.size > DEMANGLED_MAX_BYTES || buffer_failed(&output->text))
		longjmp(output->too_long, 1);
}

static int looks_mangled(struct span linkage)
{
	const char *text = linkage.data;
	return linkage.size > 2 && linkage.size <= MANGLED_MAX_BYTES && text[0] == '_' &&
	       (text[1] == 'Z' || text[1] == 'R' || (text[1] == '_' && text[2] == 'Z'));
}

/* Fills output->text; false when this is no mangled name or has too much to say. */
static int run(const char *mangled, struct output *output)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (setjmp(output->too_long))
		return 0;
	if (rust_demangle_callback(mangled, options, take_piece, output))
		return 1;
	output->text.size = 0;
	return cplus_demangle_v3_callback(mangled, options, take_piece, output);
}

char *demangle(struct span linkage)
{
	if (!looks_mangled(linkage))
		return NULL;
	CLEANUP(free_pointer) struct output *output = calloc(1, sizeof(*output));
	CLEANUP(free_pointer) char *mangled = strndup(linkage.data, linkage.size);
	if (!output || !mangled)
		return NULL;
	if (!run(mangled, output) || output->text.size == 0) {
		buffer_release(&output->text);
		return NULL;
	}
	buffer_append_u8(&output->text, 0);
	if (buffer_failed(&output->text)) {
		buffer_release(&output->text);
		return NULL;
	}
	return (char *)output->text.data;
}
