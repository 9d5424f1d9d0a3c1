#include "collect/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "collect/file_table.h"
#include "image/process_table.h"
#include "symbol/jit_records.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"
#include "symbol/record.h"

#define RETRY_NS      1000000000u
#define STATUS_LIMIT  65536
#define FILE_TIME_NS  1000000000 /* file systems round times, some to seconds */
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

/* Written since the process began, or the number was somebody else's before. */
static bool is_recent(const struct jit *jit, const struct safe_file *file)
{
	struct timespec boot, real;
	if (!jit->start_ns || clock_gettime(CLOCK_BOOTTIME, &boot) < 0 ||
	    clock_gettime(CLOCK_REALTIME, &real) < 0)
		return false;
	int64_t real_ns = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
	int64_t boot_ns = (int64_t)boot.tv_sec * 1000000000 + boot.tv_nsec;
	int64_t start_ns = (int64_t)jit->start_ns + real_ns - boot_ns;
	return file->modified_ns >= start_ns - FILE_TIME_NS;
}

static void open_map(struct jit *jit, struct reader *reader)
{
	char path[64];
	struct safe_file file;
	struct error err;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", jit->own_pid);
	int ret = reader_open_path(reader, (pid_t)jit->pid, path, OWNER_PROCESS, &file, &err);
	bool ended = ret < 0 && kill((pid_t)jit->pid, 0) < 0 && errno == ESRCH;
	if (ended && jit->own_pid == jit->pid) {
		ret = reader_open_path(reader, 0, path, OWNER_PROCESS, &file, &err);
		if (ret == 0 && !is_recent(jit, &file)) {
			close(file.fd);
			ret = -ENOENT;
		}
	}
	if (ret == 0)
		jit->map_fd = file.fd;
	else if (ret != -ENOENT && ret != -ESRCH)
		jit->refused = err;
}

void jit_look_again(struct jit *jit, struct reader *reader)
{
	if (jit->map_fd < 0 && !jit->refused.code && reader)
		open_map(jit, reader);
}

int jit_table_note(struct jit_table *table, struct reader *reader, const struct process *process,
		   uint32_t image)
{
	struct jit *jit = number_map_find(&table->by_image, image);
	if (jit && (jit->map_fd >= 0 || jit->refused.code || process->exit_ns))
		return 0;
	uint64_t now = clock_monotonic_ns();
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
		jit->own_pid = own_pid(process->pid);
		jit->start_ns = process->start_ns;
		jit->map_fd = -1;
	}
	jit->tried_ns = now;
	if (reader)
		open_map(jit, reader);
	return 0;
}

/* What was read of a file that is too large is used: some names are better than none. 0, 1 when
 * there is nothing to use, or -ENOMEM. */
static int read_file(struct jit *jit, struct reader *reader, int fd, const char *path,
		     uint64_t limit_bytes, struct buffer *out)
{
	struct error err;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return 1;
	int ret = reader_read(reader, fd, 0, limit_bytes, out, &err);
	if (ret < 0 && ret != -ENOMEM)
		error_set(&jit->refused, ret, "'%s': %s", path, err.text);
	return ret == -EFBIG || ret == 0 ? 0 : ret == -ENOMEM ? ret : 1;
}

static int gather_map(struct jit *jit, struct reader *reader, const uint64_t *addresses,
		      size_t count, struct record_set *out)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	char path[64];
	if (jit->map_fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", jit->own_pid);
	int ret = read_file(jit, reader, jit->map_fd, path, PERF_MAP_MAX_BYTES, &text);
	if (ret)
		return ret < 0 ? ret : 0;
	return jit_records_of_map((struct span){ text.data, text.size }, addresses, count, out);
}

static int gather_dump(struct jit *jit, struct reader *reader, const struct file *file,
		       const uint64_t *addresses, size_t count, struct record_set *out)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = read_file(jit, reader, file->fd, file->path, JITDUMP_LIMIT, &bytes);
	if (ret)
		return ret < 0 ? ret : 0;
	return jit_records_of_dump((struct span){ bytes.data, bytes.size }, addresses, count, out);
}

static int is_jitdump_of(const struct file *file, uint32_t pid)
{
	const char *name = strrchr(file->path, '/');
	return file->kind == FILE_PLAIN && file->state == FILE_NOT_ELF && file->fd >= 0 &&
	       file->pid == pid && name && strncmp(name, "/jit-", 5) == 0 && strstr(name, ".dump");
}

int jit_gather(struct jit *jit, struct reader *reader, const struct file_table *files,
	       const uint64_t *addresses, size_t count, struct record_set *out)
{
	if (!reader)
		return 0;
	int ret = 0;
	size_t before = out->count;
	struct error map_refused = jit->refused;
	jit->refused.code = 0;
	for (size_t i = 0; i < files->count && ret == 0; i++)
		if (is_jitdump_of(files->files[i], jit->pid))
			ret = gather_dump(jit, reader, files->files[i], addresses, count, out);
	/* A program that writes both says the same twice. */
	if (ret < 0 || out->count > before)
		return ret;
	if (!jit->refused.code)
		jit->refused = map_refused;
	return gather_map(jit, reader, addresses, count, out);
}
