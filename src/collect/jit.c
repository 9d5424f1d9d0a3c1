#include "collect/jit_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "collect/file_table.h"
#include "collect/file_ways.h"
#include "collect/proc_ask.h"
#include "collect/proc_stat.h"
#include "collect/shares.h"
#include "image/process_table.h"
#include "symbol/jit_records.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"
#include "symbol/record.h"

#define RETRY_FIRST_NS	     100000000u		  /* to look for a map, then twice as long, up to */
#define COPIED_EACH_NS	     UINT64_C(1000000000) /* a file that is copied when it is opened */
#define RETRY_MOST_NS	     1000000000u
#define READ_PAUSE_NS	     10000000u /* files are not read more often */
#define READ_PAUSE_MOST_NS   200000000u
#define READ_SHARE	     200u	/* one part in so many of the time goes into it, or less */
#define READ_STEP_BYTES	     (1u << 20) /* of a file at once */
#define STRANGE_STEP_BYTES   (256u << 10)
#define STRANGE_RECORD_BYTES (1u << 20)
#define REQUEST_MOST_NS	     UINT64_C(100000000) /* for a stranger's file */
#define TRIM_LEAST_BYTES     65536u
#define LINE_MOST_BYTES	     65536u
#define WORK_AT_ONCE	     (UINT64_C(1) << 22) /* a timeline's: some 10 ms */
#define FREE_LOOKS	     512u		 /* for an address: a page has some 30 functions */
#define LOOK_NS		     2u
#define STATUS_LIMIT	     65536
#define FILE_TIME_NS	     1000000000 /* file systems round times, some to seconds */
#define JITDUMP_LIMIT	     (512u << 20)
#define RESTARTS_MOST	     2u /* of a map in one look at it */
#define NO_SOURCE	     UINT32_MAX

static void release_dumps(struct jit *jit)
{
	for (size_t i = 0; i < jit->dump_count; i++)
		jitdump_release(&jit->dumps[i].dump);
	free(jit->dumps);
	jit->dumps = NULL;
	jit->dump_count = jit->dump_capacity = 0;
}

static void close_map(struct jit_table *table, struct jit *jit)
{
	if (jit->map.fd < 0)
		return;
	close(jit->map.fd);
	jit->map.fd = -1;
	table->maps_held--;
}

void jit_table_init(struct jit_table *table, struct reader *reader, struct file_table *files,
		    struct shares *shares)
{
	*table = (struct jit_table){
		.reader = reader, .files = files, .shares = shares, .most_bytes = JIT_KEPT_BYTES
	};
}

void jit_table_release(struct jit_table *table)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		close_map(table, jit);
		release_dumps(jit);
		jit_timeline_release(&jit->timeline);
		free(jit);
	}
	number_map_release(&table->by_image);
}

bool jit_is_strange(const struct jit *jit)
{
	return jit->share && jit->share->strange;
}

static uint64_t step_bytes(const struct jit *jit)
{
	return jit_is_strange(jit) ? STRANGE_STEP_BYTES : READ_STEP_BYTES;
}

uint32_t jit_most_record_bytes(const struct jit *jit)
{
	return jit_is_strange(jit) ? STRANGE_RECORD_BYTES : 0;
}

bool jit_may_go_on(const struct jit_table *table, const struct jit *jit)
{
	const struct helper_watch *watch = table->watch;
	if (watch && watch->look && watch->look(watch->context) < 0)
		return false;
	return !jit_is_strange(jit) || shares_time_left_ns(table->shares) > 0;
}

static uint64_t bytes_of(const struct jit *jit)
{
	uint64_t sum = jit_timeline_bytes(&jit->timeline);
	for (size_t i = 0; i < jit->dump_count; i++)
		sum += jitdump_bytes(&jit->dumps[i].dump);
	return sum;
}

/* Counts what is kept by now for all processes together. */
static void count_kept(struct jit_table *table, struct jit *jit)
{
	uint64_t bytes = bytes_of(jit);
	table->kept_bytes += bytes - jit->counted_bytes;
	jit->counted_bytes = bytes;
}

