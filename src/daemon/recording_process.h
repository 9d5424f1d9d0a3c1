/*
 * recording_process - what a process that records or counts for a while sets for itself.
 */
#pragma once

#include <signal.h>

/* The signals that end that, and the ends of children, come through the returned descriptor
 * (signalfd(2), which never blocks) from now on; *before (unless NULL) is the mask of signals until
 * then. -1: it cannot be made, as errno says. */
int recording_process_signals(sigset_t *before);

/* To be called early, while the process is small: helpers are forked by a nursery from now on
 * (symbol/helper_nursery.h), and free() returns every large block to the system. By default the C
 * library raises the size from which it does so with the first such block, and keeps freed ones in
 * pieces that nothing fits into. */
void recording_process_begin(void);
