#include "render/limit_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/counted/limiting_factor.h"

__attribute__((format(printf, 2, 3))) static void add(char text[LIMIT_TEXT_SIZE],
						      const char *format, ...)
{
	size_t size = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + size, LIMIT_TEXT_SIZE - size, format, args);
	va_end(args);
}

/* "0.99 CPUs used", "3.70 of 8 CPUs used" */
static void add_cpus(const struct limiting_factor *factor, char text[LIMIT_TEXT_SIZE])
{
	if (isfinite(factor->cpus) && factor->cpus > 1)
		add(text, "%.2f of %.0f CPUs used", factor->cpus_used, factor->cpus);
	else
		add(text, "%.2f CPUs used", factor->cpus_used);
}

static void add_ipc(const struct limiting_factor *factor, char text[LIMIT_TEXT_SIZE])
{
	if (isfinite(factor->instructions_per_cycle))
		add(text, ", %.2f instructions per cycle", factor->instructions_per_cycle);
}

static const char *const slots_words[TOPDOWN_LEVEL_1] = {
	[TOPDOWN_RETIRING] = "useful work (retiring)",
	[TOPDOWN_BAD_SPECULATION] = "work thrown away (bad speculation)",
	[TOPDOWN_FRONTEND_BOUND] = "fetching and decoding instructions (frontend bound)",
	[TOPDOWN_BACKEND_BOUND] = "waiting for data and execution units (backend bound)",
};

static void add_reason(const struct limiting_factor *factor, char text[LIMIT_TEXT_SIZE])
{
	/* three digits, and all that are before the point */
	int digits = factor->switches_per_s >= 1000 ? (int)log10(factor->switches_per_s) + 1 : 3;
	switch (factor->limit) {
	case LIMIT_WAITING:
	case LIMIT_CROWDED:
	case LIMIT_OFF_CPU:
	case LIMIT_NOTHING_CLEARLY:
		if (factor->switches_per_s > 0)
			add(text,
			    factor->pushed_off ? ", its CPU was taken from it %.*g times a second"
					       : ", it gave up its CPU %.*g times a second",
			    digits, factor->switches_per_s);
		break;
	case LIMIT_PAGE_FAULTS:
		add(text,
		    ", %.0f %% of the CPU time is the kernel's, and %.3g page faults a "
		    "second take at least %.0f %% of that",
		    100 * factor->system_share, factor->page_faults_per_s,
		    fmin(100, 100 * factor->page_fault_share));
		break;
	case LIMIT_KERNEL:
		add(text, ", %.0f %% of the CPU time is the kernel's", 100 * factor->system_share);
		break;
	case LIMIT_MISPREDICTION:
		add(text, ", at least %.0f %% of the cycles are lost to them",
		    100 * factor->misprediction_share);
		break;
	case LIMIT_SLOTS:
		add(text, ", %.0f %% of the pipeline's slots", 100 * factor->slots_share);
		break;
	default:
		break;
	}
}

static const char *const heads[] = {
	[LIMIT_WAITING] = "waiting, for I/O, locks, timers or other processes: ",
	[LIMIT_CROWDED] = "other programs had the CPUs: ",
	[LIMIT_OFF_CPU] = "off the CPU, waiting or because others had it: ",
	[LIMIT_PAGE_FAULTS] = "page faults: ",
	[LIMIT_KERNEL] = "the kernel's work: ",
	[LIMIT_MISPREDICTION] = "mispredicted branches: ",
	[LIMIT_CPU] = "CPU-bound: ",
	[LIMIT_SOME_CPUS] = "CPU-bound, on some of the CPUs: ",
	[LIMIT_ALL_CPUS] = "CPU-bound, on all CPUs: ",
	[LIMIT_NOTHING_CLEARLY] = "nothing limits it clearly: ",
};

void limit_text(const struct limiting_factor *factor, char text[LIMIT_TEXT_SIZE])
{
	text[0] = 0;
	if (factor->limit == LIMIT_NOT_KNOWN) {
		add(text, "what limits it is not known: no CPU time was measured");
		return;
	}
	if (factor->limit == LIMIT_TOO_SHORT) {
		add(text, "too short to say what limits it: starting a program takes as long");
		return;
	}
	if (factor->limit == LIMIT_SLOTS)
		add(text, "CPU-bound, %s: ", slots_words[factor->slots_use]);
	else
		add(text, "%s", heads[factor->limit]);
	add_cpus(factor, text);
	add_ipc(factor, text);
	add_reason(factor, text);
}
