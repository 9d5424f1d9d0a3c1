/*
 * report_parts - the value of --by, which report and diff have.
 */
#pragma once

struct report_options;
struct verb;

/* Sets the parts from "procedure,image"; NULL is procedure. -1, or the exit status after a message.
 */
int report_parts_choose(const struct verb *verb, const char *by, struct report_options *options);
