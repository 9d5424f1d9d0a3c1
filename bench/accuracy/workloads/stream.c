/* Copies and scales large arrays: one hot loop that misses the caches in order. */
#include <stdio.h>
#include <stdlib.h>

#define COUNT (2L * 1024 * 1024)

static double from[COUNT], to[COUNT];

__attribute__((noinline)) static void copy(double *restrict out, const double *restrict in, long n)
{
	for (long i = 0; i < n; i += 4) {
		out[i] = in[i];
		out[i + 1] = in[i + 1] * 1.5;
		out[i + 2] = in[i + 2] + 1;
		out[i + 3] = in[i + 3];
		__asm__ volatile("" ::: "memory"); /* or it becomes one call of memcpy */
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	double sum = 0;
	for (long i = 0; i < COUNT; i++)
		from[i] = (double)i;
	for (long r = 0; r < rounds; r++)
		copy(to, from, COUNT);
	for (long i = 0; i < COUNT; i += 1000)
		sum += to[i];
	printf("%g\n", sum);
	return 0;
}
