/*
 * pager - long text on a terminal, a screen at a time, as git shows it: by $CULPRIT_PAGER, else
 * $PAGER, else less. Empty, or "cat", is none; so is a terminal that can't move its cursor, where
 * nobody chose one. less gets LESS=FRX and LV=-c where they are not set: what fits one screen stays
 * there, and colours are colours.
 */
#pragma once

/* --no-pager. */
void pager_refuse(void);

/*
 * From here on stdout, and stderr where that is the terminal too, go to the pager. Does nothing
 * unless stdout is a terminal, or where the process has other rights than its user, or the pager
 * cannot be run. Call colour_choose() before, since stdout is no terminal afterwards.
 */
void pager_start(void);

/* Closes stdout and waits for the pager's end. Does nothing without a pager. */
void pager_finish(void);
