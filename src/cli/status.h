/*
 * status - what cli's functions return that can end the verb: 0 to go on, else the exit status,
 * after a message. Exit statuses are 1 (it could not be done), 2 (misused), 3 (done, and
 * the verdict is no), and what `culprit record -- COMMAND` passes on of its command. What ends a
 * verb without a fault before its work is done (--help) is STATUS_DONE, which main() turns into 0.
 */
#pragma once

enum { STATUS_DONE = -1 };
