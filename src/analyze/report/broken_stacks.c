#include "analyze/report/broken_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/sum.h"
#include "image/libc_name.h"
#include "image/unknown.h"

/* Does a thread begin in a function of this name? */
static bool is_start(const char *name)
{
	static const char *const starts[] = {
		"main",
		/* glibc and its dynamic linker */
		"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
		"_dl_start_user", "_dl_start", "start_thread", "clone", "__clone", "clone3",
		"__clone3", "__clone_internal", "__start_context",
		/* musl, bionic */
		"_start_c", "libc_start_main_stage2", "start", "__libc_init", "__start_thread",
		"__pthread_start",
		/* Go: threads, goroutines, what switches to a stack of its own, calls from C */
		"_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux", "runtime.rt0_go",
		"runtime.goexit", "runtime.mstart", "runtime.mstart0", "runtime.mstart1",
		"runtime.mcall", "runtime.morestack", "runtime.sigtramp", "crosscall1",
		"crosscall2", "crosscall_amd64", "threadentry"
	};
	static const char abi[] = ".abi0"; /* what Go appends */
	size_t size = strlen(name), mark = strlen(abi);
	if (size > mark && strcmp(name + size - mark, abi) == 0)
		size -= mark;
	for (size_t i = 0; i < COUNT_OF(starts); i++)
		if (strlen(starts[i]) == size && memcmp(starts[i], name, size) == 0)
			return true;
	return false;
}

/* What the frames from the outermost one to a node tell of stacks that end there. */
enum verdict {
	NOTHING,  /* no frame yet */
	NO_IMAGE, /* code of no image alone */
	NOT_USER, /* the kernel's frames alone, or names that no image is known of */
	UNJUDGED,
	WHOLE,
	BROKEN,
};

struct judge {
	const struct profile *profile;
	struct resolver *resolver;
	uint8_t *verdict; /* enum verdict, by node */
	uint32_t *top;	  /* by node: the outermost one that is in an image; 0 without */
	uint8_t *cause;	  /* by node: enum unknown_cause of why it is not known what called its
			     outermost frame, where the recorder said so */
};

static bool is_kernel(uint64_t kind)
{
	return kind == IMAGE_KERNEL || kind == IMAGE_MODULE || kind == IMAGE_BPF;
}

