#include "cli/top_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "analyze/report/report_make.h"
#include "analyze/report/row_search.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "render/live_text.h"
#include "render/report_table.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory for the table");
}

/* The text that tells a row from others of its page, first of all. */
static const char *name_of(const struct report *report, const struct report_row *row)
{
	for (size_t i = 0; i < report->options.part_count; i++)
		if (row->texts[report->options.parts[i]])
			return row->texts[report->options.parts[i]];
	return "";
}

static int keep_row(const struct report *report, const struct report_row *row, struct top_row *out)
{
	*out = (struct top_row){ .name = strdup(name_of(report, row)),
				 .image = strdup(row->image_name ? row->image_name : ""),
				 .image_id = row->image };
	if (row->procedure != PLACE_NONE) {
		const struct place_procedure *procedure =
			places_procedure(report->places, row->procedure);
		out->image_id = procedure->image;
		out->first = procedure->first;
		out->is_code = true;
	}
	return out->name && out->image ? 0 : -ENOMEM;
}

static int keep_rows(const struct report *report, struct top_page *page)
{
	page->rows = calloc(report->row_count + 1, sizeof(*page->rows));
	if (!page->rows)
		return -ENOMEM;
	for (; page->count < report->row_count; page->count++) {
		int ret = keep_row(report, &report->rows[page->count], &page->rows[page->count]);
		if (ret < 0) {
			page->count++; /* half of it may be there */
			return ret;
		}
	}
	return 0;
}

static size_t lines_of(const struct buffer *text)
{
	size_t lines = 0;
	for (size_t i = 0; i < text->size; i++)
		lines += text->data[i] == '\n';
	return lines;
}

static int lay_out(struct report *report, const struct top_view *view, struct top_page *page)
{
	const struct live_text_options above = {
		.colour = view->colour, .ns = view->ns, .source = view->source, .state = view->state
	};
	const struct report_table_options table = { .colour = view->colour,
						    .full_names = view->full_names,
						    .look = REPORT_TABLE_LIVE };
	live_text(report, &above, &page->above);
	if (report->row_count > view->most)
		report->row_count = view->most;
	if (report->row_count)
		report_table(report, &table, &page->table);
	page->heads = lines_of(&page->table) - report->row_count;
	int ret = keep_rows(report, page);
	return buffer_failed(&page->above) || buffer_failed(&page->table) ? -ENOMEM : ret;
}

int top_page_make(const struct profile *profile, const struct top_view *view, struct top_page *page,
		  struct error *err)
{
	/* what this machine's files say is in the profile already */
	const struct resolver_options naming = { .stash_only = true, .without_code = true };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(report_freep) struct report *report = NULL;
	struct report_options options = { .part_count = view->part_count, .sort = view->sort };
	*page = (struct top_page){ 0 };
	memcpy(options.parts, view->parts, sizeof(options.parts));
	int ret = resolver_new(profile, &naming, &resolver, err);
	if (ret == 0)
		ret = report_new(profile, resolver, &options, &report, err);
	if (ret < 0)
		return ret;
	report_search_rows(report, view->search);
	if (lay_out(report, view, page) == 0)
		return 0;
	top_page_release(page);
	return out_of_memory(err);
}

void top_page_release(struct top_page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		free(page->rows[i].name);
		free(page->rows[i].image);
	}
	free(page->rows);
	buffer_release(&page->above);
	buffer_release(&page->table);
	*page = (struct top_page){ 0 };
}

size_t top_page_find(const struct top_page *page, const struct top_row *row)
{
	size_t at = 0;
	while (at < page->count && (strcmp(page->rows[at].name, row->name) != 0 ||
				    strcmp(page->rows[at].image, row->image) != 0 ||
				    page->rows[at].first != row->first))
		at++;
	return at;
}
