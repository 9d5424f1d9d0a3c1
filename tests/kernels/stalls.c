/*
 * stalls - programs that wait for one thing, each in a function of its own.
 *
 *	stalls KERNEL SECONDS
 *
 *	copy        stall_copy: the loop of DCPI's Figure 2, unrolled four times, through memory
 *	chase       stall_chase: each load needs the one before it, all over memory
 *	divide      stall_divide: a chain of divisions
 *	multiply    stall_multiply: a chain of products
 *	mispredict  stall_mispredict: branches that go by random bits
 *	store       stall_store: stores all over memory
 *	atomic      stall_atomic: locked additions to one line, which another thread wants too
 *	alias       stall_alias: loads whose address is 4096 bytes from a store just before them
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY_BYTES ((size_t)128 << 20)
#define TURNS	     100000

static volatile bool over;

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define KERNEL __attribute__((noinline, noclone))

KERNEL uint64_t stall_copy(uint64_t *to, const uint64_t *from, size_t count);
KERNEL uint64_t stall_chase(uint64_t *const *at, size_t count);
KERNEL uint64_t stall_divide(uint64_t value, size_t count);
KERNEL uint64_t stall_multiply(uint64_t value, size_t count);
KERNEL uint64_t stall_mispredict(uint64_t state, size_t count);
KERNEL void stall_store(uint8_t *to, uint64_t place, size_t count);
KERNEL void stall_atomic(uint64_t *counter, size_t count);
KERNEL uint64_t stall_alias(volatile uint8_t *memory, size_t count);

/* Four at once, as the Alpha's compiler did; gcc must not make vectors or a call of it. */
__attribute__((optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns"))) uint64_t
stall_copy(uint64_t *to, const uint64_t *from, size_t count)
{
	for (size_t i = 0; i < count; i += 4) {
		uint64_t a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
		to[i] = a;
		to[i + 1] = b;
		to[i + 2] = c;
		to[i + 3] = d;
	}
	return to[0];
}

uint64_t stall_chase(uint64_t *const *at, size_t count)
{
	for (size_t i = 0; i < count; i++)
		at = (uint64_t *const *)*at;
	return (uint64_t)(uintptr_t)at;
}

uint64_t stall_divide(uint64_t value, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t divisor = (value & 7) + 3;
		__asm__ volatile("" : "+r"(divisor));
		value = (value | (UINT64_C(1) << 62)) / divisor;
	}
	return value;
}

uint64_t stall_multiply(uint64_t value, size_t count)
{
	uint64_t factor = value | 3;
	for (size_t i = 0; i < count; i++) {
		value *= factor;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

/* Bits from a register, so that no load is near. */
uint64_t stall_mispredict(uint64_t state, size_t count)
{
	uint64_t ones = 0, others = 1;
	for (size_t i = 0; i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state & 1024) {
			ones += 3;
			__asm__ volatile("" : "+r"(ones));
		} else {
			others ^= ones;
			__asm__ volatile("" : "+r"(others));
		}
	}
	return ones + others + state;
}

void stall_store(uint8_t *to, uint64_t place, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		place = place * UINT64_C(6364136223846793005) + 1;
		to[place >> 37] = (uint8_t)i;
	}
}

void stall_atomic(uint64_t *counter, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

uint64_t stall_alias(volatile uint8_t *memory, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = (i * 64) & 2047;
		memory[at] = (uint8_t)i;
		sum += memory[at + 4096];
	}
	return sum;
}

/* A cycle through one pointer of each line, in random order (Sattolo). */
static void make_chase(uint64_t **memory, size_t bytes)
{
	size_t lines = bytes / 64, step = 64 / sizeof(*memory);
	uint64_t random = 88172645463325252u;
	uint32_t *order = malloc(lines * sizeof(*order));
	if (!order)
		exit(1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines; i-- > 1;) {
		size_t other = random_next(&random) % i;
		uint32_t kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < lines; i++)
		memory[order[i] * step] = (uint64_t *)&memory[order[(i + 1) % lines] * step];
	free(order);
}

static uint64_t counter[8] __attribute__((aligned(64)));

static void *disturb(void *unused)
{
	(void)unused;
	while (!over)
		__atomic_fetch_add(&counter[1], 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static uint64_t turn(const char *kernel, uint64_t *memory, uint64_t round)
{
	size_t half = MEMORY_BYTES / sizeof(*memory) / 2;
	size_t offset = round * TURNS * 4 % (half - (size_t)TURNS * 4) & ~(size_t)7;
	if (strcmp(kernel, "copy") == 0)
		return stall_copy(memory + half + offset, memory + offset, (size_t)TURNS * 4);
	if (strcmp(kernel, "chase") == 0)
		return stall_chase((uint64_t *const *)memory, TURNS);
	if (strcmp(kernel, "divide") == 0)
		return stall_divide(round, TURNS);
	if (strcmp(kernel, "multiply") == 0)
		return stall_multiply(round, TURNS);
	if (strcmp(kernel, "mispredict") == 0)
		return stall_mispredict(round + 88172645463325252u, TURNS);
	if (strcmp(kernel, "store") == 0)
		stall_store((uint8_t *)memory, round, TURNS);
	else if (strcmp(kernel, "atomic") == 0)
		stall_atomic(counter, TURNS);
	else if (strcmp(kernel, "alias") == 0)
		return stall_alias((volatile uint8_t *)memory, TURNS);
	else
		exit(2);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const char *kernel = argv[1];
	double seconds = strtod(argv[2], NULL);
	uint64_t *memory = aligned_alloc(4096, MEMORY_BYTES);
	uint64_t sum = 0;
	pthread_t other;
	if (!memory)
		return 1;
	memset(memory, 1, MEMORY_BYTES);
	if (strcmp(kernel, "chase") == 0)
		make_chase((uint64_t **)memory, MEMORY_BYTES);
	bool shared = strcmp(kernel, "atomic") == 0;
	if (shared && pthread_create(&other, NULL, disturb, NULL))
		return 1;
	double start = cpu_seconds();
	for (uint64_t round = 0; cpu_seconds() - start < seconds; round++)
		sum += turn(kernel, memory, round);
	over = true;
	if (shared)
		pthread_join(other, NULL);
	printf("%d\n", (int)(sum & 1));
	free(memory);
	return 0;
}
