/*
 * orders - a small service that slows down: the program of docs/tutorial.md. It answers so many
 * requests a second, and each request reads a name, adds a table of prices up, and signs the
 * answer. Somebody changes the order of two loops (-DBY_COLUMN); nothing else differs.
 *
 *	cc -O2 -g -fno-omit-frame-pointer -o orders orders.c
 *	cc -O2 -g -fno-omit-frame-pointer -DBY_COLUMN -o orders orders.c
 *	./orders [SECONDS [REQUESTS A SECOND]]
 *
 * It prints how many requests it has answered, and what they add up to, which is the same in both.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CUSTOMERS 1024
#define PRODUCTS  1024 /* a row is 4 KiB, the table 4 MiB: more than caches near the core hold */

static uint32_t prices[CUSTOMERS][PRODUCTS];

/* Work that did not change: a hash of some bytes, round by round. */
static uint64_t mix(uint64_t value, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u + i;
	return value;
}

__attribute__((noinline)) static uint64_t read_request(uint64_t number)
{
	return mix(number, 300000);
}

__attribute__((noinline)) static uint64_t sign_answer(uint64_t total)
{
	return mix(total, 150000);
}

__attribute__((noinline)) static uint64_t add_prices(void)
{
	uint64_t total = 0;
#ifdef BY_COLUMN
	/* each step is a row further: another cache line, and another page */
	for (size_t product = 0; product < PRODUCTS; product++)
		for (size_t customer = 0; customer < CUSTOMERS; customer++)
			total += prices[customer][product];
#else
	for (size_t customer = 0; customer < CUSTOMERS; customer++)
		for (size_t product = 0; product < PRODUCTS; product++)
			total += prices[customer][product];
#endif
	return total;
}

__attribute__((noinline)) static uint64_t answer(uint64_t number)
{
	uint64_t request = read_request(number);
	return sign_answer(request + add_prices());
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sleep_until(double wanted_s)
{
	struct timespec until = { .tv_sec = (time_t)wanted_s,
				  .tv_nsec = (long)((wanted_s - (double)(time_t)wanted_s) * 1e9) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, rate = argc > 2 ? atof(argv[2]) : 40;
	if (!(seconds > 0 && rate > 0))
		return 2;
	for (size_t customer = 0; customer < CUSTOMERS; customer++)
		for (size_t product = 0; product < PRODUCTS; product++)
			prices[customer][product] = (uint32_t)mix(customer * PRODUCTS + product, 1);
	double start_s = now_s();
	uint64_t answered = 0, sum = 0;
	while (now_s() < start_s + seconds) {
		sum += answer(answered++);
		sleep_until(start_s + (double)answered / rate);
	}
	printf("%llu requests, sum %016llx\n", (unsigned long long)answered,
	       (unsigned long long)sum);
	return 0;
}
