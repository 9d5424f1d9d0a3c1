/*
 * top_screen - the terminal while top has it: lines of text with styles, and keys. Texts may hold
 * strangers' names: what would steer the terminal is shown as bytes (base/visible_text.h).
 *
 * One screen at a time. A signal that ends the program while a screen is open gives the terminal
 * back first; who wants to go on otherwise blocks it. Stop and continue (Ctrl-Z, fg) are the
 * screen's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct top_screen;

/* Takes the terminal. 0; or a negative errno value with *err, as top_terminal_check(). */
int top_screen_open(struct top_screen **out, struct error *err);
/* Gives the terminal back as it was. NULL does nothing. */
void top_screen_close(struct top_screen *screen);
/* Gives the terminal back meanwhile, for messages; and takes it again, with what stood on it. */
void top_screen_leave(struct top_screen *screen);
void top_screen_return(struct top_screen *screen);
/* A descriptor that polls readable when the program is to stop, or goes on after a stop. */
int top_screen_poll_fd(const struct top_screen *screen);
/* Does so, if anything: the terminal is as it was while the program is stopped. */
void top_screen_stop_or_go_on(struct top_screen *screen);

struct top_size {
	size_t rows, columns;
};
struct top_size top_screen_size(const struct top_screen *screen);

enum top_line_look {
	TOP_LINE_PLAIN,
	TOP_LINE_CHOSEN, /* marked, in all its width */
	TOP_LINE_BAR,	 /* likewise, of a line that is no row */
};

/* Empties what top_screen_show() shows next. */
void top_screen_clear(struct top_screen *screen);
/* Puts `size` bytes of text, which may have text_append_style()'s styles, into a row, from the
 * text's column `from` on; what does not fit is left out. A row beyond the screen is left out. */
void top_screen_put(struct top_screen *screen, size_t row, size_t from, enum top_line_look look,
		    const char *text, size_t size);
void top_screen_show(struct top_screen *screen);

enum top_key {
	TOP_KEY_NONE, /* there is none */
	TOP_KEY_OTHER,
	TOP_KEY_TEXT, /* a character: *text */
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_RESIZED, /* the terminal has another size */
	TOP_KEY_REDRAW,	 /* Ctrl-L */
};
/* The next key that was typed, without waiting. `text` gets the bytes of a character, and a NUL. */
enum top_key top_screen_key(struct top_screen *screen, char text[8]);
