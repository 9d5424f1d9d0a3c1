/*
 * cycles_lines - what the source lines of a procedure cost: sums over their
 * instructions, so that a line's CPI is theirs weighted by executions.
 */
#pragma once

#include "analyze/code/annotate.h"
#include "analyze/cycles/cycles.h"

/*
 * Makes a list by line of the annotation, which is of the same procedure. A line with an
 * instruction whose executions are not known has no CPI; `low` and `high` are NaN, as executions of
 * one line's instructions err together. 0 and a list to free, or -ENOMEM.
 */
int cycles_of_lines(const struct procedure_cycles *procedure, const struct annotation *annotation,
		    struct cycles_cost **lines);

/*
 * Makes the cells of the annotation's lines those of the samples that are charged to them (docs/
 * methods.md, "Skid"), for events whose samples are late. What would be charged to code outside the
 * annotation, a cold part or its procedure, stays where it is: the lines' sum is that of the rows.
 * 0 or -ENOMEM.
 */
int cycles_charge_lines(const struct procedure_cycles *procedure, struct annotation *annotation);
