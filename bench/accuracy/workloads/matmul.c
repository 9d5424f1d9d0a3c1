/* Multiplies matrices the textbook way: one column's loads miss, additions depend. */
#include <stdio.h>
#include <stdlib.h>

#define SIZE 256

static double a[SIZE][SIZE], b[SIZE][SIZE], product[SIZE][SIZE];

__attribute__((noinline)) static void multiply(void)
{
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++) {
			double sum = 0;
			for (int k = 0; k < SIZE; k++)
				sum += a[i][k] * b[k][j];
			product[i][j] = sum;
		}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++) {
			a[i][j] = i + j;
			b[i][j] = i - j;
		}
	for (long r = 0; r < rounds; r++)
		multiply();
	printf("%g\n", product[3][4]);
	return 0;
}
