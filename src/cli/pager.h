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
 * From here on stdout, and stderr where that is the terminal too, go to the pager; nothing
 * happens unless stdout is a terminal, or where the process has other rights than its user. Who
 * asks for colours by whether stdout is a terminal does so before. A pager that cannot be run
 * is done without.
 */
void pager_start(void);

/* Waits until the reader has seen it all; stdout takes no more. Nothing without pager_start(). */
void pager_finish(void);
