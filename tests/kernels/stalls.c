/*
 * stalls - programs that wait for one thing, each in a function of its own, and
 * beside each the same without that wait. Prints the fewest ns of CPU time that
 * an element took in any turn.
 *
 *	stalls KERNEL[-control] SECONDS
 *
 *	copy	    the loop of DCPI's Figure 2, unrolled four times, through memory;
 *		    its control stays in the first cache
 *	chase	    each load needs the one before it, all over memory; control: in
 *		    the first cache
 *	divide	    a chain of divisions; control: of shifts
 *	multiply    a chain of products; control: four chains beside each other
 *	mispredict  branches that go by random bits; control: by bits all alike
 *	store	    stores all over memory; control: in the first cache
 *	atomic	    locked additions to one line, which another thread wants too;
 *		    control: plain additions, which nobody else wants
 *	alias	    loads from 4096 bytes behind a store just before them; control:
 *		    from 6144 bytes behind
 *
 * Without a control, since nothing waits in them:
 *
 *	adds	    independent additions
 *	sums	    likewise, sixty-four in a round
 *	place	    a long loop that reads and writes the same places in each round
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY_BYTES ((size_t)128 << 20)
/*
 * Rounds of a call. So many that its end has no sample: one would allow the loop to be left, its
 * branch to be predicted wrong and its first lines to be fetched a hundred times as often.
 */
#define TURNS ((size_t)1000000)

static volatile bool over;
static volatile uint64_t needed; /* what was computed */

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
KERNEL uint64_t control_divide(uint64_t value, size_t count);
KERNEL uint64_t stall_multiply(uint64_t value, size_t count);
KERNEL uint64_t control_multiply(uint64_t value, size_t count);
KERNEL uint64_t stall_mispredict(uint64_t state, size_t count);
KERNEL void stall_store(uint8_t *to, uint64_t place, unsigned shift, size_t count);
KERNEL void stall_atomic(uint64_t *counter, size_t count);
KERNEL void control_atomic(volatile uint64_t *counter, size_t count);
KERNEL uint64_t stall_alias(volatile uint8_t *memory, size_t apart, size_t count);
KERNEL uint64_t clean_adds(uint64_t value, size_t count);
KERNEL uint64_t clean_sums(uint64_t value, size_t count);
KERNEL void clean_nops(size_t rounds);
KERNEL uint64_t clean_place(size_t count);

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

uint64_t control_divide(uint64_t value, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t divisor = (value & 7) + 3;
		__asm__ volatile("" : "+r"(divisor));
		value = (value | (UINT64_C(1) << 62)) >> (divisor & 3);
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

/* As many products, of which none needs the one before it. */
uint64_t control_multiply(uint64_t value, size_t count)
{
	uint64_t factor = value | 3, a = 3, b = 5, c = 7, d = 9;
	for (size_t i = 0; i < count; i += 4) {
		a *= factor;
		b *= factor;
		c *= factor;
		d *= factor;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	return a + b + c + d;
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

void stall_store(uint8_t *to, uint64_t place, unsigned shift, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		place = place * UINT64_C(6364136223846793005) + 1;
		to[place >> shift] = (uint8_t)i;
	}
}

void stall_atomic(uint64_t *counter, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

void control_atomic(volatile uint64_t *counter, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*counter += 1;
}

uint64_t stall_alias(volatile uint8_t *memory, size_t apart, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = (i * 64) & 2047;
		memory[at] = (uint8_t)i;
		sum += memory[at + apart];
	}
	return sum;
}

#define OPAQUE(r) __asm__ volatile("" : "+r"(r))
#define ADD(r)	  (r) += value, ({ OPAQUE(r); })

uint64_t clean_adds(uint64_t value, size_t count)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
	for (size_t i = count / 8; i; i--) {
		ADD(a), ADD(b), ADD(c), ADD(d), ADD(e), ADD(f), ADD(g), ADD(h);
		OPAQUE(i);
	}
	return a + b + c + d + e + f + g + h;
}

#define ADD_EIGHT                                                                                  \
	do {                                                                                       \
		ADD(a), ADD(b), ADD(c), ADD(d), ADD(e), ADD(f), ADD(g), ADD(h);                    \
	} while (0)

uint64_t clean_sums(uint64_t value, size_t count)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
	for (size_t i = count / 64; i; i--) {
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		ADD_EIGHT;
		OPAQUE(i);
	}
	return a + b + c + d + e + f + g + h;
}

static volatile uint64_t read_place = 1, written_place;

/* No operation has a unit to wait for; where a line of code begins with the loop interrupts come
 * through behind few of them. */
__attribute__((aligned(64))) void clean_nops(size_t rounds)
{
	do {
		__asm__ volatile(".rept 60\n\tnop\n\t.endr");
		OPAQUE(rounds);
	} while (--rounds);
}

