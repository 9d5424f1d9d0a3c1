#include "daemon/recording_process.h"

#include <malloc.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "symbol/helper_nursery.h"

#define LARGE_BYTES (1 << 20) /* where arrays begin to grow by a quarter (base/growth.h) */

int recording_process_signals(sigset_t *before)
{
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, before);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

void recording_process_begin(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* of the helpers, too, which inherit it */
#endif
	helper_nursery_start();
}
