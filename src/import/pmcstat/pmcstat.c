/*
 * pmcstat - the call chains that FreeBSD's `pmcstat -G` prints: a section for
 * each counter and each CPU, in it a tree turned over, the procedure that ran
 * above those that called it, one blank deeper each:
 *
 *	@ CPU_CLK_UNHALTED.THREAD_P [10867 samples]
 *
 *	07.86%  [854]      __mtx_lock_sleep @ /boot/kernel/kernel
 *	 48.95%  [418]       vm_page_alloc
 *
 * A line's count holds those of the callers below it; what is left over are
 * chains that end there, because they were cut or their callers not printed.
 * Sections of one counter add up, counters stay apart. An object is printed
 * where it changes. How many events a sample stands for is not in the text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/utf8.h"
#include "import/text/bad_lines.h"
#include "import/formats.h"
#include "import/text/text_lines.h"
#include "profile/profile.h"

/* A line on the way from a procedure that ran to the caller that was printed last. */
struct step {
	struct profile_frame frame;
	uint64_t samples;
	uint64_t callers; /* samples of the lines below it */
};

struct pmcstat {
	const struct import_options *options;
	struct text_lines lines;
	struct profile *profile;
	struct bad_lines bad;
	uint32_t event;	  /* of the section; 0 before the first */
	uint64_t section; /* samples, by its heading */
	uint64_t listed;  /* of them, those of its outermost lines */
	uint64_t samples, unlisted;
	bool too_many; /* callers have more samples than what they call */
	struct step *path;
	size_t depth, capacity;
};

struct chain_line {
	size_t depth;
	uint64_t samples;
	struct span name, object; /* object empty: the same as of the line above */
};

static void pmcstat_close(void *reader)
{
	struct pmcstat *pmcstat = reader;
	if (!pmcstat)
		return;
	text_lines_release(&pmcstat->lines);
	profile_free(pmcstat->profile);
	free(pmcstat->path);
	free(pmcstat);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct span trim(const char *start, const char *end)
{
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct span){ start, (size_t)(end - start) };
}

/* "@ EVENT [N samples]" */
static bool parse_heading(struct span line, struct span *event, uint64_t *samples)
{
	static const char tail[] = " samples]";
	const char *start = line.data;
	struct span text = trim(start, start + line.size);
	const char *end = (const char *)text.data + text.size;
	size_t size = sizeof(tail) - 1;
	if (text.size < 2 || memcmp(text.data, "@ ", 2) != 0 || text.size < size + 2 ||
	    memcmp(end - size, tail, size) != 0)
		return false;
	const char *bracket = memrchr(text.data, '[', text.size);
	const char *at = bracket ? bracket + 1 : end;
	if (!digits_take(&at, end, 10, samples) || at != end - size)
		return false;
	*event = trim((const char *)text.data + 2, bracket);
	return event->size > 0;
}

/* "  48.95%  [418]       vm_page_alloc @ OBJECT" */
static bool parse_chain_line(struct span line, struct chain_line *out)
{
	const char *at = line.data, *end = at + line.size;
	uint64_t percent;
	while (at < end && *at == ' ')
		at++;
	out->depth = (size_t)(at - (const char *)line.data);
	if (!digits_take(&at, end, 10, &percent))
		return false;
	if (at < end && *at == '.')
		at++;
	while (at < end && is_digit(*at))
		at++;
	if (at == end || *at++ != '%')
		return false;
	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != '[' || !digits_take(&at, end, 10, &out->samples) || at == end ||
	    *at++ != ']')
		return false;
	const char *mark = at < end ? memmem(at, (size_t)(end - at), " @ ", 3) : NULL;
	out->object = mark ? trim(mark + 3, end) : (struct span){ NULL, 0 };
	out->name = trim(at, mark ? mark : end);
	return out->name.size > 0;
}

/* "/boot/kernel/kernel" and "/boot/kernel/zfs.ko" run in the kernel. */
static int add_image(struct pmcstat *pmcstat, struct span object, uint32_t *image)
{
	struct profile_image row = { .kind = IMAGE_NAME, .space = SPACE_PROCESS, .name = object };
	const char *text = object.data;
	const char *slash = memrchr(text, '/', object.size);
	size_t before = slash ? (size_t)(slash + 1 - text) : 0;
	struct span name = { text + before, object.size - before };
	if (span_equal(name, span_of_text("kernel"))) {
		row.kind = IMAGE_KERNEL;
		row.name = name;
	} else if (name.size > 3 && memcmp(text + object.size - 3, ".ko", 3) == 0) {
		row.kind = IMAGE_MODULE;
		row.name = (struct span){ name.data, name.size - 3 };
	}
	int ret = profile_add_image(pmcstat->profile, &row, image);
	return ret < 0 ? ret : profile_add_path(pmcstat->profile, *image, object);
}