uint64_t clean_place(size_t count)
{
	uint64_t sum = 0, product = 3;
	for (size_t i = count; i; i--) {
		sum += read_place;
		written_place = i;
		product *= 5;
		OPAQUE(product);
		OPAQUE(i);
	}
	return sum + product;
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

/* Half of the first cache of any processor that is meant here. */
#define NEAR_BYTES ((size_t)16 << 10)

static uint64_t turn_copy(uint64_t *memory, uint64_t round)
{
	size_t half = MEMORY_BYTES / sizeof(*memory) / 2;
	size_t offset = round * TURNS % (half - (size_t)TURNS) & ~(size_t)7;
	return stall_copy(memory + half + offset, memory + offset, TURNS);
}

static uint64_t turn_copy_near(uint64_t *memory, uint64_t round)
{
	size_t words = NEAR_BYTES / 2 / sizeof(*memory);
	(void)round;
	for (size_t i = 0; i < TURNS; i += words)
		stall_copy(memory + words, memory, words);
	return memory[0];
}

static uint64_t turn_chase(uint64_t *memory, uint64_t round)
{
	(void)round;
	return stall_chase((uint64_t *const *)memory, TURNS);
}

static uint64_t turn_divide(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return stall_divide(round, TURNS);
}

static uint64_t turn_divide_control(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return control_divide(round, TURNS);
}

static uint64_t turn_multiply(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return stall_multiply(round, TURNS);
}

static uint64_t turn_multiply_control(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return control_multiply(round, TURNS);
}

static uint64_t turn_mispredict(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return stall_mispredict(round + 88172645463325252u, TURNS);
}

static uint64_t turn_mispredict_control(uint64_t *memory, uint64_t round)
{
	(void)memory;
	(void)round;
	return stall_mispredict(0, TURNS);
}

static uint64_t turn_store(uint64_t *memory, uint64_t round)
{
	stall_store((uint8_t *)memory, round, 37, TURNS);
	return 0;
}

static uint64_t turn_store_control(uint64_t *memory, uint64_t round)
{
	stall_store((uint8_t *)memory, round, 50, TURNS);
	return 0;
}

static uint64_t turn_atomic(uint64_t *memory, uint64_t round)
{
	(void)memory;
	(void)round;
	stall_atomic(counter, TURNS);
	return 0;
}

static uint64_t turn_atomic_control(uint64_t *memory, uint64_t round)
{
	(void)memory;
	(void)round;
	control_atomic(counter, TURNS);
	return 0;
}

static uint64_t turn_alias(uint64_t *memory, uint64_t round)
{
	(void)round;
	return stall_alias((volatile uint8_t *)memory, 4096, TURNS);
}

static uint64_t turn_alias_control(uint64_t *memory, uint64_t round)
{
	(void)round;
	return stall_alias((volatile uint8_t *)memory, 6144, TURNS);
}

static uint64_t turn_adds(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return clean_adds(round, TURNS);
}

static uint64_t turn_sums(uint64_t *memory, uint64_t round)
{
	(void)memory;
	return clean_sums(round, TURNS);
}

static uint64_t turn_nops(uint64_t *memory, uint64_t round)
{
	(void)memory;
	clean_nops(TURNS); /* of 60 */
	return round;
}

static uint64_t turn_place(uint64_t *memory, uint64_t round)
{
	(void)memory;
	(void)round;
	return clean_place(TURNS);
}

static const struct kernel {
	const char *name;
	uint64_t (*turn)(uint64_t *memory, uint64_t round);
	size_t chase_bytes;
	bool shared;
} kernels[] = {
	{ "copy", turn_copy, 0, false },
	{ "copy-control", turn_copy_near, 0, false },
	{ "chase", turn_chase, MEMORY_BYTES, false },
	{ "chase-control", turn_chase, NEAR_BYTES, false },
	{ "divide", turn_divide, 0, false },
	{ "divide-control", turn_divide_control, 0, false },
	{ "multiply", turn_multiply, 0, false },
	{ "multiply-control", turn_multiply_control, 0, false },
	{ "mispredict", turn_mispredict, 0, false },
	{ "mispredict-control", turn_mispredict_control, 0, false },
	{ "store", turn_store, 0, false },
	{ "store-control", turn_store_control, 0, false },
	{ "atomic", turn_atomic, 0, true },
	{ "atomic-control", turn_atomic_control, 0, false },
	{ "alias", turn_alias, 0, false },
	{ "alias-control", turn_alias_control, 0, false },
	{ "adds", turn_adds, 0, false },
	{ "sums", turn_sums, 0, false },
	{ "nops", turn_nops, 0, false },
	{ "place", turn_place, 0, false },
};

static const struct kernel *kernel_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(name, kernels[i].name) == 0)
			return &kernels[i];
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const struct kernel *kernel = kernel_of(argv[1]);
	double seconds = strtod(argv[2], NULL), least = 0;
	uint64_t *memory = aligned_alloc(4096, MEMORY_BYTES);
	uint64_t sum = 0;
	pthread_t other;
	if (!memory)
		return 1;
	memset(memory, 1, MEMORY_BYTES);
	if (kernel->chase_bytes)
		make_chase((uint64_t **)memory, kernel->chase_bytes);
	if (kernel->shared && pthread_create(&other, NULL, disturb, NULL))
		return 1;
	double start = cpu_seconds(), before = start, now = start;
	for (uint64_t round = 0; now - start < seconds; round++, before = now) {
		sum += kernel->turn(memory, round);
		now = cpu_seconds();
		if (round == 0 || now - before < least)
			least = now - before;
	}
	over = true;
	if (kernel->shared)
		pthread_join(other, NULL);
	printf("%.4f\n", least * 1e9 / TURNS);
	free(memory);
	needed = sum;
	return 0;
}