/* Why what was opened is not read: that stands. */
static struct error *refusal_of_content(struct jit *jit)
{
	jit->refused_open = false;
	return &jit->refused;
}

/* Whether more may be read for the process. */
static bool has_room(struct jit_table *table, struct jit *jit)
{
	count_kept(table, jit);
	if (table->kept_bytes < table->most_bytes)
		return true;
	error_set(refusal_of_content(jit), -EFBIG,
		  "the processes tell of more code than the %" PRIu64 " MB that are kept",
		  table->most_bytes >> 20);
	return false;
}

/* Counts it for the process's user, too. False: the share has no room for it. */
static bool count_bytes(struct jit_table *table, struct jit *jit)
{
	count_kept(table, jit);
	uint64_t bytes = jit->counted_bytes;
	if (!jit_is_strange(jit))
		return true;
	if (bytes <= jit->held_bytes)
		share_give_back(table->shares, jit->share, SHARE_JIT_BYTES,
				jit->held_bytes - bytes);
	else if (!share_take(table->shares, jit->share, SHARE_JIT_BYTES, bytes - jit->held_bytes))
		return false;
	jit->held_bytes = bytes;
	return true;
}

/* Makes room within the share, after some names were read. 0 or -ENOMEM. */
static int keep_within_share(struct jit_table *table, struct jit *jit)
{
	if (count_bytes(table, jit))
		return 0;
	for (size_t i = 0; i < jit->dump_count; i++) {
		if (jit->dumps[i].taken < jit->dumps[i].dump.count)
			continue; /* of others the timeline has the names already */
		jitdump_forget(&jit->dumps[i].dump);
		jit->dumps[i].taken = 0;
	}
	uint64_t keep_bytes =
		jit->held_bytes > 2 * TRIM_LEAST_BYTES ? jit->held_bytes / 2 : TRIM_LEAST_BYTES;
	int ret = jit_timeline_trim(&jit->timeline, keep_bytes, &jit->dropped);
	if (ret < 0 || count_bytes(table, jit))
		return ret;
	/* Others of its user have it all. */
	for (size_t i = 0; i < jit->dump_count; i++) {
		jitdump_release(&jit->dumps[i].dump);
		jit->dumps[i].dump.failed = true;
		jit->dumps[i].taken = 0;
	}
	ret = jit_timeline_trim(&jit->timeline, 0, &jit->dropped);
	count_bytes(table, jit);
	return ret;
}

/* The process's number as it sees itself: the last of "NSpid:" in its status. */
static uint32_t own_pid(const char *status, uint32_t pid)
{
	const char *line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	size_t length = strcspn(line + 1, "\n");
	const char *at = line + 1 + length;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	uint32_t own = (uint32_t)strtoul(at, NULL, 10);
	return own ? own : pid;
}

/* Of one that runs with another's rights, whom to believe is nobody. */
static uint32_t user_of(const char *status)
{
	const char *line = strstr(status, "\nUid:");
	uint32_t real, effective;
	if (!line || sscanf(line, "\nUid: %" SCNu32 " %" SCNu32, &real, &effective) != 2)
		return SAFE_NO_USER;
	return real == effective ? effective : SAFE_NO_USER;
}

/* Who runs it; while it runs, for its files are looked for afterwards, too. */
static void look_at_process(const struct jit_table *table, struct jit *jit)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer status = { 0 };
	CLEANUP(buffer_release) struct buffer text = { 0 };
	struct proc_stat stat;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", jit->pid);
	if (small_file_read(path, STATUS_LIMIT, &status) < 0)
		return;
	/* second: if the number was given away in between, this tells */
	const struct proc_ask ask = { table->reader, table->shares, NULL, NULL, NULL };
	if (proc_ask(&ask, NULL, jit->pid, 0, READER_PROCESS_STAT, STATUS_LIMIT, &text) < 0 ||
	    !proc_stat_parse((struct span){ text.data, text.size }, &stat) ||
	    (jit->user_known && stat.start_ticks != jit->start_ticks))
		return;
	jit->start_ticks = stat.start_ticks;
	jit->user = user_of(buffer_text(&status));
	jit->own_pid = own_pid(buffer_text(&status), jit->pid);
	jit->user_known = true;
}