static struct cell cell_of(uint64_t samples)
{
	return (struct cell){ samples, samples, samples };
}

/* Adds samples whose chain ends at the last step. Profiles have callers first. */
static int add_chain(struct pmcstat *pmcstat, uint64_t samples)
{
	const struct cell cell = cell_of(samples);
	uint32_t node = 0;
	int ret = 0;
	for (size_t i = pmcstat->depth; i-- > 0 && ret == 0;)
		ret = profile_add_node(pmcstat->profile, node, &pmcstat->path[i].frame, &node);
	if (ret == 0)
		ret = profile_add_stack(pmcstat->profile, pmcstat->event, 0, node, &cell);
	return ret < 0 ? ret
		       : profile_add_flat(pmcstat->profile, pmcstat->event, 0,
					  &pmcstat->path[0].frame, &cell);
}

/* Ends the lines that are at `depth` or deeper. */
static int end_steps(struct pmcstat *pmcstat, size_t depth)
{
	while (pmcstat->depth > depth) {
		const struct step *step = &pmcstat->path[pmcstat->depth - 1];
		pmcstat->too_many |= step->callers > step->samples;
		if (step->samples > step->callers &&
		    add_chain(pmcstat, step->samples - step->callers) < 0)
			return -ENOMEM;
		pmcstat->depth--;
	}
	return 0;
}

/* Samples of the heading that no line has are of the counter, at an unknown place. */
static int end_section(struct pmcstat *pmcstat)
{
	if (end_steps(pmcstat, 0) < 0)
		return -ENOMEM;
	if (!pmcstat->event)
		return 0;
	uint64_t rest = pmcstat->section > pmcstat->listed ? pmcstat->section - pmcstat->listed : 0;
	pmcstat->too_many |= pmcstat->listed > pmcstat->section;
	if (!rest)
		return 0;
	const struct cell cell = cell_of(rest);
	const struct profile_image row = { .kind = IMAGE_UNKNOWN,
					   .name = span_of_text("not in the text") };
	struct profile_frame leaf = { .kind = FRAME_IP };
	pmcstat->unlisted += rest;
	int ret = profile_add_image(pmcstat->profile, &row, &leaf.image);
	return ret < 0 ? ret : profile_add_flat(pmcstat->profile, pmcstat->event, 0, &leaf, &cell);
}

static int out_of_memory(struct pmcstat *pmcstat, struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory at line %" PRIu64, pmcstat->lines.number);
}

/* Totals stay below 2^64, so no cell can pass it. */
static int count_samples(struct pmcstat *pmcstat, uint64_t samples, struct error *err)
{
	if (__builtin_add_overflow(pmcstat->samples, samples, &pmcstat->samples))
		return error_set(err, -EOVERFLOW, "line %" PRIu64 ": the samples pass 64 bits",
				 pmcstat->lines.number);
	return 0;
}

static int begin_section(struct pmcstat *pmcstat, struct span name, uint64_t samples,
			 struct error *err)
{
	const struct profile_event event = {
		.name = name,
		.unit = span_of_text("samples"),
		.origin = ORIGIN_IMPORTED,
		.sampled = 1,
	};
	if (end_section(pmcstat) < 0 ||
	    profile_add_event(pmcstat->profile, &event, &pmcstat->event) < 0)
		return out_of_memory(pmcstat, err);
	pmcstat->section = samples;
	pmcstat->listed = 0;
	return count_samples(pmcstat, samples, err);
}

/* A line's samples are part of those of the line that it calls, or of the heading. Where they add
 * up to more than that, the rest was not counted yet. */
static int count_line(struct pmcstat *pmcstat, const struct chain_line *line, struct error *err)
{
	struct step *called = pmcstat->depth ? &pmcstat->path[pmcstat->depth - 1] : NULL;
	uint64_t *sum = called ? &called->callers : &pmcstat->listed;
	uint64_t bound = called ? called->samples : pmcstat->section;
	uint64_t before = *sum > bound ? *sum : bound;
	if (__builtin_add_overflow(*sum, line->samples, sum))
		return count_samples(pmcstat, UINT64_MAX, err);
	return *sum > before ? count_samples(pmcstat, *sum - before, err) : 0;
}

