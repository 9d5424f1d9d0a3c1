#include "analyze/report/report_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/charges.h"
#include "base/cleanup.h"
#include "base/error.h"

struct charging {
	struct report *report;
	struct resolver *resolver;
	struct charges *charges;
	size_t part;
	const struct report_rows *from;
	struct report_rows to;
	struct cell *parts; /* of one cell */
	size_t part_capacity;
};

static void charging_release(struct charging *charging)
{
	charges_free(charging->charges);
	report_rows_release(&charging->to);
	free(charging->parts);
}

/* A cell of a row goes to the line of a place. */
static int add_to_line(struct charging *charging, size_t from, uint32_t place, size_t column,
		       const struct cell *cell)
{
	uint32_t key[REPORT_PARTS], row;
	memcpy(key, report_rows_key(charging->from, from), charging->from->key_size * sizeof(*key));
	int ret = places_line_of(charging->report->places, place, &key[charging->part]);
	if (ret == 0)
		ret = report_rows_find(&charging->to, key, &row);
	if (ret == 0)
		cell_add(&report_rows_self(&charging->to, row)[column], cell);
	return ret;
}

/* The place of the instruction that is charged, in the space that the profile counts in. */
static int place_of_charge(struct charging *charging, const struct profile_frame *stands,
			   uint64_t stands_vaddr, uint64_t charged_vaddr, uint32_t *place)
{
	struct profile_frame frame = *stands;
	frame.vaddr += charged_vaddr - stands_vaddr;
	return places_add(charging->report->places, &frame, place);
}

static int reserve_parts(struct charging *charging, size_t count)
{
	if (count <= charging->part_capacity)
		return 0;
	struct cell *grown = reallocarray(charging->parts, count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	charging->parts = grown;
	charging->part_capacity = count;
	return 0;
}

static int charge_cell(struct charging *charging, size_t from, uint32_t place, size_t column,
		       const struct cell *cell)
{
	struct report *report = charging->report;
	struct report_charge *charge = &report->charge[column];
	const struct profile_frame frame = places_frame_of(report->places, place);
	const struct place *stands = resolver_place(charging->resolver, &frame);
	const struct charge *list;
	size_t count;
	if (!stands || charges_of(charging->charges, stands, charge->skid, &list, &count) < 0)
		return -ENOMEM;
	if (!list) {
		cell_add(&charge->stays, cell);
		return add_to_line(charging, from, place, column, cell);
	}
	cell_add(&charge->charged, cell);
	int ret = reserve_parts(charging, count);
	if (ret == 0)
		charge_split(cell, list, count, charging->parts);
	for (size_t i = 0; i < count && ret == 0; i++) {
		uint32_t charged;
		if (cell_is_empty(&charging->parts[i]))
			continue;
		ret = place_of_charge(charging, &frame, stands->vaddr, list[i].vaddr, &charged);
		if (ret == 0)
			ret = add_to_line(charging, from, charged, column, &charging->parts[i]);
	}
	return ret;
}

static int charge_row(struct charging *charging, size_t row)
{
	uint32_t place = report_rows_key(charging->from, row)[charging->part];
	const struct cell *cells = report_rows_self(charging->from, row);
	/* without lines one address of a procedure is as good as another */
	bool has_lines = resolver_has_source(charging->resolver,
					     places_image_of(charging->report->places, place));
	for (size_t c = 0; c < charging->from->column_count; c++) {
		int ret = 0;
		if (cell_is_empty(&cells[c]))
			continue;
		if (charging->report->charge[c].skid && has_lines)
			ret = charge_cell(charging, row, place, c, &cells[c]);
		else
			ret = add_to_line(charging, row, place, c, &cells[c]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int report_lines_charge(struct report *report, struct resolver *resolver, size_t part,
			struct report_rows *rows, struct error *err)
{
	CLEANUP(charging_release)
	struct charging charging = {
		.report = report, .resolver = resolver, .part = part, .from = rows
	};
	report_rows_init(&charging.to, rows->key_size, rows->column_count);
	int ret = charges_new(report->profile, resolver, &charging.charges, err);
	if (ret < 0)
		return ret;
	report->charge = calloc(report->columns.count + 1, sizeof(*report->charge));
	if (!report->charge)
		ret = -ENOMEM;
	for (size_t c = 0; ret == 0 && c < report->columns.count; c++)
		report->charge[c].skid = charges_skid(charging.charges, &report->columns.list[c]);
	for (size_t row = 0; ret == 0 && row < rows->count; row++)
		ret = charge_row(&charging, row);
	if (ret < 0)
		return error_set(err, ret, "out of memory for source lines");
	report_rows_release(rows);
	*rows = charging.to;
	charging.to = (struct report_rows){ 0 };
	return 0;
}
