/*
 * row_search - the rows of a report whose texts hold a piece of text.
 */
#pragma once

struct report;

/* Keeps the rows of which a name (procedure, image, process, file or what else they are by) holds
 * the text, upper and lower case of ASCII alike; "" keeps all. Their order stays, and the sums
 * above and below the rows too. */
void report_search_rows(struct report *report, const char *text);