static int add_step(struct pmcstat *pmcstat, const struct chain_line *line, struct error *err)
{
	struct step step = { .frame = { .kind = FRAME_IP }, .samples = line->samples };
	if (end_steps(pmcstat, line->depth) < 0 ||
	    array_reserve(&pmcstat->path, &pmcstat->capacity, pmcstat->depth, sizeof(step)) < 0 ||
	    profile_add_bytes(pmcstat->profile, line->name, &step.frame.name) < 0)
		return out_of_memory(pmcstat, err);
	if (pmcstat->depth)
		step.frame.image = pmcstat->path[pmcstat->depth - 1].frame.image;
	if (line->object.size && add_image(pmcstat, line->object, &step.frame.image) < 0)
		return out_of_memory(pmcstat, err);
	int ret = count_line(pmcstat, line, err);
	pmcstat->path[pmcstat->depth++] = step;
	return ret;
}

static int take_line(void *context, struct span line, struct error *err)
{
	struct pmcstat *pmcstat = context;
	const char *text = line.data;
	struct span event;
	struct chain_line chain;
	uint64_t samples;
	if (text && (trim(text, text + line.size).size == 0 || *text == '#' ||
		     (line.size >= 2 && memcmp(text, "//", 2) == 0)))
		return 0;
	if (text && parse_heading(line, &event, &samples))
		return begin_section(pmcstat, event, samples, err);
	if (!text || !pmcstat->event || !parse_chain_line(line, &chain) ||
	    chain.depth > pmcstat->depth) {
		bad_lines_add(&pmcstat->bad, pmcstat->lines.number);
		return 0;
	}
	return add_step(pmcstat, &chain, err);
}

/* ---- as one format among others */

static int pmcstat_open(const struct import_options *options, void **reader)
{
	struct pmcstat *pmcstat = calloc(1, sizeof(*pmcstat));
	if (!pmcstat)
		return -ENOMEM;
	pmcstat->options = options;
	pmcstat->lines =
		(struct text_lines){ .take = take_line, .context = pmcstat, .tolerant = true };
	pmcstat->profile = profile_new();
	if (!pmcstat->profile) {
		pmcstat_close(pmcstat);
		return -ENOMEM;
	}
	*reader = pmcstat;
	return 0;
}

static int pmcstat_feed(void *reader, const void *bytes, size_t size, struct error *err)
{
	struct pmcstat *pmcstat = reader;
	return text_lines_feed(&pmcstat->lines, bytes, size, err);
}

static void report(const struct pmcstat *pmcstat)
{
	bad_lines_report(&pmcstat->bad, pmcstat->options, pmcstat->lines.number,
			 "are of no call chain");
	if (pmcstat->lines.unended)
		import_report_unended(pmcstat->options);
	if (pmcstat->unlisted)
		import_report(pmcstat->options, IMPORT_WARNING,
			      "%" PRIu64 " of %" PRIu64 " samples are in no call chain of the text",
			      pmcstat->unlisted, pmcstat->samples);
	if (pmcstat->too_many)
		import_report(pmcstat->options, IMPORT_WARNING,
			      "some counts are less than those of the callers below them");
}

static int pmcstat_finish(void *reader, struct profile **out, struct error *err)
{
	struct pmcstat *pmcstat = reader;
	const struct profile_source source = { .tool = span_of_text("pmcstat") };
	int ret = text_lines_finish(&pmcstat->lines, err);
	if (ret < 0)
		return ret;
	if (pmcstat->samples == 0)
		return error_set(err, -ENODATA,
				 "no section of %" PRIu64 " lines, '@ EVENT [N samples]', has any",
				 pmcstat->lines.number);
	if (end_section(pmcstat) < 0 || profile_add_source(pmcstat->profile, &source) < 0)
		return out_of_memory(pmcstat, err);
	report(pmcstat);
	*out = pmcstat->profile;
	pmcstat->profile = NULL; /* the caller's from here on */
	return 0;
}

/* A heading before any other line. */
static bool pmcstat_recognise(const void *bytes, size_t size)
{
	size_t mark = utf8_mark_size(bytes, size);
	struct span text = { (const char *)bytes + mark, size - mark }, line, event;
	uint64_t samples;
	while (text_lines_cut(&text, &line)) {
		const char *start = line.data;
		if (parse_heading(line, &event, &samples))
			return true;
		if (trim(start, start + line.size).size && *start != '#' && *start != '/')
			return false;
	}
	return false;
}

const struct importer importer_pmcstat = {
	.name = "pmcstat",
	.what = "call chains of pmcstat -G",
	.recognise = pmcstat_recognise,
	.open = pmcstat_open,
	.feed = pmcstat_feed,
	.finish = pmcstat_finish,
	.close = pmcstat_close,
};
