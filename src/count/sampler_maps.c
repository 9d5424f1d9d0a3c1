#include "count/sampler_maps.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "count/sampler_build_id.h"
#include "count/sampler_file.h"
#include "count/sampler_lines.h"

/* Of a record that perf itself writes (tools/lib/perf of Linux). */
#define HEADER_BUILD_ID	  67
#define BUILD_ID_HAS_SIZE (1u << 15) /* of header.misc */
#define BUILD_ID_FIELD	  24	     /* the id, its size, padding */

#define THREAD_NAME 16

struct line_mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor, protection, flags;
	const char *path;
};

/* "7f..-7f.. r-xp 00001000 08:01 1234    /lib/libc.so.6" (proc(5)). */
static bool read_mapping(char *line, struct line_mapping *mapping)
{
	char *at = line;
	mapping->start = sampler_lines_number(&at, 16, '-');
	mapping->end = sampler_lines_number(&at, 16, ' ');
	if (strlen(at) < 5 || mapping->end <= mapping->start)
		return false;
	mapping->protection = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
			      (at[2] == 'x' ? PROT_EXEC : 0);
	mapping->flags = at[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	at += 5;
	mapping->offset = sampler_lines_number(&at, 16, ' ');
	mapping->major = (uint32_t)sampler_lines_number(&at, 16, ':');
	mapping->minor = (uint32_t)sampler_lines_number(&at, 16, ' ');
	mapping->inode = sampler_lines_number(&at, 10, ' ');
	mapping->path = at + strspn(at, " ");
	if (!mapping->path[0])
		mapping->path = "//anon"; /* as the kernel's own records call it */
	return true;
}

static void write_build_id(struct sampler_file *file, const struct line_mapping *mapping)
{
	uint8_t field[BUILD_ID_FIELD] = { 0 };
	if (mapping->path[0] != '/' && strcmp(mapping->path, "[vdso]") != 0)
		return;
	size_t size = sampler_build_id(mapping->start, field);
	if (!size)
		return;
	field[SAMPLER_BUILD_ID_BYTES] = (uint8_t)size;
	sampler_file_open_record(file, HEADER_BUILD_ID, PERF_RECORD_MISC_USER | BUILD_ID_HAS_SIZE);
	sampler_file_u32(file, (uint32_t)file->pid);
	sampler_file_put(file, field, sizeof(field));
	sampler_file_text(file, mapping->path, strlen(mapping->path));
	sampler_file_close_record(file);
}

static void write_mapping(struct sampler_file *file, const struct line_mapping *mapping,
			  uint64_t time_ns)
{
	sampler_file_open_record(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	sampler_file_u32(file, (uint32_t)file->pid);
	sampler_file_u32(file, (uint32_t)file->pid);
	sampler_file_u64(file, mapping->start);
	sampler_file_u64(file, mapping->end - mapping->start);
	sampler_file_u64(file, mapping->offset);
	sampler_file_u32(file, mapping->major);
	sampler_file_u32(file, mapping->minor);
	sampler_file_u64(file, mapping->inode);
	sampler_file_u64(file, 0); /* generation of the inode: no process is told */
	sampler_file_u32(file, mapping->protection);
	sampler_file_u32(file, mapping->flags);
	sampler_file_text(file, mapping->path, strlen(mapping->path));
	sampler_file_trailer(file, file->pid, time_ns);
	sampler_file_close_record(file);
}

static void write_name(struct sampler_file *file, pid_t tid, const char *name, uint64_t time_ns)
{
	sampler_file_open_record(file, PERF_RECORD_COMM, 0);
	sampler_file_u32(file, (uint32_t)file->pid);
	sampler_file_u32(file, (uint32_t)tid);
	sampler_file_text(file, name, strlen(name));
	sampler_file_trailer(file, tid, time_ns);
	sampler_file_close_record(file);
}

static void write_names(struct sampler_file *file, struct sampler_lines *lines, uint64_t time_ns)
{
	char name[THREAD_NAME] = "";
	sampler_lines_open(lines, "/proc/self/comm");
	const char *line = sampler_lines_next(lines);
	if (line)
		write_name(file, file->pid, line, time_ns);
	sampler_lines_close(lines);
	pid_t tid = gettid();
	if (tid != file->pid && prctl(PR_GET_NAME, name) == 0)
		write_name(file, tid, name, time_ns);
}

void sampler_maps_write(struct sampler_file *file, uint64_t time_ns)
{
	struct line_mapping mapping;
	struct sampler_lines lines;
	write_names(file, &lines, time_ns);
	sampler_lines_open(&lines, "/proc/self/maps");
	for (char *line; (line = sampler_lines_next(&lines));)
		if (read_mapping(line, &mapping) && mapping.protection & PROT_EXEC) {
			write_mapping(file, &mapping, time_ns);
			write_build_id(file, &mapping);
		}
	sampler_lines_close(&lines);
}

static int see_loads(struct dl_phdr_info *object, size_t size, void *context)
{
	struct sampler_loads *loads = context;
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(object->dlpi_subs))
		*loads = (struct sampler_loads){ object->dlpi_adds, object->dlpi_subs };
	return 1;
}

struct sampler_loads sampler_loads_now(void)
{
	struct sampler_loads loads = { 0, 0 };
	dl_iterate_phdr(see_loads, &loads);
	return loads;
}
