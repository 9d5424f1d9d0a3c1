/*
 * topdown_region - what the pipeline does in one loop and in another: TopDown for pieces of a
 * program.
 *
 *	topdown_region [ROUNDS]
 *
 * The same number of additions three times: of numbers that follow each other, of numbers that each
 * say where the next one is (the CPU waits for memory), and of those of two kinds, told apart by a
 * branch that nobody can foresee. "retiring" is the share of the pipeline's slots that did useful
 * work; of the others, TopDown says what they were lost to. Expect most slots of the second loop to
 * be backend bound, and many of the third bad speculation.
 *
 * TopDown needs a PMU, and a CPU for which there is a method: Intel, AMD Zen 4 and 5, Arm Neoverse.
 * Elsewhere, as in most virtual machines, this says why there is none, and prints times.
 */
#include <err.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <culprit/counter.h>
#include <culprit/culprit.h>
#include <culprit/topdown.h>

#define NUMBERS (1 << 20)

static uint32_t numbers[NUMBERS], next[NUMBERS];
static size_t rounds = 20;

static uint64_t in_order(void)
{
	uint64_t sum = 0;
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < NUMBERS; i++) {
			sum += numbers[i];
			CULPRIT_KEEP(sum);
		}
	return sum;
}

static uint64_t chased(void)
{
	uint64_t sum = 0;
	uint32_t at = 0;
	for (size_t i = 0; i < rounds * NUMBERS; i++) {
		sum += numbers[at];
		at = next[at];
	}
	return sum;
}

static uint64_t chosen(void)
{
	uint64_t sum = 0;
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < NUMBERS; i++) {
			if (numbers[i] & 1) {
				sum += numbers[i];
				CULPRIT_KEEP(
					sum); /* or both ways are computed, and no branch is left */
			} else {
				sum ^= i;
			}
		}
	return sum;
}

static void print_shares(struct culprit_topdown *topdown)
{
	for (size_t i = 0; i < culprit_topdown_results(topdown); i++) {
		struct culprit_topdown_result result;
		if (culprit_topdown_result(topdown, i, &result))
			continue;
		for (unsigned c = CULPRIT_RETIRING; c <= CULPRIT_BACKEND_BOUND; c++) {
			const struct culprit_topdown_figure *share = &result.figures[c];
			if (isnan(share->value))
				printf("  %s -", culprit_topdown_name(c));
			else
				printf("  %s %.1f %%%s", culprit_topdown_name(c),
				       100 * share->value, share->in_doubt ? " (in doubt)" : "");
		}
		printf("  [%s]\n", result.method);
	}
}

static void measure(const char *name, uint64_t (*loop)(void), struct culprit_counters *clock,
		    struct culprit_topdown *topdown)
{
	culprit_counters_start(clock);
	if (topdown)
		culprit_topdown_start(topdown);
	uint64_t sum = loop();
	CULPRIT_KEEP(sum);
	if (topdown)
		culprit_topdown_stop(topdown);
	culprit_counters_stop(clock);
	struct culprit_value time;
	culprit_counters_values(clock, &time, 1);
	printf("%-9s %6.2f ns a number\n", name, time.value / ((double)rounds * NUMBERS));
	if (topdown)
		print_shares(topdown);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	uint64_t state = 88172645463325252; /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
	for (uint32_t i = 0; i < NUMBERS; i++)
		next[i] = i;
	for (uint32_t i = NUMBERS - 1; i > 0; i--) { /* one cycle through all: Sattolo, 1986 */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		uint32_t other = state % i, moved = next[i];
		next[i] = next[other];
		next[other] = moved;
		numbers[i] = (uint32_t)(state >> 32);
	}

	struct culprit_error error;
	struct culprit_counters *clock;
	struct culprit_topdown *topdown = NULL;
	if (culprit_counters_open("task-clock", NULL, &clock, &error))
		errx(1, "%s", error.text);
	if (culprit_topdown_open(1, NULL, &topdown, &error))
		printf("times alone, no TopDown: %s\n", error.text);
	measure("in order", in_order, clock, topdown);
	measure("chased", chased, clock, topdown);
	measure("chosen", chosen, clock, topdown);
	culprit_topdown_close(topdown);
	culprit_counters_close(clock);
	return 0;
}