/* What to add to a time of the wall to get one of `clock`. */
static int64_t offset_of_wall(clockid_t clock)
{
	struct timespec other, real;
	clock_gettime(clock, &other);
	clock_gettime(CLOCK_REALTIME, &real);
	return ((int64_t)other.tv_sec - (int64_t)real.tv_sec) * 1000000000 + other.tv_nsec -
	       real.tv_nsec;
}

/* Written since the process began, or the number was somebody else's before. */
static bool is_recent(const struct jit *jit, const struct safe_file *file)
{
	int64_t written_ns = file->modified_ns + offset_of_wall(CLOCK_BOOTTIME);
	return jit->start_ns && written_ns >= (int64_t)jit->start_ns - FILE_TIME_NS;
}

/* What somebody's time was too short for, or ours as we are to end: says nothing of the file. */
static bool is_passing(int code)
{
	return file_ways_refused(code);
}

/* How opening a file ended (0: the map): a reason that holds no more is forgotten, for another file
 * may lie there by now. */
static void note_opening(struct jit *jit, uint32_t file, int code, const struct error *err)
{
	bool same = jit->refused_open && jit->refused_file == file;
	if (code == -ENOENT || code == -ESRCH)
		return; /* it may have been removed; what was there was not read */
	if (is_passing(code)) {
		jit->cut = true;
	} else if (code < 0 && (same || !jit->refused.code)) {
		jit->refused = *err;
		jit->refused_open = true;
		jit->refused_file = file;
	} else if (code == 0 && same) {
		jit->refused = (struct error){ 0 };
		jit->refused_open = false;
	}
}

static bool has_ended(const struct jit *jit)
{
	return kill((pid_t)jit->pid, 0) < 0 && errno == ESRCH;
}

/* What fstat() would tell of the file, of which fd may be a copy. */
static bool examine(const struct safe_file *file, struct stat *info)
{
	if (fstat(file->fd, info) != 0)
		return false;
	if (file->copied) {
		info->st_dev = file->device;
		info->st_ino = file->inode;
		info->st_mtim = (struct timespec){ .tv_sec = file->modified_ns / 1000000000,
						   .tv_nsec = file->modified_ns % 1000000000 };
	}
	return true;
}

/* A descriptor of the process's map, which the caller closes, or -1. */
static int open_map(const struct jit_table *table, struct jit *jit, struct stat *info)
{
	char path[64];
	struct safe_file file;
	struct error err;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", jit->own_pid);
	look_at_process(table, jit);
	int ret = reader_open_of_user(table->reader, (pid_t)jit->pid, path, OWNER_PROCESS,
				      jit->user, &file, &err);
	if (ret < 0 && jit->own_pid == jit->pid && has_ended(jit)) {
		ret = reader_open_of_user(table->reader, 0, path, OWNER_PROCESS, jit->user, &file,
					  &err);
		if (ret == 0 && !is_recent(jit, &file)) {
			close(file.fd);
			ret = -ENOENT;
		}
	}
	note_opening(jit, 0, ret, &err);
	if (ret < 0)
		return -1;
	jit->map.copied = file.copied;
	if (examine(&file, info))
		return file.fd;
	close(file.fd);
	return -1;
}

/* Since when what was just read of a file is in force, when nothing better is known. */
static uint64_t time_of_news(const struct jit *jit, const struct stat *info, uint64_t now_ns,
			     bool first)
{
	if (first && !jit->began)
		return 0;
	int64_t written_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec +
			     offset_of_wall(CLOCK_MONOTONIC);
	uint64_t time_ns = written_ns > 0 ? (uint64_t)written_ns : 0;
	if (time_ns > now_ns)
		time_ns = now_ns;
	return !first && time_ns < jit->read_ns ? jit->read_ns : time_ns;
}

static int add_loaded(struct jit *jit, const struct jit_loaded *loaded)
{
	int ret = jit_timeline_add(&jit->timeline, loaded);
	if (ret == -EFBIG && !jit->refused.code)
		error_set(refusal_of_content(jit), -EFBIG,
			  "its compiler told of more code than is kept");
	return ret == -EFBIG ? 0 : ret;
}

