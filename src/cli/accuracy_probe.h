/*
 * accuracy_probe - `culprit accuracy --probe`.
 */
#pragma once

struct accuracy_options;

/* Counts at options->probes while the command runs. The command's exit status, or our own. */
int accuracy_probe(const struct accuracy_options *options, char *const argv[]);
