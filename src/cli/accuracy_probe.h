/*
 * accuracy_probe - `culprit accuracy --probe`.
 */
#pragma once

struct accuracy_options;

/* Runs the command, counts executions at options->probes meanwhile and prints them. Returns the
 * command's exit status, or our own. */
int accuracy_probe(const struct accuracy_options *options, char *const argv[]);