/* Where in the text the line begins that `inside` is in. */
static size_t begin_of_line(struct span text, const void *inside)
{
	size_t before = (size_t)((const char *)inside - (const char *)text.data);
	const char *newline = memrchr(text.data, '\n', before);
	return newline ? (size_t)(newline - (const char *)text.data) + 1 : 0;
}

/* As many lines as may be at once; *used: their bytes. A few bytes of a map can be much work. */
static int add_lines(struct jit *jit, struct span text, uint64_t time_ns, size_t *used)
{
	struct perf_map map;
	uint64_t until = jit->timeline.work + WORK_AT_ONCE;
	int ret = perf_map_read_lines(text, &map);
	*used = text.size;
	for (size_t i = 0; ret == 0 && i < map.count; i++) {
		if (jit->timeline.work >= until) {
			*used = begin_of_line(text, map.symbols[i].name.data);
			break;
		}
		ret = add_loaded(jit, &(struct jit_loaded){ .address = map.symbols[i].start,
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
	error_set(refusal_of_content(jit), code, "'/tmp/perf-%" PRIu32 ".map': %s", jit->own_pid,
		  why);
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

/* What is behind a piece of the map: STOPPED: more, but not now. */
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
	if (!has_room(table, jit))
		return PIECE_STOPPED;
	int ret = reader_read(table->reader, fd, map->read_bytes - map->tail_bytes, step_bytes(jit),
			      &bytes, &err);
	bool more = ret == -EFBIG;
	if (ret < 0 && !more && is_passing(ret)) {
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
			time_of_news(jit, info, now_ns, !map->caught_up), &used);
	more = more || used < whole;
	whole = used < whole ? used : whole;
	if (ret == 0 && whole)
		advance_map(map, text, whole);
	if (ret == 0)
		ret = keep_within_share(table, jit);
	return ret < 0 ? ret : more && whole ? PIECE_MORE : PIECE_LAST;
}

/* What takes no room on disk says nothing: reading goes on behind it. */
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

/* All of it that was there when it was looked at, or with JIT_IN_STEPS the next piece. An enum
 * piece or -ENOMEM. */
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

/* Opens the map where it must be opened, and reads what is new in it. */
static int look_at_map(struct jit_table *table, struct jit *jit, uint64_t now_ns,
		       enum jit_haste haste)
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
	close_map(table, jit);
	if (table->maps_held < JIT_MAPS_HELD && held_files_harmless(&table->files->keeping, fd)) {
		map->fd = fd;
		table->maps_held++;
		fd = -1;
	}
	return ret;
}

int jit_open_dump(const struct jit_table *table, struct jit *jit, uint32_t number,
		  struct stat *info, bool *copied)
{
	const struct file *file = file_table_get(table->files, number);
	struct safe_file opened = { .fd = -1 };
	struct error err;
	const uint32_t pids[] = { file->pid, 0 };
	if (file->fd >= 0 && fstat(file->fd, info) == 0)
		opened = (struct safe_file){ .fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0),
					     .owner = info->st_uid,
					     .mode = info->st_mode,
					     .links = (uint32_t)info->st_nlink };
	for (size_t i = 0; i < 2 && opened.fd < 0; i++) {
		int ret = reader_open_path(table->reader, (pid_t)pids[i], file->path, OWNER_ANY,
					   &opened, NULL);
		if (ret < 0) {
			jit->cut |= is_passing(ret);
			opened.fd = -1;
			continue;
		}
		if (opened.inode == file->inode && opened.device == file->device)
			break;
		close(opened.fd);
		opened.fd = -1;
	}
	if (opened.fd < 0)
		return -1;
	int ret = safe_check_user(&opened, jit->user, file->path, &err);
	note_opening(jit, number, ret, &err);
	*copied = opened.copied;
	if (ret == 0 && examine(&opened, info))
		return opened.fd;
	close(opened.fd);
	return -1;
}

static int find_dumps(const struct jit_table *table, struct jit *jit)
{
	for (; jit->files_seen < table->files->count; jit->files_seen++) {
		uint32_t number = (uint32_t)jit->files_seen + 1;
		struct file *file = file_table_get(table->files, number);
		if (!file_may_be_jitdump(file) || file->pid != jit->pid)
			continue;
		if (array_reserve(&jit->dumps, &jit->dump_capacity, jit->dump_count,
				  sizeof(*jit->dumps)) < 0)
			return -ENOMEM;
		jit->dumps[jit->dump_count++] = (struct jit_dump){
			.file = number,
			.dump = { .names_alone = true,
				  .most_record_bytes = jit_most_record_bytes(jit) },
		};
		file->sampled = true; /* held as long as there is room */
	}
	return 0;
}

/* Than was handed to the timeline. */
static bool has_more(const struct jit_dump *dump)
{
	return dump->taken < dump->dump.count;
}

/* Hands what was fed since to the timeline, as much as may be at once. */
static int take_functions(struct jit *jit, uint32_t source, const struct stat *info,
			  uint64_t now_ns, bool first)
{
	struct jit_dump *dump = &jit->dumps[source];
	uint64_t news_ns = time_of_news(jit, info, now_ns, first);
	uint64_t until = jit->timeline.work + WORK_AT_ONCE;
	int ret = 0;
	for (; has_more(dump) && jit->timeline.work < until && ret == 0; dump->taken++) {
		const struct jit_function *function = &dump->dump.functions[dump->taken];
		bool told = function->loaded && function->loaded <= now_ns && !dump->dump.own_clock;
		ret = add_loaded(jit,
				 &(struct jit_loaded){
					 .address = function->address,
					 .size_bytes = function->size_bytes,
					 .time_ns = told ? function->loaded : news_ns,
					 .name = function->name,
					 .source = source,
					 .ordinal = (uint32_t)(dump->dump.forgotten + dump->taken),
					 .origin = (uint32_t)function->origin });
	}
	return ret;
}

int jit_feed_piece(const struct jit_table *table, struct jit *jit, const struct file *file, int fd,
		   uint64_t *read_bytes, struct jitdump *dump)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct error err;
	if (*read_bytes >= JITDUMP_LIMIT) {
		error_set(refusal_of_content(jit), -EFBIG,
			  "'%s': it has more than the %u bytes that are read", file->path,
			  JITDUMP_LIMIT);
		return 0;
	}
	int ret = reader_read(table->reader, fd, *read_bytes, step_bytes(jit), &bytes, &err);
	bool more = ret == -EFBIG;
	if (ret < 0 && !more) {
		if (is_passing(ret))
			jit->cut = true;
		else if (ret != -ENOMEM)
			error_set(refusal_of_content(jit), ret, "'%s': %s", file->path, err.text);
		return ret == -ENOMEM ? ret : 0;
	}
	*read_bytes += bytes.size;
	/* What was understood before the damage stands. */
	ret = jitdump_feed(dump, bytes.data, bytes.size, NULL);
	return ret == -ENOMEM ? ret : more && !dump->failed;
}

