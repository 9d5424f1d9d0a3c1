#define _XOPEN_SOURCE_EXTENDED 1
#include "cli/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/visible_text.h"
#include "cli/top_terminal.h"
#include "render/text_table.h"

#define ESCAPE_MS 25 /* how long the rest of a key's sequence may take */

struct top_screen {
	SCREEN *screen;
	int signals;	 /* signalfd of those that stop and continue us */
	sigset_t before; /* the mask of signals */
};

/* Text is UTF-8, whatever the user's locale says of characters; numbers stay as they are in C. */
static void choose_characters(void)
{
	if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
		return;
	setlocale(LC_CTYPE, "C.UTF-8");
}

/* Those that stop and continue us come through a descriptor from now on. 0 or a negative errno. */
static int take_signals(struct top_screen *screen)
{
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGTSTP);
	sigaddset(&ours, SIGCONT);
	screen->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signals < 0)
		return -errno;
	return -pthread_sigmask(SIG_BLOCK, &ours, &screen->before);
}

static void set_up(void)
{
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
}

static void screen_free(struct top_screen *screen)
{
	if (screen->screen)
		delscreen(screen->screen);
	if (screen->signals >= 0)
		close(screen->signals);
	free(screen);
}

int top_screen_open(struct top_screen **out, struct error *err)
{
	int ret = top_terminal_check(err);
	if (ret < 0)
		return ret;
	struct top_screen *screen = calloc(1, sizeof(*screen));
	if (!screen)
		return error_set(err, -ENOMEM, "out of memory");
	choose_characters();
	ret = take_signals(screen);
	if (ret == 0)
		ret = top_terminal_remember();
	if (ret == 0)
		screen->screen = newterm(NULL, stdout, stdin);
	if (!screen->screen) {
		top_terminal_forget();
		screen_free(screen);
		return error_set(err, ret < 0 ? ret : -ENOTTY, "cannot use the terminal%s%s",
				 ret < 0 ? ": " : "", ret < 0 ? strerror(-ret) : "");
	}
	set_term(screen->screen);
	top_terminal_take(TOP_TERMINAL_TAKEN);
	set_up();
	*out = screen;
	return 0;
}

void top_screen_close(struct top_screen *screen)
{
	if (!screen)
		return;
	endwin();
	top_terminal_forget();
	pthread_sigmask(SIG_SETMASK, &screen->before, NULL);
	screen_free(screen);
}

void top_screen_leave(struct top_screen *screen)
{
	(void)screen;
	endwin();
	top_terminal_take(TOP_TERMINAL_GIVEN_BACK);
}

void top_screen_return(struct top_screen *screen)
{
	struct winsize size;
	(void)screen;
	top_terminal_take(TOP_TERMINAL_TAKEN);
	reset_prog_mode();
	/* nobody tells a program in the background that the terminal has another size */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col &&
	    is_term_resized(size.ws_row, size.ws_col))
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
	refresh();
}

int top_screen_poll_fd(const struct top_screen *screen)
{
	return screen->signals;
}

/* Until somebody continues us. Where nobody can (the shell is gone) the kernel does not stop us. */
static void stop(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, before;
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	sigaction(SIGTSTP, &usual, &before);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &only, NULL); /* here */
	pthread_sigmask(SIG_BLOCK, &only, NULL);
	sigaction(SIGTSTP, &before, NULL);
}

void top_screen_stop_or_go_on(struct top_screen *screen)
{
	struct signalfd_siginfo info;
	bool stops = false, goes_on = false;
	while (read(screen->signals, &info, sizeof(info)) == sizeof(info)) {
		stops |= info.ssi_signo == SIGTSTP;
		goes_on |= info.ssi_signo == SIGCONT;
	}
	if (stops) {
		top_screen_leave(screen);
		stop();
	}
	if (stops || goes_on)
		top_screen_return(screen);
}

