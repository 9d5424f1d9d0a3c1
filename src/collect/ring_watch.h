/*
 * ring_watch - waits for rings to be emptied: an epoll set with one descriptor of
 * each ring. Any of the events that write into a ring can be polled for it, but
 * one whose task has ended hangs up and polls ready for ever. It leaves the set,
 * and the next that writes into the same ring takes its place; a ring whose
 * events have all hung up gets nothing more.
 */
#pragma once

#include <stddef.h>

struct ring_watched {
	int fd;	     /* borrowed */
	size_t ring; /* number of the ring it writes into */
	size_t next; /* of the same ring, 0: none; positions plus one */
};

struct ring_watch {
	int fd; /* readable: something is in a ring, or an event has hung up. -1: none */
	struct ring_watched *list;
	size_t count, capacity;
	size_t *last; /* by ring: the newest in the list, plus one; 0: none */
	size_t *now;  /* by ring: the one in the set, plus one; 0: none */
};

#define RING_WATCH_NONE ((struct ring_watch){ .fd = -1 })

/* 0 or negative errno. */
int ring_watch_open(struct ring_watch *watch, size_t ring_count);
void ring_watch_close(struct ring_watch *watch); /* also right for RING_WATCH_NONE */
/* One more event that writes into a ring; its descriptor stays open as long as the watch. 0 or
 * negative errno. */
int ring_watch_add(struct ring_watch *watch, size_t ring, int fd);
/* It is to be closed: another takes its place. */
void ring_watch_remove(struct ring_watch *watch, int fd);
/* Replaces what has hung up. Rings that are ready now do not say so again: empty them afterwards.
 */
void ring_watch_renew(struct ring_watch *watch);