static int read_dump(struct jit_table *table, struct jit *jit, uint32_t source, uint64_t now_ns,
		     enum jit_haste haste)
{
	struct jit_dump *dump = &jit->dumps[source];
	const struct file *file = file_table_get(table->files, dump->file);
	struct stat info;
	if (dump->dump.failed && !has_more(dump))
		return 0;
	if (dump->copied && haste == JIT_IN_STEPS && now_ns - dump->opened_ns < COPIED_EACH_NS)
		return 0;
	dump->opened_ns = now_ns;
	CLEANUP(close_fd) int fd = jit_open_dump(table, jit, dump->file, &info, &dump->copied);
	if (fd < 0)
		return 0;
	uint64_t size_bytes = (uint64_t)info.st_size;
	int ret = 1;
	while (ret == 1 && (has_more(dump) || size_bytes > dump->read_bytes) &&
	       has_room(table, jit)) {
		if (!jit_may_go_on(table, jit)) {
			jit->cut = true;
			break;
		}
		int more = 1;
		if (!has_more(dump))
			more = jit_feed_piece(table, jit, file, fd, &dump->read_bytes, &dump->dump);
		ret = more < 0 ? more
			       : take_functions(jit, source, &info, now_ns, !dump->caught_up);
		if (ret == 0)
			ret = keep_within_share(table, jit);
		if (ret == 0)
			ret = (more || has_more(dump)) && haste == JIT_TO_THE_END;
	}
	dump->caught_up |= !has_more(dump) && dump->read_bytes >= size_bytes;
	return ret < 0 ? ret : 0;
}

