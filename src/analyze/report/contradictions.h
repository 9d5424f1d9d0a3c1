/*
 * contradictions - what a profile says twice and differently, as a file that was
 * damaged or made up does: figures that no share is known of. Pages print "-"
 * there, and a sentence says why.
 */
#pragma once

struct report;

/* Adds a note for each; 0 or -ENOMEM. */
int report_note_contradictions(struct report *report);