struct top_size top_screen_size(const struct top_screen *screen)
{
	int rows, columns;
	(void)screen;
	getmaxyx(stdscr, rows, columns);
	return (struct top_size){ rows > 0 ? (size_t)rows : 0, columns > 0 ? (size_t)columns : 0 };
}

void top_screen_clear(struct top_screen *screen)
{
	(void)screen;
	attrset(A_NORMAL);
	erase();
}

/* Where a text is being put. */
struct pen {
	size_t column; /* of the text */
	size_t from;   /* the first one that is shown */
	size_t room;   /* columns that are left */
};

static size_t width_of(const char *character, size_t size)
{
	char text[UTF8_MAX_BYTES + 1] = { 0 };
	memcpy(text, character, size);
	return text_width(text);
}

/* One character, and the marks over it are characters of their own, without width. */
static void put_character(struct pen *pen, const char *character, size_t size)
{
	size_t width = width_of(character, size);
	bool before = pen->column < pen->from;
	pen->column += width;
	if (before || width > pen->room)
		return;
	addnstr(character, (int)size);
	pen->room -= width;
}

static void put_text(struct pen *pen, const char *text, size_t size)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	text_append_safe(&safe, text, size);
	if (buffer_failed(&safe))
		return;
	for (size_t at = 0; at < safe.size && pen->room;) {
		size_t left = safe.size - at;
		size_t step = utf8_sequence(safe.data + at, left);
		step = step ? step : 1;
		put_character(pen, (const char *)safe.data + at, step);
		at += step;
	}
}

static attr_t style_of(const char *style, size_t size)
{
	return memchr(style, '1', size) ? A_BOLD : memchr(style, '2', size) ? A_DIM : A_NORMAL;
}

void top_screen_put(struct top_screen *screen, size_t row, size_t from, enum top_line_look look,
		    const char *text, size_t size)
{
	const struct top_size room = top_screen_size(screen);
	const attr_t base = look == TOP_LINE_PLAIN ? A_NORMAL : A_REVERSE;
	struct pen pen = { .from = from, .room = room.columns };
	if (row >= room.rows || move((int)row, 0) == ERR)
		return;
	attrset(base);
	for (size_t at = 0; at < size;) {
		size_t plain = at, style = 0;
		while (at < size && (style = text_style_size(text + at, size - at)) == 0)
			at++;
		put_text(&pen, text + plain, at - plain);
		if (at < size)
			attrset(base | style_of(text + at, style));
		at += style;
	}
	attrset(base);
	for (; look != TOP_LINE_PLAIN && pen.room; pen.room--)
		addch(' ');
	attrset(A_NORMAL);
}

void top_screen_show(struct top_screen *screen)
{
	(void)screen;
	refresh();
}

static enum top_key function_key(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_LEFT:
		return TOP_KEY_LEFT;
	case KEY_RIGHT:
		return TOP_KEY_RIGHT;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_ENTER:
		return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case KEY_DC:
		return TOP_KEY_BACKSPACE;
	case KEY_RESIZE:
		return TOP_KEY_RESIZED;
	default:
		return TOP_KEY_OTHER;
	}
}

enum top_key top_screen_key(struct top_screen *screen, char text[8])
{
	wint_t key;
	int kind = wget_wch(stdscr, &key);
	(void)screen;
	if (kind == KEY_CODE_YES)
		return function_key(key);
	if (kind == ERR)
		return TOP_KEY_NONE;
	switch (key) {
	case '\r':
	case '\n':
		return TOP_KEY_ENTER;
	case 27:
		return TOP_KEY_ESCAPE;
	case 8:
	case 127:
		return TOP_KEY_BACKSPACE;
	case 12:
		clearok(curscr, TRUE);
		return TOP_KEY_REDRAW;
	default:
		break;
	}
	if (key < ' ' || key > 0x10ffff)
		return TOP_KEY_OTHER;
	size_t size = utf8_put((uint8_t *)text, (uint32_t)key);
	text[size] = 0;
	return TOP_KEY_TEXT;
}
