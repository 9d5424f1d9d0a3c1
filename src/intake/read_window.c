#include "intake/read_window.h"

#include <errno.h>
#include <stdlib.h>

struct read_last {
	uint64_t id;
	uint64_t value, enabled, running, epoch;
	struct read_last *next; /* of the same key: as many as a group has members */
};

static void free_all(struct read_last *last)
{
	while (last) {
		struct read_last *next = last->next;
		free(last);
		last = next;
	}
}

void read_window_release(struct read_window *window)
{
	size_t position = 0;
	for (struct read_last *last; (last = number_map_next(&window->last, &position));)
		free_all(last);
	number_map_release(&window->last);
}

void read_window_forget(struct read_window *window, uint64_t key)
{
	free_all(number_map_remove(&window->last, key));
}

static struct read_last *find(struct read_window *window, const struct read_value *value,
			      bool *fresh)
{
	struct read_last *head = number_map_find(&window->last, value->key);
	*fresh = false;
	for (struct read_last *last = head; last; last = last->next)
		if (last->id == value->id)
			return last;
	struct read_last *last = calloc(1, sizeof(*last));
	if (!last)
		return NULL;
	*last = (struct read_last){ .id = value->id, .next = head };
	if (number_map_put(&window->last, value->key, last) < 0) {
		free(last);
		return NULL;
	}
	*fresh = true;
	return last;
}

int read_window_add(struct read_window *window, const struct read_value *value, double *events)
{
	bool fresh;
	struct read_last *last = find(window, value, &fresh);
	if (!last)
		return -ENOMEM;
	struct read_last before = *last;
	last->value = value->value;
	last->enabled = value->enabled;
	last->running = value->running;
	last->epoch = value->epoch;
	*events = 0;
	/* A counter that stands lower than before is another one: a thread number used again. */
	if (fresh || value->value < before.value || value->running < before.running ||
	    value->enabled < before.enabled)
		before = (struct read_last){ .epoch = value->first_epoch };
	uint64_t running = value->running - before.running;
	uint64_t enabled = value->enabled - before.enabled;
	if (!running && enabled)
		return READ_IDLE;
	*events = (double)(value->value - before.value) *
		  (running ? (double)enabled / (double)running : 1);
	return before.epoch == value->epoch ? READ_SPAN : READ_LOST;
}