int jit_read_files(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste)
{
	if (!table->reader || !jit_may_go_on(table, jit)) {
		jit->cut = jit->cut || table->reader;
		return 0;
	}
	jit->cut = false;
	int ret = find_dumps(table, jit);
	size_t taken = 0;
	for (uint32_t i = 0; i < jit->dump_count && ret == 0; i++) {
		ret = read_dump(table, jit, i, now_ns, haste);
		taken += jit->dumps[i].taken;
	}
	/* A program that writes both says the same twice. */
	if (ret == 0 && !taken)
		ret = look_at_map(table, jit, now_ns, haste);
	count_kept(table, jit);
	jit->read_ns = now_ns;
	uint64_t pause_ns = (clock_monotonic_ns() - now_ns) * READ_SHARE;
	jit->pause_ns = pause_ns < READ_PAUSE_NS	? READ_PAUSE_NS
			: pause_ns > READ_PAUSE_MOST_NS ? READ_PAUSE_MOST_NS
							: pause_ns;
	return ret;
}

static struct jit *need_jit(struct jit_table *table, const struct process *process,
			    struct share *share, uint32_t image)
{
	struct jit *jit = number_map_find(&table->by_image, image);
	if (jit)
		return jit;
	jit = calloc(1, sizeof(*jit));
	if (!jit || number_map_put(&table->by_image, image, jit) < 0) {
		free(jit);
		return NULL;
	}
	jit->image = image;
	jit->pid = process->pid;
	jit->share = table->shares ? share : NULL;
	jit->own_pid = process->pid;
	jit->user = geteuid();
	look_at_process(table, jit);
	jit->start_ns = process->start_ns;
	jit->began = process->execed;
	jit->map.fd = -1;
	jit->retry_ns = RETRY_FIRST_NS;
	return jit;
}

/* The address itself when its user has no time left for many looks again. */
static uint64_t vaddr_of(struct jit_table *table, struct jit *jit, uint64_t address,
			 uint64_t time_ns)
{
	bool strange = jit_is_strange(jit);
	uint64_t before = jit->timeline.work;
	if (strange && jit->slow &&
	    share_reading_left_ns(table->shares, jit->share) < SHARE_LEAST_NS) {
		jit->dropped++;
		return address;
	}
	uint64_t vaddr = jit_timeline_vaddr(&jit->timeline, address, time_ns);
	uint64_t looks = jit->timeline.work - before;
	jit->slow = looks > FREE_LOOKS;
	if (strange && jit->slow)
		share_spend(table->shares, jit->share, SHARE_READING, looks * LOOK_NS);
	return vaddr;
}

int jit_table_locate(struct jit_table *table, const struct process *process, struct share *share,
		     uint32_t image, uint64_t address, uint64_t time_ns, uint64_t *vaddr)
{
	struct jit *jit = need_jit(table, process, share, image);
	if (!jit)
		return -ENOMEM;
	uint64_t now_ns = time_ns > jit->read_ns ? clock_monotonic_ns() : 0;
	if (now_ns && now_ns - jit->read_ns >= jit->pause_ns) {
		if (jit->share)
			shares_charge(table->shares, jit->share, SHARE_READING, REQUEST_MOST_NS,
				      table->reader);
		int ret = jit_read_files(table, jit, now_ns, JIT_IN_STEPS);
		if (jit->share)
			shares_settle(table->shares, table->reader);
		if (ret < 0)
			return ret;
	}
	*vaddr = vaddr_of(table, jit, address, time_ns);
	return 0;
}

void jit_table_names_read(struct jit_table *table)
{
	size_t position = 0;
	for (struct jit *jit; (jit = number_map_next(&table->by_image, &position));) {
		if (!has_ended(jit))
			continue;
		close_map(table, jit);
		release_dumps(jit);
		jit_timeline_release(&jit->timeline);
		count_bytes(table, jit);
	}
}
