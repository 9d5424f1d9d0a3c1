#include "cli/top_live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/visible_text.h"
#include "cli/message.h"
#include "cli/top_lines.h"
#include "cli/top_listing.h"
#include "cli/top_model.h"
#include "cli/top_options.h"
#include "cli/top_page.h"
#include "cli/top_screen.h"
#include "cli/top_source.h"

#define ROWS_MOST   1000 /* of a table: more than anybody pages through */
#define SEARCH_SIZE 128
#define SHIFT	    8	/* columns that a key moves the text by */
#define NARROW	    50	/* columns in which not even the keys for help and to quit have room */
#define SOON_MS	    300 /* in which a daemon usually answers */

enum mode {
	MODE_TABLE,
	MODE_SEARCH,  /* the table, and a text is being typed */
	MODE_LISTING, /* a procedure's instructions */
	MODE_HELP,
};

struct live {
	struct top_model *model;
	const struct top_options *options;
	struct top_screen *screen;
	enum mode mode;
	bool frozen, quits;
	int status;	      /* the exit status, once it quits */
	char remark[1200];    /* until the next key; "": none */
	char end[1200];	      /* why no more samples come; "": they do */
	char waits_for[1200]; /* shown until they do */

	enum window_span span;
	struct top_view view;
	bool by_option; /* rows are as --by says, which no key's view is */
	char search[SEARCH_SIZE], search_before[SEARCH_SIZE];
	struct top_page page;
	struct top_lines above, table; /* of the page */
	size_t chosen, first, shift;   /* rows of the table, and the first column that is shown */
	bool moved; /* the chosen row is one that the user wants, not the first */

	struct buffer text; /* of the listing, or of the help */
	struct top_lines lines;
	size_t line, text_shift; /* the first that are shown */
	char *title;		 /* of the listing */
};

/* ---- the table */

static const enum report_part key_parts[] = { REPORT_PROCEDURE, REPORT_IMAGE, REPORT_PROCESS };

static const char *state_of(const struct live *live)
{
	static const char *const states[2][WINDOW_SPANS] = {
		{ "", "since the start" }, { "frozen", "since the start, frozen" }
	};
	return states[live->frozen][live->span];
}

/* Moves to the row that was chosen before, wherever it is now. */
static void follow_row(struct live *live, const struct top_page *before)
{
	size_t found = live->page.count;
	if (live->moved && live->chosen < before->count)
		found = top_page_find(&live->page, &before->rows[live->chosen]);
	if (found < live->page.count)
		live->chosen = found;
	if (live->chosen >= live->page.count)
		live->chosen = live->page.count ? live->page.count - 1 : 0;
}

/* Makes the table anew. What fails is a remark, and the table stays as it was. */
static void update_page(struct live *live)
{
	struct error err = { 0 };
	struct top_page page = { 0 }, before = live->page;
	if (!live->model->parts)
		return;
	const struct profile *profile =
		profile_window_profile(live->model->window, live->span, &err);
	live->view.ns = profile_window_ns(live->model->window, live->span);
	live->view.search = live->search;
	live->view.state = state_of(live);
	int ret = profile ? top_page_make(profile, &live->view, &page, &err) : err.code;
	if (profile && ret < 0 && live->view.sort) { /* CPI, of which no event tells */
		live->view.sort = NULL;
		snprintf(live->remark, sizeof(live->remark), "%.1000s", err.text);
		ret = top_page_make(profile, &live->view, &page, &err);
	}
	if (ret < 0) {
		snprintf(live->remark, sizeof(live->remark), "%.1000s", err.text);
		return;
	}
	live->page = page;
	follow_row(live, &before);
	top_page_release(&before);
	top_lines_of(&live->above, &live->page.above);
	top_lines_of(&live->table, &live->page.table);
}

/* ---- drawing */

static void put(struct live *live, size_t row, size_t from, enum top_line_look look,
		const char *text)
{
	top_screen_put(live->screen, row, from, look, text, strlen(text));
}

static void put_line(struct live *live, size_t row, size_t from, enum top_line_look look,
		     const struct top_lines *lines, size_t at)
{
	const struct span line = top_lines_get(lines, at);
	top_screen_put(live->screen, row, from, look, line.data, line.size);
}

