/*
 * bench-edges [ROUNDS] - what a sample of the clock costs alone, with the registers that
 * interpreting asks for, with 8 bytes of stack, and with what the registers point to: rounds in
 * turn, medians and quartiles of their differences. Ends with 77 where that cannot be measured.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice/sample_cost.h"
#include "base/error.h"
#include "bpf/sample_memory.h"
#include "collect/edge_helper.h"
#include "machine/event.h"

enum { KINDS = 4, ROUNDS_MOST = 101 };

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

static void print_quartiles(const char *what, double *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), compare);
	printf("%-28s %8.0f ns   quartiles %.0f to %.0f\n", what, ns[count / 2], ns[count / 4],
	       ns[count - 1 - count / 4]);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 11;
	static double ns[KINDS][ROUNDS_MOST];
	if (rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: bench-edges [ROUNDS], at most %d\n", ROUNDS_MOST);
		return 2;
	}
	struct sample_memory memory;
	struct error err;
	int kinds = KINDS;
	if (sample_memory_open(&memory, &err) < 0) {
		puts(err.text);
		kinds--;
	}
	for (size_t i = 0; i < rounds; i++) {
		for (int kind = 0; kind < kinds; kind++) {
			struct event event = { .name = (char *)"cpu-clock",
					       .clock = true,
					       .attr = { .type = PERF_TYPE_SOFTWARE,
							 .size = sizeof(event.attr),
							 .config = PERF_COUNT_SW_CPU_CLOCK } };
			if (kind > 0) {
				event.attr.sample_type |= PERF_SAMPLE_REGS_USER;
				event.attr.sample_regs_user = edge_registers();
			}
			if (kind > 1) {
				event.attr.sample_type |= PERF_SAMPLE_STACK_USER;
				event.attr.sample_stack_user = interpret_stack_bytes(edge_isa());
			}
			struct sample_cost cost;
			if (sample_cost_measure(&event, 100000, kind > 2 ? &memory.extra : NULL, &cost,
						&err) < 0) {
				puts(err.text);
				return 77;
			}
			ns[kind][i] = cost.ns;
		}
	}
	for (size_t i = 0; i < rounds; i++)
		for (int kind = 1; kind < kinds; kind++)
			ns[kind][i] -= ns[0][i];
	print_quartiles("a sample", ns[0], rounds);
	print_quartiles("more with registers", ns[1], rounds);
	print_quartiles("more with registers, stack", ns[2], rounds);
	if (kinds > 3)
		print_quartiles("more with what they point to", ns[3], rounds);
	sample_memory_close(&memory);
	return 0;
}
