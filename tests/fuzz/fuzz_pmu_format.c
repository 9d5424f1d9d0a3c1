/* Fields of a PMU's config words, and CPU lists, as sysfs writes them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cpu_set.h"
#include "machine/pmu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_format(const char *text)
{
	struct pmu_format format;
	if (!pmu_format_parse(text, &format))
		return;
	uint64_t words[PMU_WORDS] = { 0 };
	int width = __builtin_popcountll(format.mask);
	uint64_t largest = UINT64_MAX >> (64 - width);
	if (format.word >= PMU_WORDS || width == 0)
		abort();
	if (!pmu_format_apply(&format, largest, words) || words[format.word] != format.mask)
		abort();
	if (!pmu_format_apply(&format, 0, words) || words[format.word] != 0)
		abort();
	if (width < 64 && pmu_format_apply(&format, largest + 1, words))
		abort();
}

static void check_cpus(const char *text)
{
	static struct cpu_set set, back;
	static char written[CPU_SET_LIMIT * 5 + 1];
	if (cpu_set_parse(text, &set, NULL))
		return;
	if (cpu_set_format(&set, written, sizeof(written)) >= sizeof(written))
		abort();
	if (cpu_set_parse(written, &back, NULL) || !cpu_set_equal(&set, &back))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	check_format(text);
	check_cpus(text);
	free(text);
	return 0;
}
