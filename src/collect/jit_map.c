#include "collect/jit_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/file_table.h"
#include "collect/held_files.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"
#include "symbol/safe_open.h"

#define RETRY_MOST_NS	1000000000u
#define LINE_MOST_BYTES 65536u
#define RESTARTS_MOST	2u /* of a map in one look at it */
#define NO_SOURCE	UINT32_MAX

void jit_close_map(struct jit_table *table, struct jit *jit)
{
	if (jit->map.fd < 0)
		return;
	close(jit->map.fd);
	jit->map.fd = -1;
	table->maps_held--;
}

/* A descriptor of the process's map, which the caller closes, or -1. */
static int open_map(const struct jit_table *table, struct jit *jit, struct stat *info)
{
	char path[64];
	struct safe_file file;
	struct error err;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", jit->own_pid);
	jit_look_at_process(table, jit);
	int ret = reader_open_of_user(table->reader, (pid_t)jit->pid, path, OWNER_PROCESS,
				      jit->user, &file, &err);
	if (ret < 0 && jit->own_pid == jit->pid && jit_has_ended(jit)) {
		ret = reader_open_of_user(table->reader, 0, path, OWNER_PROCESS, jit->user, &file,
					  &err);
		if (ret == 0 && !jit_is_recent(jit, &file)) {
			close(file.fd);
			ret = -ENOENT;
		}
	}
	jit_note_opening(jit, 0, ret, &err);
	if (ret < 0)
		return -1;
	jit->map.copied = file.copied;
	if (jit_examine(&file, info))
		return file.fd;
	close(file.fd);
	return -1;
}

/* The offset in the text at which the line begins that `inside` points into. */
static size_t begin_of_line(struct span text, const void *inside)
{
	size_t before = (size_t)((const char *)inside - (const char *)text.data);
	const char *newline = memrchr(text.data, '\n', before);
	return newline ? (size_t)(newline - (const char *)text.data) + 1 : 0;
}

/* As many lines as may be at once, for a few bytes of a map can be much work; *used: their bytes.
 */
static int add_lines(struct jit *jit, struct span text, uint64_t time_ns, size_t *used)
{
	struct perf_map map;
	uint64_t until = jit->timeline.work + JIT_WORK_AT_ONCE;
	int ret = perf_map_read_lines(text, &map);
	*used = text.size;
	for (size_t i = 0; ret == 0 && i < map.count; i++) {
		if (jit->timeline.work >= until) {
			*used = begin_of_line(text, map.symbols[i].name.data);
			break;
		}
		ret = jit_add_loaded(jit,
				     &(struct jit_loaded){ .address = map.symbols[i].start,
							   .size_bytes = map.symbols[i].size_bytes,
							   .time_ns = time_ns,
							   .name = map.symbols[i].name,
							   .source = NO_SOURCE,
							   .ordinal = JIT_NO_ORDINAL });
	}
	perf_map_release(&map);
	return ret;
}

static void refuse_map(struct jit *jit, int code, const char *why)
{
	error_set(jit_refusal_of_content(jit), code, "'/tmp/perf-%" PRIu32 ".map': %s",
		  jit->own_pid, why);
}

static void restart_map(struct jit_map *map)
{
	map->read_bytes = 0;
	map->skipped_bytes = 0;
	map->tail_bytes = 0;
}

/* Counts `size` bytes at the beginning of `text` as read. */
static void advance_map(struct jit_map *map, const uint8_t *text, size_t size)
{
	map->read_bytes += size;
	size_t kept = size < JIT_TAIL ? size : JIT_TAIL;
	if (kept + map->tail_bytes > JIT_TAIL) {
		size_t gone = kept + map->tail_bytes - JIT_TAIL;
		map->tail_bytes -= gone;
		memmove(map->tail, map->tail + gone, map->tail_bytes);
	}
	memcpy(map->tail + map->tail_bytes, text + size - kept, kept);
	map->tail_bytes += kept;
}

/* What follows a piece of the map: nothing, more, or more that is not to be read now. */
enum piece { PIECE_LAST, PIECE_MORE, PIECE_STOPPED };

