/*
 * ring_watch - an epoll set that is ready when a ring is to be emptied, with one
 * descriptor for each ring. Any of the events that write into a ring can be polled
 * for it, but one whose task has ended hangs up and polls ready for ever: it leaves
 * the set, and the next event of the same ring takes its place. A ring whose events
 * have all hung up is not written any more.
 */
#pragma once

#include <stddef.h>

struct ring_watched {
	int fd;	     /* borrowed */
	size_t ring; /* number of the ring it writes into */
	size_t next; /* position plus one of the next of the same ring; 0: none */
};

struct ring_watch {
	int fd; /* readable: something is in a ring, or an event has hung up. -1: none */
	struct ring_watched *list;
	size_t count, capacity;
	size_t *last; /* by ring: position plus one of the newest in the list; 0: none */
	size_t *now;  /* by ring: position plus one of the one in the set; 0: none */
};

#define RING_WATCH_NONE ((struct ring_watch){ .fd = -1 })

/* 0 or negative errno. */
int ring_watch_open(struct ring_watch *watch, size_t ring_count);
void ring_watch_close(struct ring_watch *watch); /* also right for RING_WATCH_NONE */
/* Adds an event that writes into a ring; its descriptor stays open until ring_watch_remove() or
 * ring_watch_close(). 0 or negative errno. */
int ring_watch_add(struct ring_watch *watch, size_t ring, int fd);
/* Removes an event whose descriptor is to be closed; another of its ring takes its place. */
void ring_watch_remove(struct ring_watch *watch, int fd);
/* Replaces events that have hung up, and with them forgets which rings were ready: empty all rings
 * afterwards. */
void ring_watch_renew(struct ring_watch *watch);
