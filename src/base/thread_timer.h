/*
 * thread_timer - a timer of the monotonic clock whose signal goes to the calling thread; that of
 * setitimer() goes to any thread of the process.
 */
#pragma once

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* As timer_create(): 0, or -1 with errno. The caller deletes the timer. */
static inline int thread_timer_create(int signal_number, timer_t *timer)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = signal_number,
				  ._sigev_un._tid = gettid() };
	return timer_create(CLOCK_MONOTONIC, &event, timer);
}
