#include "collect/ring_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"

#define EVENTS_AT_ONCE 64

int ring_watch_open(struct ring_watch *watch, size_t ring_count)
{
	*watch = RING_WATCH_NONE;
	watch->last = calloc(ring_count + 1, sizeof(*watch->last));
	watch->now = calloc(ring_count + 1, sizeof(*watch->now));
	if (!watch->last || !watch->now)
		return -ENOMEM;
	watch->fd = epoll_create1(EPOLL_CLOEXEC);
	return watch->fd < 0 ? -errno : 0;
}

void ring_watch_close(struct ring_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->list);
	free(watch->last);
	free(watch->now);
	*watch = RING_WATCH_NONE;
}

static int put(struct ring_watch *watch, size_t position)
{
	const struct ring_watched *watched = &watch->list[position - 1];
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = position };
	if (epoll_ctl(watch->fd, EPOLL_CTL_ADD, watched->fd, &event))
		return -errno;
	watch->now[watched->ring] = position;
	return 0;
}

int ring_watch_add(struct ring_watch *watch, size_t ring, int fd)
{
	int ret = array_reserve(&watch->list, &watch->capacity, watch->count, sizeof(*watch->list));
	if (ret < 0)
		return ret;
	watch->list[watch->count++] = (struct ring_watched){ fd, ring, 0 };
	if (watch->last[ring])
		watch->list[watch->last[ring] - 1].next = watch->count;
	watch->last[ring] = watch->count;
	return watch->now[ring] ? 0 : put(watch, watch->count);
}

/* Puts the next event of the ring into the set. Where none can be polled, the ring is still emptied
 * ten times a second. */
static void replace(struct ring_watch *watch, size_t position)
{
	const struct ring_watched *gone = &watch->list[position - 1];
	epoll_ctl(watch->fd, EPOLL_CTL_DEL, gone->fd, NULL);
	watch->now[gone->ring] = 0;
	for (size_t next = gone->next; next; next = watch->list[next - 1].next)
		if (put(watch, next) == 0)
			return;
}

void ring_watch_remove(struct ring_watch *watch, int fd)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct ring_watched *watched = &watch->list[i];
		if (watched->fd != fd)
			continue;
		if (watch->now[watched->ring] == i + 1)
			replace(watch, i + 1);
		watched->fd = -1; /* put() fails with it from now on */
	}
}

void ring_watch_renew(struct ring_watch *watch)
{
	struct epoll_event ready[EVENTS_AT_ONCE];
	for (bool replaced = true; replaced;) {
		int count = epoll_wait(watch->fd, ready, EVENTS_AT_ONCE, 0);
		replaced = false;
		for (int i = 0; i < count; i++) {
			if (!(ready[i].events & (EPOLLHUP | EPOLLERR)))
				continue;
			replace(watch, (size_t)ready[i].data.u64);
			replaced = true;
		}
	}
}