/* One piece of the map. An enum piece or -ENOMEM. */
static int read_piece(struct jit_table *table, struct jit *jit, int fd, const struct stat *info,
		      uint64_t now_ns, enum jit_haste haste)
{
	struct jit_map *map = &jit->map;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct error err;
	if (map->read_bytes - map->skipped_bytes >= PERF_MAP_MAX_BYTES) {
		refuse_map(jit, -EFBIG, "it is larger than what is read of a map");
		return PIECE_LAST;
	}
	if (!jit_has_room(table, jit))
		return PIECE_STOPPED;
	int ret = reader_read(table->reader, fd, map->read_bytes - map->tail_bytes,
			      jit_step_bytes(jit), &bytes, &err);
	bool more = ret == -EFBIG;
	if (ret < 0 && !more && jit_is_passing(ret)) {
		jit->cut = true;
		return PIECE_STOPPED;
	}
	if (ret < 0 && !more) {
		if (ret != -ENOMEM)
			refuse_map(jit, ret, err.text);
		return ret == -ENOMEM ? ret : PIECE_LAST;
	}
	if (map->tail_bytes &&
	    (bytes.size < map->tail_bytes || memcmp(bytes.data, map->tail, map->tail_bytes) != 0)) {
		restart_map(map); /* the file was written anew */
		if (map->restarts++ < RESTARTS_MOST)
			return PIECE_MORE;
		refuse_map(jit, -EAGAIN, "it changes while it is read");
		return PIECE_LAST;
	}
	if (bytes.size == map->tail_bytes)
		return PIECE_LAST;
	const uint8_t *text = bytes.data + map->tail_bytes;
	size_t size = bytes.size - map->tail_bytes;
	const uint8_t *newline = memrchr(text, '\n', size);
	size_t whole = newline ? (size_t)(newline - text) + 1 : 0;
	if (!whole && size > LINE_MOST_BYTES)
		whole = size; /* no line of a map is so long */
	bool end = !more && haste == JIT_TO_THE_END;
	size_t used;
	ret = add_lines(jit, (struct span){ text, end ? size : whole },
			jit_time_of_news(jit, info, now_ns, !map->caught_up), &used);
	more = more || used < whole;
	whole = used < whole ? used : whole;
	if (ret == 0 && whole)
		advance_map(map, text, whole);
	if (ret == 0)
		ret = jit_keep_within_share(table, jit);
	return ret < 0 ? ret : more && whole ? PIECE_MORE : PIECE_LAST;
}

/* Goes on behind a hole of the file, which takes no room on disk and says nothing. */
static void skip_hole(struct jit_map *map, int fd, const struct stat *info)
{
	if ((uint64_t)info->st_blocks * 512 >= (uint64_t)info->st_size)
		return;
	off_t data = lseek(fd, (off_t)map->read_bytes, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		data = info->st_size; /* nothing but a hole */
	if (data <= (off_t)map->read_bytes)
		return;
	map->skipped_bytes += (uint64_t)data - map->read_bytes;
	map->read_bytes = (uint64_t)data;
	map->tail_bytes = 0;
}

/* All that was in it when info was taken, or with JIT_IN_STEPS the next piece. An enum piece or
 * -ENOMEM. */
static int read_pieces(struct jit_table *table, struct jit *jit, int fd, const struct stat *info,
		       uint64_t now_ns, enum jit_haste haste)
{
	struct jit_map *map = &jit->map;
	map->restarts = 0;
	for (;;) {
		skip_hole(map, fd, info);
		int ret = read_piece(table, jit, fd, info, now_ns, haste);
		bool again = haste == JIT_TO_THE_END || map->read_bytes == 0;
		if (ret == PIECE_MORE && again && !jit_may_go_on(table, jit)) {
			jit->cut = true;
			return PIECE_STOPPED;
		}
		if (ret != PIECE_MORE || !again || map->read_bytes >= (uint64_t)info->st_size)
			return ret;
	}
}

static int read_map(struct jit_table *table, struct jit *jit, int fd, const struct stat *info,
		    uint64_t now_ns, enum jit_haste haste)
{
	struct jit_map *map = &jit->map;
	int64_t modified_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
	bool same = map->found && info->st_dev == map->device && info->st_ino == map->inode;
	if (same && modified_ns == map->modified_ns && (uint64_t)info->st_size == map->size_bytes &&
	    (haste == JIT_IN_STEPS || map->read_bytes >= map->size_bytes))
		return 0;
	if (!same || (uint64_t)info->st_size < map->read_bytes)
		restart_map(map);
	if (jit->refused.code == -EAGAIN)
		jit->refused = (struct error){ 0 }; /* this time it may not change */
	int ret = read_pieces(table, jit, fd, info, now_ns, haste);
	map->found = true;
	map->caught_up |= ret == PIECE_LAST;
	map->device = info->st_dev;
	map->inode = info->st_ino;
	map->size_bytes = ret == PIECE_LAST ? (uint64_t)info->st_size : map->read_bytes;
	map->modified_ns = modified_ns;
	return ret < 0 ? ret : 0;
}

int jit_look_at_map(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste)
{
	struct jit_map *map = &jit->map;
	struct stat info, held;
	bool holds = map->fd >= 0 && fstat(map->fd, &held) == 0;
	bool replaced = holds && held.st_nlink == 0;
	bool refused = jit->refused_open && !jit->refused_file;
	bool looks = (map->fd < 0 || replaced) &&
		     (haste == JIT_TO_THE_END ||
		      (map->found && map->fd < 0 && !refused && !map->copied) ||
		      now_ns - jit->tried_ns >= jit->retry_ns);
	CLEANUP(close_fd) int fd = -1;
	if (looks) {
		jit->tried_ns = now_ns;
		jit->retry_ns =
			2 * jit->retry_ns < RETRY_MOST_NS ? 2 * jit->retry_ns : RETRY_MOST_NS;
		fd = open_map(table, jit, &info);
	}
	int ret = 0;
	if (holds) /* also what was written before its name went away */
		ret = read_map(table, jit, map->fd, &held, now_ns, haste);
	if (ret < 0 || fd < 0)
		return ret;
	ret = read_map(table, jit, fd, &info, now_ns, haste);
	jit_close_map(table, jit);
	if (table->maps_held < JIT_MAPS_HELD && held_files_harmless(&table->files->keeping, fd)) {
		map->fd = fd;
		table->maps_held++;
		fd = -1;
	}
	return ret;
}