/* Libraries whose own names are often stripped, and whose functions are what threads begin with. */
static bool starts_threads(const char *image)
{
	static const char *const libraries[] = { "libpthread.so", "libpthread-2.", "libstdc++.so",
						 "libc++.so" };
	for (size_t i = 0; i < COUNT_OF(libraries); i++)
		if (strncmp(image, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return libc_name_is(span_of_text(image));
}

/* The verdict by the outermost frame that is in an image; `lost`: others are above it. Or -ENOMEM.
 */
static int judge_first(const struct judge *judge, const struct profile_frame *frame, bool lost)
{
	const struct procedure *procedure = resolver_procedure(judge->resolver, frame);
	if (!procedure)
		return -ENOMEM;
	if (procedure->named && is_start(procedure->name))
		return WHOLE;
	bool called = frame->kind == FRAME_RETURN;
	if (!procedure->named && called &&
	    starts_threads(resolver_image(judge->resolver, frame->image)))
		return WHOLE;
	return lost || procedure->named || !called ? BROKEN : UNJUDGED;
}

/* The verdict where the frame right below that one is a start ("main" below a nameless "_start"),
 * else the verdict so far. Or -ENOMEM. */
static int judge_second(const struct judge *judge, const struct profile_frame *frame, int verdict)
{
	const struct procedure *procedure = resolver_procedure(judge->resolver, frame);
	if (!procedure)
		return -ENOMEM;
	return procedure->named && is_start(procedure->name) ? WHOLE : verdict;
}

/* What a frame without a caller stands for, where that is why its callees' callers are missing. */
static enum unknown_cause cause_of(const struct judge *judge, const struct profile_frame *frame)
{
	static const enum unknown_cause causes[] = { UNKNOWN_BEYOND_COPY, UNKNOWN_NO_RULE,
						     UNKNOWN_NO_STACK, UNKNOWN_TOO_DEEP,
						     UNKNOWN_NOT_UNWOUND };
	if (!frame->image)
		return UNKNOWN_NONE;
	struct profile_image image = profile_image(judge->profile, frame->image);
	for (size_t i = 0; i < COUNT_OF(causes) && image.kind == IMAGE_UNKNOWN; i++)
		if (span_equal(image.name, span_of_text(unknown_texts[causes[i]])))
			return causes[i];
	return UNKNOWN_NONE;
}

static int judge_node(struct judge *judge, uint64_t id)
{
	uint32_t parent;
	struct profile_frame frame = profile_node(judge->profile, id, &parent);
	uint64_t kind = frame.image ? profile_image(judge->profile, frame.image).kind : 0;
	int above = judge->verdict[parent];
	int verdict = above;
	judge->cause[id] = parent ? judge->cause[parent] : (uint8_t)cause_of(judge, &frame);
	judge->top[id] = judge->top[parent];
	if (above == NOTHING || above == NO_IMAGE) {
		bool lost = above == NO_IMAGE;
		if (!frame.image && frame.name)
			verdict = NOT_USER;
		else if (kind == IMAGE_UNKNOWN || !frame.image)
			verdict = NO_IMAGE;
		else if (is_kernel(kind))
			verdict = lost ? UNJUDGED : NOT_USER;
		else
			verdict = judge_first(judge, &frame, lost);
		if (verdict != NO_IMAGE)
			judge->top[id] = (uint32_t)id;
	} else if (judge->top[parent] == parent && (above == BROKEN || above == UNJUDGED) &&
		   frame.image && !is_kernel(kind) && kind != IMAGE_UNKNOWN) {
		verdict = judge_second(judge, &frame, above);
	}
	if (verdict < 0)
		return verdict;
	judge->verdict[id] = (uint8_t)verdict;
	return 0;
}

static bool is_followed(const struct report *report, uint32_t column)
{
	return report->columns.list[column].origin == ORIGIN_MEASURED ||
	       report->scope.bills[column].stacks_followed.known;
}

static int compare_names(const void *left, const void *right)
{
	const struct scope_cause *a = left, *b = right;
	return span_compare(a->name, b->name);
}

/* Adds up images of one name: builds of a program are told apart elsewhere. */
static size_t merge_names(struct scope_cause *list, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(list, count, sizeof(*list), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (kept && span_equal(list[kept - 1].name, list[i].name))
			sum_add(&list[kept - 1].samples, list[i].samples);
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* The images that broke most, by name. */
static int rank_images(struct judge *judge, const uint64_t *by_image, size_t images,
		       struct scope_broken_stacks *out)
{
	CLEANUP(free_pointer) struct scope_cause *list = calloc(images + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	size_t count = 0;
	for (size_t id = 1; id <= images; id++)
		if (by_image[id])
			list[count++] = (struct scope_cause){
				span_of_text(resolver_image(judge->resolver, (uint32_t)id)),
				by_image[id]
			};
	count = merge_names(list, count);
	if (count)
		qsort(list, count, sizeof(*list), scope_compare_causes);
	out->image_count = count < SCOPE_BROKEN_IMAGES ? count : SCOPE_BROKEN_IMAGES;
	memcpy(out->images, list, out->image_count * sizeof(*list));
	return 0;
}

static int sum_up(struct judge *judge, struct report *report, const uint32_t *depth)
{
	const struct table *stacks = profile_table(report->profile, PROFILE_STACK);
	size_t images = profile_table(report->profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) uint64_t *by_image = calloc(images + 1, sizeof(*by_image));
	struct scope_broken_stacks *out = &report->scope.broken_stacks;
	if (!by_image)
		return -ENOMEM;
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		uint32_t column = report->columns.of_event[keys[STACK_EVENT]];
		uint64_t samples = table_values(stacks, row)[CELL_SAMPLES], node = keys[STACK_NODE];
		int verdict = judge->verdict[node];
		if (column == EVENT_COLUMN_NONE || !is_followed(report, column) ||
		    verdict == NOTHING || verdict == NOT_USER ||
		    depth[node] >= SCOPE_KERNEL_MAX_STACK)
			continue;
		sum_add(&out->user_samples, samples);
		if (verdict == UNJUDGED || verdict == NO_IMAGE)
			sum_add(&out->unjudged_samples, samples);
		if (verdict != BROKEN)
			continue;
		sum_add(&out->broken_samples, samples);
		if (judge->cause[node])
			sum_add(&out->walked_samples, samples);
		if (judge->cause[node] == UNKNOWN_BEYOND_COPY)
			sum_add(&out->beyond_copy_samples, samples);
		sum_add(&by_image[profile_node(report->profile, judge->top[node], NULL).image],
			samples);
	}
	return rank_images(judge, by_image, images, out);
}

int broken_stacks_measure(struct report *report, struct resolver *resolver)
{
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	CLEANUP(free_pointer) uint8_t *verdict = calloc(nodes->count + 1, sizeof(*verdict));
	CLEANUP(free_pointer) uint32_t *top = calloc(nodes->count + 1, sizeof(*top));
	CLEANUP(free_pointer) uint32_t *depth = calloc(nodes->count + 1, sizeof(*depth));
	CLEANUP(free_pointer) uint8_t *cause = calloc(nodes->count + 1, sizeof(*cause));
	struct judge judge = { report->profile, resolver, verdict, top, cause };
	bool any = false;
	if (!verdict || !top || !depth || !cause)
		return -ENOMEM;
	for (size_t i = 0; i < report->columns.count; i++)
		any |= is_followed(report, (uint32_t)i);
	if (!any)
		return 0;
	for (size_t id = 1; id <= nodes->count; id++) {
		depth[id] = depth[table_keys(nodes, id - 1)[NODE_PARENT]] + 1;
		int ret = judge_node(&judge, id);
		if (ret < 0)
			return ret;
	}
	return sum_up(&judge, report, depth);
}
