/*
 * stacks - prints the stacks of a profile for scripts to compare with other
 * tools, one a line, tab-separated:
 *
 *	stack EVENT SAMPLES ESTIMATE LABELS FRAME;FRAME...
 *
 * outermost frame first. A FRAME is NAME>INLINED>INLINED@IMAGE+0xVADDR; of a return
 * address the vaddr is one less. Names stay empty where the profile has none.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/names/resolve.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"

#define MAX_DEPTH 4096

static void print_text(struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		char c = ((const char *)text.data)[i];
		putchar(c == '\n' ? ' ' : c);
	}
}

static void print_frame(const struct profile *profile, struct resolver *resolver,
			const struct profile_frame *frame)
{
	const struct place *place = resolver_place(resolver, frame);
	const struct source_frame *source = NULL;
	size_t count = place ? resolver_source(resolver, place, &source) : 0;
	if (frame->name)
		print_text(profile_bytes(profile, frame->name));
	else if (place && place->procedure->named)
		printf("%s", place->procedure->name);
	for (size_t i = count; i-- > 0;)
		if (source[i].function)
			printf(">%s", source[i].function);
	printf("@%s+%#" PRIx64, resolver_image(resolver, frame->image),
	       frame->vaddr - (frame->kind == FRAME_RETURN));
}

static void print_stacks(const struct profile *profile, struct resolver *resolver)
{
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		struct cell cell = cell_of_values(table_values(stacks, row));
		struct profile_frame frames[MAX_DEPTH];
		size_t depth = 0;
		for (uint64_t node = keys[STACK_NODE]; node && depth < MAX_DEPTH;) {
			uint32_t parent;
			frames[depth++] = profile_node(profile, node, &parent);
			node = parent;
		}
		printf("stack\t");
		print_text(profile_event(profile, keys[STACK_EVENT]).name);
		printf("\t%" PRIu64 "\t%" PRIu64 "\t", cell.samples, cell.estimate);
		if (keys[STACK_CONTEXT])
			print_text(profile_context(profile, keys[STACK_CONTEXT]).labels);
		for (size_t i = depth; i-- > 0;) {
			putchar(i + 1 == depth ? '\t' : ';');
			print_frame(profile, resolver, &frames[i]);
		}
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	struct profile *profile = NULL;
	struct resolver *resolver = NULL;
	const struct resolver_options options = { .stash_only = true };
	if (argc != 2)
		return 2;
	if (profile_file_read(argv[1], &profile, NULL, &err) < 0 ||
	    resolver_new(profile, &options, &resolver, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	print_stacks(profile, resolver);
	resolver_free(resolver);
	profile_free(profile);
	return 0;
}