static const char *by_name(const struct live *live)
{
	return live->by_option ? live->options->by : report_part_names[live->view.parts[0]];
}

static void put_foot(struct live *live, size_t row)
{
	const bool narrow = top_screen_size(live->screen).columns < NARROW;
	char text[1600];
	if (live->mode == MODE_SEARCH)
		snprintf(text, sizeof(text), "rows with: %s_", live->search);
	else if (live->remark[0] || live->end[0])
		snprintf(text, sizeof(text), "%s", live->remark[0] ? live->remark : live->end);
	else
		snprintf(text, sizeof(text),
			 "%s%sby %s, %s first%s%s%s   ? help  q quit  Enter instructions  / search "
			 " b "
			 "by  s sort  w window  p freeze",
			 narrow ? "? help  q quit   " : "", live->frozen ? "frozen, " : "",
			 by_name(live), live->view.sort ? live->view.sort : "most time",
			 *live->search ? ", with '" : "", live->search, *live->search ? "'" : "");
	put(live, row, 0, TOP_LINE_BAR, text);
}

/* How many lines stand above the table: on a small screen fewer, so that some rows have room. */
static size_t lines_above(const struct live *live, size_t rows)
{
	size_t heads = live->page.heads + 1, wanted = live->above.count;
	size_t most = rows > heads + 4 ? rows - heads - 4 : 0;
	return wanted < most ? wanted : most;
}

static size_t rows_shown(const struct live *live)
{
	size_t rows = top_screen_size(live->screen).rows;
	size_t taken = lines_above(live, rows) + live->page.heads + 1;
	return rows > taken ? rows - taken : 0;
}

static void scroll_to_chosen(struct live *live, size_t shown)
{
	if (live->chosen < live->first)
		live->first = live->chosen;
	if (shown && live->chosen >= live->first + shown)
		live->first = live->chosen + 1 - shown;
}

static void draw_table(struct live *live)
{
	struct top_size size = top_screen_size(live->screen);
	size_t above = lines_above(live, size.rows), shown = rows_shown(live), row = 0;
	scroll_to_chosen(live, shown);
	for (size_t i = 0; i < above; i++)
		put_line(live, row++, live->shift, TOP_LINE_PLAIN, &live->above, i);
	for (size_t i = 0; i < live->page.heads; i++)
		put_line(live, row++, live->shift, TOP_LINE_PLAIN, &live->table, i);
	for (size_t i = live->first; i < live->page.count && i < live->first + shown; i++)
		put_line(live, row++, live->shift,
			 i == live->chosen ? TOP_LINE_CHOSEN : TOP_LINE_PLAIN, &live->table,
			 live->page.heads + i);
	if (!live->page.count && shown)
		put(live, row, 0, TOP_LINE_PLAIN,
		    !live->model->parts ? live->waits_for
		    : *live->search	? "no row has that text; / and Enter show all"
					: "no samples");
	if (size.rows)
		put_foot(live, size.rows - 1);
}

static void draw_text(struct live *live, const char *title)
{
	struct top_size size = top_screen_size(live->screen);
	for (size_t row = 0; row + 1 < size.rows && live->line + row < live->lines.count; row++)
		put_line(live, row, live->text_shift, TOP_LINE_PLAIN, &live->lines,
			 live->line + row);
	if (size.rows)
		put(live, size.rows - 1, 0, TOP_LINE_BAR, title);
}

static void draw(struct live *live)
{
	char title[1600];
	top_screen_clear(live->screen);
	if (live->mode == MODE_LISTING) {
		snprintf(title, sizeof(title), "q back   line %zu of %zu of %s", live->line + 1,
			 live->lines.count, live->title ? live->title : "");
		draw_text(live, title);
	} else if (live->mode == MODE_HELP) {
		draw_text(live, "q back");
	} else {
		draw_table(live);
	}
	top_screen_show(live->screen);
}

/* ---- keys */

static void show_text(struct live *live, enum mode mode)
{
	top_lines_of(&live->lines, &live->text);
	live->line = live->text_shift = 0;
	live->mode = mode;
}

