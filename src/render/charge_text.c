#include "render/charge_text.h"

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "render/quantity.h"
#include "render/text_table.h"

static void put_late(const struct report *report, size_t column, struct buffer *out)
{
	const struct report_charge *charge = &report->charge[column];
	struct span name = report->columns.list[column].name;
	buffer_append_text(out, out->size ? "; " : "");
	text_append_safe(out, name.data, name.size);
	if (charge->skid == 1)
		buffer_append_text(out, " is charged to the instruction executed before the one "
					"where a sample stands");
	else
		buffer_printf(out,
			      " is charged to the instruction executed %u before the one where a "
			      "sample stands",
			      charge->skid);
	if (!charge->stays.estimate)
		return;
	char share[QUANTITY_SIZE];
	quantity_percent((double)charge->stays.estimate,
			 (double)charge->stays.estimate + (double)charge->charged.estimate, share);
	buffer_printf(out, ", but %s of it stays, as the code there is not known", share);
}

/* Of events that have samples: exact counts are always where their code is. */
static void put_where_it_stands(const struct report *report, size_t late, struct buffer *out)
{
	size_t sampled = 0;
	for (size_t c = 0; c < report->columns.count; c++)
		sampled += report->columns.list[c].sampled && !report->charge[c].skid;
	if (!sampled)
		return;
	buffer_append_text(out, late ? "; other events count where their samples stand"
				     : "samples count where they stand");
}

void charge_text(const struct report *report, struct buffer *out)
{
	size_t late = 0;
	for (size_t i = 0; i < report->options.part_count; i++)
		if (report->options.parts[i] == REPORT_ADDRESS && !report->charge)
			buffer_append_text(out, "samples count where they stand, late ones too; "
						"'culprit annotate' charges them");
	if (!report->charge)
		return;
	for (size_t c = 0; c < report->columns.count; c++) {
		if (!report->charge[c].skid)
			continue;
		put_late(report, c, out);
		late++;
	}
	put_where_it_stands(report, late, out);
}
