#include "count/sampler_maps.h"

#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "base/cursor.h"
#include "count/sampler_file.h"

/* Of a record that perf itself writes (tools/lib/perf of Linux). */
#define HEADER_BUILD_ID	  67
#define BUILD_ID_HAS_SIZE (1u << 15) /* of header.misc */
#define BUILD_ID_BYTES	  20
#define BUILD_ID_FIELD	  24 /* the id, its size, padding */

#define LINE_BYTES  8192 /* of /proc/self/maps: a path and some numbers */
#define THREAD_NAME 16

/* Lines of a file, through a buffer. */
struct lines {
	int fd;
	size_t at, size;
	char bytes[LINE_BYTES];
};

/* The next line, ended by a NUL in place of its newline; NULL at the end. One that is longer than
 * the buffer comes in parts. */
static char *next_line(struct lines *lines)
{
	for (;;) {
		char *start = lines->bytes + lines->at;
		char *end = memchr(start, '\n', lines->size - lines->at);
		if (end) {
			*end = '\0';
			lines->at = (size_t)(end - lines->bytes) + 1;
			return start;
		}
		memmove(lines->bytes, start, lines->size - lines->at);
		lines->size -= lines->at;
		lines->at = 0;
		size_t room = sizeof(lines->bytes) - 1 - lines->size;
		ssize_t more = room ? read(lines->fd, lines->bytes + lines->size, room) : 0;
		if (more > 0) {
			lines->size += (size_t)more;
			continue;
		}
		if (!lines->size)
			return NULL;
		lines->bytes[lines->size] = '\0';
		lines->at = lines->size;
		return lines->bytes;
	}
}

struct line_mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor, protection, flags;
	const char *path;
};

static uint64_t take_number(char **text, int base, char after)
{
	char *end;
	uint64_t value = strtoull(*text, &end, base);
	*text = *end == after ? end + 1 : end;
	return value;
}

/* "7f..-7f.. r-xp 00001000 08:01 1234    /lib/libc.so.6" (proc(5)). */
static bool read_mapping(char *line, struct line_mapping *mapping)
{
	char *at = line;
	mapping->start = take_number(&at, 16, '-');
	mapping->end = take_number(&at, 16, ' ');
	if (strlen(at) < 5 || mapping->end <= mapping->start)
		return false;
	mapping->protection = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
			      (at[2] == 'x' ? PROT_EXEC : 0);
	mapping->flags = at[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	at += 5;
	mapping->offset = take_number(&at, 16, ' ');
	mapping->major = (uint32_t)take_number(&at, 16, ':');
	mapping->minor = (uint32_t)take_number(&at, 16, ' ');
	mapping->inode = take_number(&at, 10, ' ');
	mapping->path = at + strspn(at, " ");
	if (!mapping->path[0])
		mapping->path = "//anon"; /* as the kernel's own records call it */
	return true;
}

/* The build-id of what the dynamic linker has loaded at an address. */
struct build_search {
	uint64_t address;
	uint8_t id[BUILD_ID_BYTES];
	size_t size;
};

static size_t take_build_id(struct cursor notes, uint8_t *id)
{
	while (cursor_left(&notes) >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		memcpy(&note, cursor_take(&notes, sizeof(note)), sizeof(note));
		uint64_t name_room = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		uint64_t room = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
		const char *name = cursor_take(&notes, name_room);
		const void *bytes = cursor_take(&notes, room);
		if (!name || !bytes)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(name, "GNU", 4) || note.n_descsz > BUILD_ID_BYTES)
			continue;
		memcpy(id, bytes, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

/* Whether a segment of notes is in memory: within what was loaded to be read. */
static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) * notes)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &object->dlpi_phdr[i];
		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    notes->p_vaddr >= load->p_vaddr &&
		    notes->p_vaddr - load->p_vaddr <= load->p_filesz &&
		    notes->p_memsz <= load->p_filesz - (notes->p_vaddr - load->p_vaddr))
			return true;
	}
	return false;
}