static void show_help(struct live *live)
{
	buffer_empty(&live->text);
	buffer_append_text(
		&live->text,
		"culprit top: where CPU cycles go, of the last seconds\n\n"
		"  Up, Down, k, j      choose a row; Page Up, Page Down, Home, End\n"
		"  Left, Right         shift the text\n"
		"  Enter               its instructions: executions, cost, stalls, as 'culprit "
		"annotate'\n"
		"  /                   only rows with a text; an empty one shows all\n"
		"  b                   rows by procedure, image, process\n"
		"  s                   sort by time, cycles per instruction, name\n"
		"  w                   the last seconds, or all since the start\n"
		"  p, Space            freeze: what is shown stays, for all keys; again: the "
		"newest\n"
		"  q, Escape           back; out of the table: quit\n\n"
		"%        share of the event's total\n"
		"+-       half its interval of 95 %\n"
		"samples  that the share rests on; rows with few of them are dim\n"
		"CPI      cycles per instruction, where both are counted\n\n"
		"The lines above the table are those of 'culprit report', of the same time.\n");
	show_text(live, MODE_HELP);
}

static void open_listing(struct live *live)
{
	struct error err = { 0 };
	if (live->chosen >= live->page.count)
		return;
	const struct top_row *row = &live->page.rows[live->chosen];
	snprintf(live->remark, sizeof(live->remark), "reading the code of '%.900s'", row->name);
	draw(live);
	live->remark[0] = 0;
	const struct profile *profile =
		profile_window_profile(live->model->window, live->span, &err);
	buffer_release(&live->text);
	if (!profile || top_listing_make(profile, row, &live->text, &err) < 0) {
		snprintf(live->remark, sizeof(live->remark), "%.1000s", err.text);
		return;
	}
	free(live->title);
	live->title = strdup(row->name);
	show_text(live, MODE_LISTING);
}

static void change_rows(struct live *live)
{
	size_t at = 0;
	while (!live->by_option && at < COUNT_OF(key_parts) && key_parts[at] != live->view.parts[0])
		at++;
	at = live->by_option ? 0 : (at + 1) % COUNT_OF(key_parts);
	live->by_option = false;
	live->view.parts[0] = key_parts[at];
	live->view.part_count = 1;
	live->chosen = live->first = 0;
	live->moved = false;
	update_page(live);
}

static void change_sort(struct live *live)
{
	const char *sort = live->view.sort;
	live->view.sort = !sort ? "cpi" : strcmp(sort, "cpi") == 0 ? "name" : NULL;
	live->moved = false;
	live->chosen = live->first = 0;
	update_page(live);
	if (sort || live->view.sort)
		return;
	live->view.sort = "name"; /* there is no CPI */
	update_page(live);
}

/* What is shown stays, and is what all keys are about, until the same key is pressed again. */
static void freeze(struct live *live)
{
	struct error err = { 0 };
	if (!live->model->parts)
		return; /* nothing is shown yet */
	if (live->frozen)
		profile_window_go_on(live->model->window);
	else if (profile_window_hold(live->model->window, &err) < 0) {
		snprintf(live->remark, sizeof(live->remark), "%.1000s", err.text);
		return;
	}
	live->frozen = !live->frozen;
	update_page(live);
}

static void change_span(struct live *live)
{
	live->span = live->span == WINDOW_LAST ? WINDOW_WHOLE : WINDOW_LAST;
	update_page(live);
}

static void begin_search(struct live *live)
{
	memcpy(live->search_before, live->search, sizeof(live->search));
	live->search[0] = 0;
	live->mode = MODE_SEARCH;
}

static void quit(struct live *live)
{
	live->quits = true;
}

static void move_to(struct live *live, size_t row)
{
	live->chosen = row < live->page.count ? row : live->page.count ? live->page.count - 1 : 0;
	live->moved = live->chosen > 0;
}

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* k and j move, too, where no text is typed. */
static enum top_key movement(enum top_key key, const char *text)
{
	if (key != TOP_KEY_TEXT || strlen(text) != 1)
		return key;
	return *text == 'k' ? TOP_KEY_UP : *text == 'j' ? TOP_KEY_DOWN : key;
}

