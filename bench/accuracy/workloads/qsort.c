/* Sorts random numbers: quicksort above 16 of them, insertion below; branches go either way. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 400000

static int numbers[COUNT];
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

__attribute__((noinline)) static void insertion_sort(int *x, long n)
{
	for (long i = 1; i < n; i++) {
		int value = x[i];
		long j = i;
		for (; j > 0 && x[j - 1] > value; j--)
			x[j] = x[j - 1];
		x[j] = value;
	}
}

__attribute__((noinline)) static void quick_sort(int *x, long n)
{
	while (n > 16) {
		int pivot = x[n / 2];
		long i = 0, j = n - 1;
		for (;; i++, j--) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i >= j)
				break;
			int kept = x[i];
			x[i] = x[j];
			x[j] = kept;
		}
		if (i < n - i) {
			quick_sort(x, i);
			x += i;
			n -= i;
		} else {
			quick_sort(x + i, n - i);
			n = i;
		}
	}
	insertion_sort(x, n);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	unsigned sum = 0;
	for (long r = 0; r < rounds; r++) {
		for (long i = 0; i < COUNT; i++)
			numbers[i] = (int)(random_bits() & 0x7fffffff);
		quick_sort(numbers, COUNT);
		sum = sum * 31 + (unsigned)numbers[COUNT / 3];
	}
	printf("%u\n", sum);
	return 0;
}
