/*
 * call_chain - known stacks, for the options that show callers. Built without
 * optimisation and with frame pointers.
 *
 *	call_chain SECONDS
 *
 *	main > run > chain_outer > chain_middle > chain_leaf           3 parts of the work
 *	             chain_other > chain_leaf                          1 part
 *	             chain_deep > chain_deep > ... 5 deep > chain_leaf 1 part
 *	             chain_kernel > (the kernel)                       system calls, as long as 1
 *part
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define TURNS 20000
#define DEPTH 5

static char bytes[65536];
static int zeros;
static volatile uint64_t sink;

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Inline: a wrapper of libc without a frame would hide its caller. */
static inline __attribute__((always_inline)) long read_zeros(void)
{
#if defined(__x86_64__)
	long result = SYS_read;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long)zeros), "S"(bytes), "d"(sizeof(bytes))
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_read;
	register long result __asm__("x0") = zeros;
	register char *into __asm__("x1") = bytes;
	register size_t size __asm__("x2") = sizeof(bytes);
	__asm__ volatile("svc 0" : "+r"(result) : "r"(number), "r"(into), "r"(size) : "memory");
	return result;
#else
#error "no system call for this machine"
#endif
}

static void chain_leaf(void)
{
	for (uint64_t i = 0; i < TURNS; i++)
		sink = sink * 3 + i;
}

static void chain_middle(void)
{
	for (int i = 0; i < 3; i++)
		chain_leaf();
}

static void chain_outer(void)
{
	chain_middle();
}

static void chain_other(void)
{
	chain_leaf();
}

static void chain_deep(int depth)
{
	if (depth > 1)
		chain_deep(depth - 1);
	else
		chain_leaf();
}

static void chain_kernel(void)
{
	for (int i = 0; i < 10; i++)
		read_zeros();
}

static void run(double seconds)
{
	double end = cpu_seconds() + seconds;
	do {
		chain_outer();
		chain_other();
		chain_deep(DEPTH);
		chain_kernel();
	} while (cpu_seconds() < end);
}

int main(int argc, char **argv)
{
	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (argc != 2 || zeros < 0) {
		fprintf(stderr, "usage: call_chain SECONDS\n");
		return 2;
	}
	run(strtod(argv[1], NULL));
	return 0;
}