static bool moves_in_table(struct live *live, enum top_key key)
{
	size_t page = rows_shown(live);
	switch (key) {
	case TOP_KEY_UP:
		move_to(live, less(live->chosen, 1));
		return true;
	case TOP_KEY_DOWN:
		move_to(live, live->chosen + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		move_to(live, less(live->chosen, page));
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_to(live, live->chosen + page);
		return true;
	case TOP_KEY_HOME:
		move_to(live, 0);
		return true;
	case TOP_KEY_END:
		move_to(live, live->page.count);
		return true;
	case TOP_KEY_LEFT:
		live->shift = less(live->shift, SHIFT);
		return true;
	case TOP_KEY_RIGHT:
		live->shift += SHIFT;
		return true;
	default:
		return false;
	}
}

static const struct {
	const char *text;
	void (*act)(struct live *live);
} commands[] = {
	{ "q", quit },	       { "?", show_help },   { "h", show_help },
	{ "/", begin_search }, { "b", change_rows }, { "s", change_sort },
	{ "w", change_span },  { "p", freeze },	     { " ", freeze },
};

static void key_of_table(struct live *live, enum top_key key, const char *text)
{
	live->remark[0] = 0;
	key = movement(key, text);
	if (moves_in_table(live, key))
		return;
	if (key == TOP_KEY_ENTER)
		open_listing(live);
	if (key == TOP_KEY_ESCAPE)
		quit(live);
	for (size_t i = 0; key == TOP_KEY_TEXT && i < COUNT_OF(commands); i++)
		if (strcmp(commands[i].text, text) == 0) {
			commands[i].act(live);
			return;
		}
}

/* Takes the last character off. */
static void shorten(char *text)
{
	size_t size = strlen(text);
	while (size && ((unsigned char)text[size - 1] & 0xc0) == 0x80)
		size--;
	text[less(size, 1)] = 0;
}

static void key_of_search(struct live *live, enum top_key key, const char *text)
{
	if (key == TOP_KEY_TEXT && strlen(live->search) + strlen(text) < sizeof(live->search))
		strcat(live->search, text);
	else if (key == TOP_KEY_BACKSPACE)
		shorten(live->search);
	else if (key == TOP_KEY_ESCAPE)
		memcpy(live->search, live->search_before, sizeof(live->search));
	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
		live->mode = MODE_TABLE;
	live->chosen = live->first = 0;
	live->moved = false;
	update_page(live);
}

static void key_of_text(struct live *live, enum top_key key, const char *text)
{
	size_t page = less(top_screen_size(live->screen).rows, 2);
	size_t last = less(live->lines.count, page + 1);
	bool back = key == TOP_KEY_ESCAPE || (key == TOP_KEY_TEXT && strcmp(text, "q") == 0);
	if (back) {
		live->mode = MODE_TABLE;
		update_page(live);
		return;
	}
	key = movement(key, text);
	if (key == TOP_KEY_UP)
		live->line = less(live->line, 1);
	else if (key == TOP_KEY_DOWN)
		live->line++;
	else if (key == TOP_KEY_PAGE_UP)
		live->line = less(live->line, page);
	else if (key == TOP_KEY_PAGE_DOWN || (key == TOP_KEY_TEXT && strcmp(text, " ") == 0))
		live->line += page;
	else if (key == TOP_KEY_HOME)
		live->line = 0;
	else if (key == TOP_KEY_END)
		live->line = last;
	else if (key == TOP_KEY_LEFT)
		live->text_shift = less(live->text_shift, SHIFT);
	else if (key == TOP_KEY_RIGHT)
		live->text_shift += SHIFT;
	live->line = live->line < last ? live->line : last;
}

static void read_keys(struct live *live)
{
	char text[8] = "";
	enum top_key key;
	while (!live->quits && (key = top_screen_key(live->screen, text)) != TOP_KEY_NONE) {
		if (key == TOP_KEY_RESIZED || key == TOP_KEY_REDRAW)
			continue;
		if (live->mode == MODE_TABLE)
			key_of_table(live, key, text);
		else if (live->mode == MODE_SEARCH)
			key_of_search(live, key, text);
		else
			key_of_text(live, key, text);
	}
}

/* ---- the loop */

static void say_what_is_awaited(struct live *live)
{
	const struct top_model *model = live->model;
	if (model->asks_daemon && !top_source_answers(model->source))
		snprintf(live->waits_for, sizeof(live->waits_for),
			 "waiting for an answer of the daemon at '%.1000s'",
			 live->options->socket ? live->options->socket : model->socket);
	else
		snprintf(live->waits_for, sizeof(live->waits_for), "waiting for samples");
}

/* Begins with own samples, of which messages may speak. */
static void sample_instead(struct live *live)
{
	top_screen_leave(live->screen);
	live->status = top_model_sample(live->model);
	live->quits |= live->status != 0;
	live->view.source = live->model->source_name;
	top_screen_return(live->screen);
}

static void take_parts(struct live *live)
{
	struct error err = { 0 };
	bool came;
	int ret = top_model_take(live->model, &came, &err);
	if (ret < 0 && top_model_may_sample(live->model))
		sample_instead(live);
	else if (ret < 0)
		snprintf(live->end, sizeof(live->end), "%.1000s; q quits", err.text);
	say_what_is_awaited(live);
	/* what the user looks at stays meanwhile */
	if (came && !live->frozen && (live->mode == MODE_TABLE || live->mode == MODE_SEARCH))
		update_page(live);
}

static void read_signals(struct live *live, int signals)
{
	struct signalfd_siginfo info;
	while (read(signals, &info, sizeof(info)) == sizeof(info))
		live->quits |= info.ssi_signo != SIGCHLD;
}

/* 0, or a negative errno value with *err. */
static int follow(struct live *live, int signals, struct error *err)
{
	while (!live->quits) {
		draw(live);
		struct pollfd fds[] = {
			{ STDIN_FILENO, POLLIN, 0 },
			{ signals, POLLIN, 0 },
			{ live->end[0] ? -1 : top_source_poll_fd(live->model->source), POLLIN, 0 },
			{ top_screen_poll_fd(live->screen), POLLIN, 0 },
		};
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot wait: %s", strerror(errno));
		top_screen_stop_or_go_on(live->screen);
		read_signals(live, signals);
		if (!live->quits && (fds[2].revents & POLLIN))
			take_parts(live);
		read_keys(live); /* also after a signal that says that the size has changed */
		if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
			live->quits = true; /* the terminal is gone */
	}
	return 0;
}

static void live_release(struct live *live)
{
	top_screen_close(live->screen);
	top_page_release(&live->page);
	top_lines_release(&live->above);
	top_lines_release(&live->table);
	top_lines_release(&live->lines);
	buffer_release(&live->text);
	free(live->title);
}

/*
 * A daemon that is not there, or refuses, says so at once: then the terminal need not be taken
 * for that. One that takes its time answers while the user can quit. 0 or the exit status.
 */
static int await_daemon(struct top_model *model, int signals)
{
	struct error err = { 0 };
	struct pollfd fds[] = { { signals, POLLIN, 0 },
				{ top_source_poll_fd(model->source), POLLIN, 0 } };
	bool came;
	if (!model->asks_daemon || poll(fds, COUNT_OF(fds), SOON_MS) <= 0 || !fds[1].revents)
		return 0;
	if (top_model_take(model, &came, &err) == 0)
		return 0;
	return top_model_may_sample(model) ? top_model_sample(model) : message_failure(&err);
}

int top_live_run(struct top_model *model, const struct top_options *options, int signals)
{
	struct error err = { 0 };
	int status = await_daemon(model, signals);
	if (status)
		return status;
	struct live live = { .model = model,
			     .options = options,
			     .view = { .part_count = options->rows.part_count,
				       .sort = top_options_sort(options),
				       .source = model->source_name,
				       .most = ROWS_MOST,
				       .full_names = options->full_names,
				       .colour = TEXT_WITH_COLOUR } };
	memcpy(live.view.parts, options->rows.parts, sizeof(live.view.parts));
	live.by_option = options->by && options->rows.part_count > 1;
	if (options->search)
		snprintf(live.search, sizeof(live.search), "%s", options->search);
	say_what_is_awaited(&live);
	update_page(&live); /* what came already */
	int ret = top_screen_open(&live.screen, &err);
	if (ret == 0)
		ret = follow(&live, signals, &err);
	live_release(&live);
	return ret < 0 ? message_failure(&err) : live.status;
}
