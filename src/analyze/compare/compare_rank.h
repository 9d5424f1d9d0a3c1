/*
 * compare_rank - which rows of a comparison count and which may be chance, what
 * grew by more than allowed, the order of rows, and what is left out.
 */
#pragma once

struct comparison;
struct error;

/* Sorts comparison->all, row_count rows with their changes, and fills the verdicts, `grown`, `rows`
 * and `rest`. 0 or -ENOMEM. */
int compare_rank(struct comparison *comparison, struct error *err);