static bool holds(const struct dl_phdr_info *object, uint64_t address)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &object->dlpi_phdr[i];
		/* A mapping begins up to a page before its segment. */
		uint64_t end = object->dlpi_addr + load->p_vaddr + load->p_memsz;
		uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
		uint64_t start = (object->dlpi_addr + load->p_vaddr) & ~(page - 1);
		if (load->p_type == PT_LOAD && address >= start && address < end)
			return true;
	}
	return false;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *context)
{
	struct build_search *search = context;
	(void)size;
	if (!holds(object, search->address))
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum && !search->size; i++) {
		const ElfW(Phdr) *notes = &object->dlpi_phdr[i];
		if (notes->p_type != PT_NOTE || !is_loaded(object, notes))
			continue;
		const void *bytes = (const void *)(uintptr_t)(object->dlpi_addr + notes->p_vaddr);
		search->size = take_build_id(cursor_of(bytes, notes->p_memsz), search->id);
	}
	return 1;
}

static void write_build_id(struct sampler_file *file, const struct line_mapping *mapping)
{
	struct build_search search = { .address = mapping->start };
	if (mapping->path[0] != '/' && strcmp(mapping->path, "[vdso]") != 0)
		return;
	dl_iterate_phdr(search_object, &search);
	if (!search.size)
		return;
	uint8_t field[BUILD_ID_FIELD] = { 0 };
	memcpy(field, search.id, search.size);
	field[BUILD_ID_BYTES] = (uint8_t)search.size;
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

static void write_names(struct sampler_file *file, struct lines *lines, uint64_t time_ns)
{
	char name[THREAD_NAME] = "";
	*lines = (struct lines){ .fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC) };
	const char *line = lines->fd >= 0 ? next_line(lines) : NULL;
	if (line)
		write_name(file, file->pid, line, time_ns);
	if (lines->fd >= 0)
		close(lines->fd);
	pid_t tid = gettid();
	if (tid != file->pid && prctl(PR_GET_NAME, name) == 0)
		write_name(file, tid, name, time_ns);
}

void sampler_maps_write(struct sampler_file *file, uint64_t time_ns)
{
	struct line_mapping mapping;
	struct lines lines;
	write_names(file, &lines, time_ns);
	lines = (struct lines){ .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	if (lines.fd < 0)
		return;
	for (char *line; (line = next_line(&lines));)
		if (read_mapping(line, &mapping) && mapping.protection & PROT_EXEC) {
			write_mapping(file, &mapping, time_ns);
			write_build_id(file, &mapping);
		}
	close(lines.fd);
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

/* As perf itself describes the kernel: from the address of _text, whose name stands behind that of
 * the file, on. */
void sampler_maps_write_kernel(struct sampler_file *file, uint64_t time_ns)
{
	static const char name[] = "[kernel.kallsyms]_text";
	uint64_t text = 0, end = 0;
	struct lines lines = { .fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC) };
	if (lines.fd < 0)
		return;
	for (char *line; !end && (line = next_line(&lines));) {
		char *at = line;
		uint64_t address = take_number(&at, 16, ' ');
		if (!address && !text) /* hidden, or a per-CPU variable's offset */
			continue;
		if (strcmp(at, "T _text") == 0)
			text = address;
		if (strcmp(at, "T _etext") == 0)
			end = address;
	}
	close(lines.fd);
	if (!text || end <= text)
		return;
	sampler_file_open_record(file, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	sampler_file_u32(file, UINT32_MAX);
	sampler_file_u32(file, 0);
	sampler_file_u64(file, text);
	sampler_file_u64(file, end - text);
	sampler_file_u64(file, text);
	sampler_file_text(file, name, strlen(name));
	sampler_file_trailer(file, 0, time_ns);
	sampler_file_close_record(file);
}
