/* What perf.data files say of the machine: FEATURE records, whose contents are those of the
 * sections of the same number in a file that is no pipe. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "base/span.h"
#include "count/sampler_file.h"
#include "machine/cpu.h"
#include "machine/machine_root.h"

#define HEADER_FEATURE	 80
#define COMMAND_MOST	 4096 /* bytes of words with their sizes; the rest is left out */
#define COMMAND_READ	 (4u << 20)
#define CLOCK_DATA_SHAPE 1

enum feature {
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_CMDLINE = 11,
	FEATURE_CLOCK_DATA = 29,
};

static void open_feature(struct sampler_file *file, enum feature feature)
{
	sampler_file_open_record(file, HEADER_FEATURE, 0);
	sampler_file_u64(file, feature);
}

/* With a NUL at least, as sampler_file_text() pads. */
static size_t text_bytes(size_t size)
{
	return size + 8 - size % 8;
}

static void put_text(struct sampler_file *file, const char *text, size_t size)
{
	sampler_file_u32(file, (uint32_t)text_bytes(size));
	sampler_file_text(file, text, size);
}

static void write_text(struct sampler_file *file, enum feature feature, const char *text)
{
	if (!text[0])
		return;
	open_feature(file, feature);
	put_text(file, text, strlen(text));
	sampler_file_close_record(file);
}

static void write_cpus(struct sampler_file *file)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
	if (configured <= 0 || online <= 0)
		return;
	open_feature(file, FEATURE_NRCPUS);
	sampler_file_u32(file, (uint32_t)configured);
	sampler_file_u32(file, (uint32_t)online);
	sampler_file_close_record(file);
}

/* The next of the words, each ended by a NUL, of a command line; false after the last whole one. */
static bool next_word(const struct buffer *line, size_t *at, struct span *word)
{
	const char *start = (const char *)line->data + *at;
	size_t left = line->size - *at;
	const char *end = left ? memchr(start, '\0', left) : NULL;
	if (!end)
		return false;
	*word = (struct span){ start, (size_t)(end - start) };
	*at += word->size + 1;
	return true;
}

/* As many words as there is room for. */
static void write_command(struct sampler_file *file)
{
	CLEANUP(buffer_release) struct buffer line = { 0 };
	struct span word;
	uint32_t words = 0;
	size_t at = 0, bytes = 0;
	small_file_read("/proc/self/cmdline", COMMAND_READ, &line);
	while (next_word(&line, &at, &word) && word.size <= COMMAND_MOST - bytes) {
		bytes += 4 + text_bytes(word.size);
		if (bytes > COMMAND_MOST)
			break;
		words++;
	}
	if (!words)
		return;
	open_feature(file, FEATURE_CMDLINE);
	sampler_file_u32(file, words);
	at = 0;
	for (uint32_t i = 0; i < words && next_word(&line, &at, &word); i++)
		put_text(file, word.data, word.size);
	sampler_file_close_record(file);
}

/* As perf spells the processor on each architecture: "GenuineIntel,6,85,4", "0x00000000410fd0c0".
 */
static void write_processor(struct sampler_file *file)
{
	char id[CPU_TEXT_SIZE + 64] = "";
	CLEANUP(machine_root_close) struct machine_root root = { .fd = -1 };
	CLEANUP(free_pointer) struct cpu_info *info = calloc(1, sizeof(*info));
	if (!info || machine_root_open("/", &root, NULL))
		return;
	cpu_info_read(&root, info);
	const struct cpu_type *type = &info->types[0];
	if (type->midr != CPU_UNKNOWN_U64)
		snprintf(id, sizeof(id), "0x%016llx", (unsigned long long)type->midr);
	else if (type->family != CPU_UNKNOWN_U64 && type->model != CPU_UNKNOWN_U64 &&
		 type->stepping != CPU_UNKNOWN_U64)
		snprintf(id, sizeof(id), "%s,%llu,%llu,%llu", info->vendor_name,
			 (unsigned long long)type->family, (unsigned long long)type->model,
			 (unsigned long long)type->stepping);
	write_text(file, FEATURE_CPUDESC, type->model_name);
	write_text(file, FEATURE_CPUID, id);
}

static void write_clock(struct sampler_file *file)
{
	open_feature(file, FEATURE_CLOCK_DATA);
	sampler_file_u32(file, CLOCK_DATA_SHAPE);
	sampler_file_u32(file, CLOCK_MONOTONIC);
	sampler_file_u64(file, clock_realtime_ns());
	sampler_file_u64(file, clock_monotonic_ns());
	sampler_file_close_record(file);
}

void sampler_file_machine(struct sampler_file *file)
{
	struct utsname system;
	if (uname(&system) == 0) {
		write_text(file, FEATURE_HOSTNAME, system.nodename);
		write_text(file, FEATURE_OSRELEASE, system.release);
		write_text(file, FEATURE_ARCH, system.machine);
	}
	write_text(file, FEATURE_VERSION, "culprit " CULPRIT_VERSION);
	write_cpus(file);
	write_processor(file);
	write_command(file);
	write_clock(file);
}
