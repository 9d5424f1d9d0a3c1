#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "machine/cpu_parts.h"
#include "machine/machine_root.h"

#define CPUS "sys/devices/system/cpu"

static uint64_t read_khz(const struct machine_root *root, size_t cpu, const char *name)
{
	uint64_t khz;
	if (root_read_u64(root, root_path(CPUS "/cpu%zu/cpufreq/%s", cpu, name).text, &khz) ||
	    khz == 0 || khz > UINT64_MAX / 1000)
		return CPU_UNKNOWN_U64;
	return khz * 1000;
}

/* Adds `word` to a list in `text`, once. */
static void add_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text), wanted = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += wanted)
		if ((at == text || at[-1] == ' ') && (at[wanted] == 0 || at[wanted] == ','))
			return;
	if (wanted && length + wanted + 3 < size)
		snprintf(text + length, size - length, "%s%s", length ? ", " : "", word);
}

/* "... CPU @ 2.40GHz": what Intel sold it as. */
static uint64_t named_hz(const char *model_name)
{
	const char *at = strstr(model_name, "@ ");
	char *end;
	if (!at)
		return CPU_UNKNOWN_U64;
	double value = strtod_l(at + 2, &end, c_locale());
	double unit = strncmp(end, "GHz", 3) == 0 ? 1e9 : strncmp(end, "MHz", 3) == 0 ? 1e6 : 0;
	return value > 0 && value < 1e6 && unit > 0 ? (uint64_t)(value * unit + 0.5)
						    : CPU_UNKNOWN_U64;
}

static void read_type(const struct machine_root *root, struct cpu_type *type)
{
	/* The cores of one type may still differ (favoured cores): the range covers all. */
	for (size_t cpu = cpu_set_next(&type->cpus, 0); cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(&type->cpus, cpu + 1)) {
		uint64_t least = read_khz(root, cpu, "cpuinfo_min_freq");
		uint64_t most = read_khz(root, cpu, "cpuinfo_max_freq");
		if (least < type->min_hz)
			type->min_hz = least;
		if (most != CPU_UNKNOWN_U64 &&
		    (type->max_hz == CPU_UNKNOWN_U64 || most > type->max_hz))
			type->max_hz = most;
		if (type->base_hz == CPU_UNKNOWN_U64)
			type->base_hz = read_khz(root, cpu, "base_frequency");
	}
	if (type->base_hz == CPU_UNKNOWN_U64)
		type->base_hz = named_hz(type->model_name);
}

static enum fact read_boost(const struct machine_root *root)
{
	uint64_t value;
	if (root_read_u64(root, CPUS "/intel_pstate/no_turbo", &value) == 0)
		return value ? FACT_NO : FACT_YES;
	if (root_read_u64(root, CPUS "/cpufreq/boost", &value) == 0 ||
	    root_read_u64(root, CPUS "/cpufreq/policy0/boost", &value) == 0)
		return value ? FACT_YES : FACT_NO;
	return FACT_UNKNOWN;
}

void cpu_info_read_frequency(const struct machine_root *root, struct cpu_info *info)
{
	for (size_t i = 0; i < info->type_count; i++)
		read_type(root, &info->types[i]);
	for (size_t cpu = cpu_set_next(&info->online, 0); cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(&info->online, cpu + 1)) {
		char word[64];
		if (root_read_line(root,
				   root_path(CPUS "/cpu%zu/cpufreq/scaling_governor", cpu).text,
				   word, sizeof(word)) == 0)
			add_word(info->governor, sizeof(info->governor), word);
		if (root_read_line(root, root_path(CPUS "/cpu%zu/cpufreq/scaling_driver", cpu).text,
				   word, sizeof(word)) == 0)
			add_word(info->frequency_driver, sizeof(info->frequency_driver), word);
	}
	info->boost = read_boost(root);
}
