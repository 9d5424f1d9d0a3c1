#include "page_faults.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64u
#define LOOPS (PAGE_FAULTS / PAGES)

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint8_t *page_faults_room(void)
{
	size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

double page_faults_ns(uint8_t *pages, int fd, void *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *head = ring;
	double spent = 0;
	for (unsigned loop = 0; loop < LOOPS; loop++) {
		madvise(pages, PAGES * page, MADV_DONTNEED);
		if (fd > 0)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		double start = now_ns();
		for (unsigned i = 0; i < PAGES; i++)
			pages[i * page] = 1;
		spent += now_ns() - start;
		if (fd > 0)
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (head)
			head->data_tail = head->data_head;
	}
	return spent / PAGE_FAULTS;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

void page_faults_print(const char *name, const double *with, const double *without, size_t rounds)
{
	double *more = malloc(rounds * sizeof(*more));
	if (!more)
		abort();
	for (size_t i = 0; i < rounds; i++)
		more[i] = with[i] - without[i];
	qsort(more, rounds, sizeof(*more), compare);
	printf("%-30s %6.0f ns   quartiles %.0f to %.0f", name, more[rounds / 2], more[rounds / 4],
	       more[rounds - 1 - rounds / 4]);
	free(more);
}
