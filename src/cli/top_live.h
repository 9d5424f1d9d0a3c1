/*
 * top_live - top on a terminal: tables that follow the samples, and keys.
 */
#pragma once

struct top_model;
struct top_options;

/* Until the user quits, a signal asks to end, or the terminal is gone. `signals` is a signalfd of
 * those that end it. 0 or the exit status; the terminal is as before. */
int top_live_run(struct top_model *model, const struct top_options *options, int signals);
