#include "collect/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "collect/file_table.h"
#include "image/process_table.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"
#include "symbol/record.h"

#define RETRY_NS      1000000000u
#define STATUS_LIMIT  65536
#define JITDUMP_LIMIT (512u << 20)

void jit_table_release(struct jit_table *table)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		if (jit->map_fd >= 0)
			close(jit->map_fd);
		free(jit);
	}
	number_map_release(&table->by_image);
}

/* The process's number as it sees itself: the last of "NSpid:". */
static uint32_t own_pid(uint32_t pid)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer text = { 0 };
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	if (small_file_read(path, STATUS_LIMIT, &text) < 0)
		return pid;
	const char *line = strstr(buffer_text(&text), "\nNSpid:");
	if (!line)
		return pid;
	size_t length = strcspn(line + 1, "\n");
	const char *at = line + 1 + length;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	uint32_t own = (uint32_t)strtoul(at, NULL, 10);
	return own ? own : pid;
}

int jit_table_note(struct jit_table *table, struct reader *reader, const struct process *process,
		   uint32_t image)
{
	struct jit *jit = number_map_find(&table->by_image, image);
	uint64_t now = 0;
	if (jit && (jit->map_fd >= 0 || process->exit_ns))
		return 0;
	now = clock_monotonic_ns();
	if (jit && now - jit->tried_ns < RETRY_NS)
		return 0;
	if (!jit) {
		jit = calloc(1, sizeof(*jit));
		if (!jit || number_map_put(&table->by_image, image, jit) < 0) {
			free(jit);
			return -ENOMEM;
		}
		jit->image = image;
		jit->pid = process->pid;
		jit->map_fd = -1;
	}
	jit->tried_ns = now;
	if (!reader)
		return 0;
	char path[64];
	struct safe_file file;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid(process->pid));
	if (reader_open_path(reader, (pid_t)process->pid, path, OWNER_PROCESS, &file, NULL) == 0)
		jit->map_fd = file.fd;
	return 0;
}

static int add_function(struct record_set *out, uint64_t first, uint64_t size_bytes,
			struct span name)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	record_put_function(&content, first, &(struct function_record){ .name = name });
	if (buffer_failed(&content))
		return -ENOMEM;
	return record_set_add(out, RECORD_FUNCTION, first, first + size_bytes - 1,
			      (struct span){ content.data, content.size });
}

static int gather_map(const struct jit *jit, struct reader *reader, const uint64_t *addresses,
		      size_t count, struct record_set *out)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (jit->map_fd < 0 || lseek(jit->map_fd, 0, SEEK_SET) < 0)
		return 0;
	/* A map that is too large is read up to the limit: some names are better than none. */
	int ret = reader_read(reader, jit->map_fd, PERF_MAP_MAX_BYTES, &text, NULL);
	if (ret < 0 && ret != -EFBIG)
		return ret == -ENOMEM ? ret : 0;
	struct perf_map map = { 0 };
	ret = perf_map_parse((struct span){ text.data, text.size }, &map);
	const struct jit_symbol *last = NULL;
	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct jit_symbol *symbol = perf_map_find(&map, addresses[i]);
		if (symbol && symbol != last)
			ret = add_function(out, symbol->start, symbol->size_bytes, symbol->name);
		last = symbol ? symbol : last;
	}
	perf_map_release(&map);
	return ret;
}

static int add_jit_function(struct record_set *out, const struct jit_function *function)
{
	int ret = add_function(out, function->address, function->size_bytes, function->name);
	uint64_t last = function->address + function->size_bytes - 1;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	if (ret == 0 && function->code.size == function->size_bytes) {
		record_put_code(&content, function->code);
		ret = buffer_failed(&content)
			      ? -ENOMEM
			      : record_set_add(out, RECORD_CODE, function->address, last,
					       (struct span){ content.data, content.size });
	}
	if (ret < 0 || !function->line_count)
		return ret;
	struct lines_writer writer;
	lines_writer_init(&writer, function->address);
	for (size_t i = 0; i < function->line_count; i++)
		if (function->lines[i].address >= function->address &&
		    function->lines[i].address <= last)
			lines_writer_row(&writer, function->lines[i].address, 0,
					 function->lines[i].file, function->lines[i].line);
	content.size = 0;
	ret = lines_writer_finish(&writer, &content);
	lines_writer_release(&writer);
	return ret < 0 ? ret
		       : record_set_add(out, RECORD_LINES, function->address, last,
					(struct span){ content.data, content.size });
}

static int gather_dump(struct reader *reader, const struct file *file, const uint64_t *addresses,
		       size_t count, struct record_set *out)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (lseek(file->fd, 0, SEEK_SET) < 0)
		return 0;
	int ret = reader_read(reader, file->fd, JITDUMP_LIMIT, &bytes, NULL);
	if (ret < 0 && ret != -EFBIG)
		return ret == -ENOMEM ? ret : 0;
	struct jitdump dump = { 0 };
	ret = jitdump_feed(&dump, bytes.data, bytes.size, NULL);
	if (ret != -ENOMEM)
		ret = 0; /* what was understood before the damage stands */
	const struct jit_function *last = NULL;
	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct jit_function *function = jitdump_find(&dump, addresses[i]);
		if (function && function != last && function->size_bytes)
			ret = add_jit_function(out, function);
		last = function ? function : last;
	}
	jitdump_release(&dump);
	return ret;
}

static int is_jitdump_of(const struct file *file, uint32_t pid)
{
	const char *name = strrchr(file->path, '/');
	return file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF && file->fd >= 0 &&
	       file->pid == pid && name && strncmp(name, "/jit-", 5) == 0 && strstr(name, ".dump");
}

int jit_gather(const struct jit *jit, struct reader *reader, const struct file_table *files,
	       const uint64_t *addresses, size_t count, struct record_set *out)
{
	if (!reader)
		return 0;
	int ret = 0;
	size_t before = out->count;
	for (size_t i = 0; i < files->count && ret == 0; i++)
		if (is_jitdump_of(files->files[i], jit->pid))
			ret = gather_dump(reader, files->files[i], addresses, count, out);
	/* A program that writes both says the same twice. */
	return ret < 0 || out->count > before ? ret
					      : gather_map(jit, reader, addresses, count, out);
}
