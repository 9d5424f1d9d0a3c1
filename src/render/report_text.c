#include "render/report_text.h"

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "render/bill_text.h"
#include "render/report_table.h"
#include "render/scope_text.h"

void report_text(const struct report *report, const struct report_text_options *options,
		 struct buffer *out)
{
	const struct report_table_options table = { .colour = options->colour,
						    .full_names = options->full_names,
						    .look = REPORT_TABLE_WHOLE };
	scope_text_above(report, options, out);
	if (report->row_count == 0 && report->rest_count == 0)
		buffer_append_text(out, "no samples\n");
	else
		report_table(report, &table, out);
	bill_text(report, options, out);
}
