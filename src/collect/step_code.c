#include "collect/step_code.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define BLOCK_BYTES 512u /* a power of two: no page ends inside a block */
#define READ_BYTES  (BLOCK_BYTES + STEP_CODE_BYTES)
#define BLOCKS	    8u
#define PATIENCE_NS UINT64_C(200000000)
#define STACK_BYTES ((size_t)128 << 10)
#define NO_BLOCK    UINT64_MAX /* the address of an empty entry: no multiple of BLOCK_BYTES */

struct block {
	uint64_t address;
	uint8_t bytes[READ_BYTES];
};

static struct block blocks[BLOCKS]; /* read in this stretch; a direct-mapped cache */

static struct {
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t asking, answering;
	bool ready; /* the thread runs, and has no rights any more */
	bool busy;  /* it reads `block` */
	int fd;
	struct block block;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .asking = PTHREAD_COND_INITIALIZER };

static void read_block(int fd, struct block *block)
{
	ssize_t got = pread(fd, block->bytes, sizeof(block->bytes), (off_t)block->address);
	size_t size = got > 0 ? (size_t)got : 0;
	memset(block->bytes + size, 0, sizeof(block->bytes) - size);
}

static void give_up_rights(void)
{
	cap_t none = cap_init();
	if (none) {
		cap_set_proc(none);
		cap_free(none);
	}
}

static void *serve(void *nothing)
{
	sigset_t all;
	(void)nothing;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	give_up_rights();
	pthread_mutex_lock(&service.lock);
	service.ready = true;
	pthread_cond_signal(&service.answering);
	for (;;) {
		while (!service.busy)
			pthread_cond_wait(&service.asking, &service.lock);
		pthread_mutex_unlock(&service.lock);
		read_block(service.fd, &service.block);
		pthread_mutex_lock(&service.lock);
		service.busy = false;
		pthread_cond_signal(&service.answering);
	}
	return NULL;
}

int step_code_start(void)
{
	pthread_condattr_t clock;
	pthread_attr_t small;
	pthread_t thread;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&service.answering, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	int code = pthread_create(&thread, &small, serve, NULL);
	pthread_attr_destroy(&small);
	pthread_mutex_lock(&service.lock);
	while (code == 0 && !service.ready)
		pthread_cond_wait(&service.answering, &service.lock);
	pthread_mutex_unlock(&service.lock);
	service.started = code == 0;
	return -code;
}

bool step_code_is_stuck(void)
{
	pthread_mutex_lock(&service.lock);
	bool busy = service.busy;
	pthread_mutex_unlock(&service.lock);
	return busy;
}

void step_code_begin(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i].address = NO_BLOCK;
}

/* Has the thread read block->address into *block. False: it does not answer in time. */
static bool ask(int fd, struct block *block)
{
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
	const struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000),
				      .tv_nsec = (long)(end_ns % 1000000000) };
	int code = 0;
	pthread_mutex_lock(&service.lock);
	bool answered = !service.busy;
	if (answered) {
		service.fd = fd;
		service.block.address = block->address;
		service.busy = true;
		pthread_cond_signal(&service.asking);
		while (service.busy && code != ETIMEDOUT)
			code = pthread_cond_timedwait(&service.answering, &service.lock, &end);
		answered = !service.busy;
	}
	if (answered)
		*block = service.block;
	pthread_mutex_unlock(&service.lock);
	return answered;
}

bool step_code_read(int fd, uint64_t address, uint8_t code[STEP_CODE_BYTES])
{
	uint64_t start = address & ~(uint64_t)(BLOCK_BYTES - 1);
	struct block *block = &blocks[start / BLOCK_BYTES % BLOCKS];
	bool there = true;
	if (block->address != start) {
		block->address = start;
		if (service.started)
			there = ask(fd, block);
		else
			read_block(fd, block);
	}
	if (there) {
		memcpy(code, block->bytes + (address - start), STEP_CODE_BYTES);
		return true;
	}
	block->address = NO_BLOCK;
	memset(code, 0, STEP_CODE_BYTES);
	return false;
}
