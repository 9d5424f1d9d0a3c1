/*
 * self_steps - single-steps itself, as some virtual machines and protections do, and says whether a
 * trap was missing:
 *
 *	self_steps SECONDS    of CPU time. Prints the traps that came and those that were due.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)

static volatile uint64_t came;

static void on_trap(int number)
{
	(void)number;
	came++;
}

/* Between the two pops of the flags 16 nops; then a push, an and, and the pop itself. */
#define TRAPS_A_TURN 19

static void turn(void)
{
	__asm__ volatile("sub $128, %%rsp\n\t" /* the red zone */
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 ".rept 16\n\tnop\n\t.endr\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "add $128, %%rsp" ::
				 : "cc", "memory");
}

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_trap };
	uint64_t due = 0;
	if (argc != 2 || sigaction(SIGTRAP, &action, NULL))
		return 2;
	double end = cpu_seconds() + strtod(argv[1], NULL);
	while (cpu_seconds() < end) {
		for (int i = 0; i < 20; i++)
			turn();
		due += 20 * TRAPS_A_TURN;
	}
	printf("%lu of %lu\n", (unsigned long)came, (unsigned long)due);
	return came != due;
}

#else

int main(void)
{
	puts("no flag to step oneself with");
	return 77;
}

#endif
