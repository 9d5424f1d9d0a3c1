/* The kernel's code, as perf itself describes it. */
#include <stdio.h>
#include <string.h>
#include <linux/perf_event.h>

#include "count/sampler_file.h"
#include "count/sampler_lines.h"
#include "count/sampler_maps.h"

static void write_mapping(struct sampler_file *file, uint64_t start, uint64_t size, uint64_t offset,
			  const char *name, uint64_t time_ns)
{
	sampler_file_open_record(file, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	sampler_file_u32(file, UINT32_MAX);
	sampler_file_u32(file, 0);
	sampler_file_u64(file, start);
	sampler_file_u64(file, size);
	sampler_file_u64(file, offset);
	sampler_file_text(file, name, strlen(name));
	sampler_file_trailer(file, 0, time_ns);
	sampler_file_close_record(file);
}

/* "ffffffff81000000 T _text", of whatever type. */
static bool is_symbol(const char *text, const char *name)
{
	return text[0] && text[1] == ' ' && strcmp(text + 2, name) == 0;
}

/* From _text, whose address is the offset and whose name stands behind the file's, to _etext. */
static void write_core(struct sampler_file *file, struct sampler_lines *lines, uint64_t time_ns)
{
	uint64_t text = 0, end = 0;
	sampler_lines_open(lines, "/proc/kallsyms");
	for (char *line; !end && (line = sampler_lines_next(lines));) {
		char *at = line;
		uint64_t address = sampler_lines_number(&at, 16, ' ');
		if (is_symbol(at, "_text"))
			text = address;
		else if (is_symbol(at, "_etext"))
			end = address;
	}
	sampler_lines_close(lines);
	if (text && end > text) /* else hidden: all are 0 */
		write_mapping(file, text, end - text, text, "[kernel.kallsyms]_text", time_ns);
}

/* "nf_tables 356352 2 nft_ct,nft_nat, Live 0xffffffffc0a00000" (proc(5)). */
static void write_module(struct sampler_file *file, char *line, uint64_t time_ns)
{
	char name[128];
	char *end = strchr(line, ' '), *address = strstr(line, " 0x");
	if (!end || !address)
		return;
	*end = '\0';
	char *at = end + 1;
	uint64_t size = sampler_lines_number(&at, 10, ' ');
	at = address + 1;
	uint64_t start = sampler_lines_number(&at, 16, ' ');
	snprintf(name, sizeof(name), "[%s]", line);
	if (start && size)
		write_mapping(file, start, size, 0, name, time_ns);
}

void sampler_maps_write_kernel(struct sampler_file *file, uint64_t time_ns)
{
	struct sampler_lines lines;
	write_core(file, &lines, time_ns);
	sampler_lines_open(&lines, "/proc/modules");
	for (char *line; (line = sampler_lines_next(&lines));)
		write_module(file, line, time_ns);
	sampler_lines_close(&lines);
}
