/*
 * top_terminal - what the terminal can do, and how it is given back when a signal ends the program
 * before anybody can do so properly. One at a time.
 */
#pragma once

struct error;

/* 0; or a negative errno value with *err: text cannot be placed on the terminal of $TERM. */
int top_terminal_check(struct error *err);

/* Remembers how the terminal is before it is taken, and takes the signals that end programs, but
 * for SIGINT, SIGTERM, SIGHUP and SIGALRM: they end it as ever, after the terminal is as it was
 * while it is taken. 0 or a negative errno. */
int top_terminal_remember(void);
enum top_terminal_state { TOP_TERMINAL_GIVEN_BACK, TOP_TERMINAL_TAKEN };
void top_terminal_take(enum top_terminal_state state);
/* The signals are as before. */
void top_terminal_forget(void);
