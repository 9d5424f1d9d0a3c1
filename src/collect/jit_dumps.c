#include "collect/jit_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/file_table.h"
#include "symbol/reader.h"
#include "symbol/safe_open.h"

#define COPIED_EACH_NS UINT64_C(1000000000) /* a file that is copied when it is opened */
#define JITDUMP_LIMIT  (512u << 20)

void jit_release_dumps(struct jit *jit)
{
	for (size_t i = 0; i < jit->dump_count; i++)
		jitdump_release(&jit->dumps[i].dump);
	free(jit->dumps);
	jit->dumps = NULL;
	jit->dump_count = jit->dump_capacity = 0;
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
			jit->cut |= jit_is_passing(ret);
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
	jit_note_opening(jit, number, ret, &err);
	*copied = opened.copied;
	if (ret == 0 && jit_examine(&opened, info))
		return opened.fd;
	close(opened.fd);
	return -1;
}

int jit_find_dumps(const struct jit_table *table, struct jit *jit)
{
	const struct file_jitdump *known = table->files->jitdumps;
	size_t count = table->files->jitdump_count, at = count;
	while (at > 0 && known[at - 1].order >= jit->jitdumps_seen)
		at--;
	for (; at < count; at++) {
		uint32_t number = known[at].number;
		struct file *file = file_table_get(table->files, number);
		jit->jitdumps_seen = known[at].order + 1;
		if (file->pid != jit->pid)
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

/* Whether it has functions that the timeline has not. */
static bool has_more(const struct jit_dump *dump)
{
	return dump->taken < dump->dump.count;
}

/* Hands the timeline as many of those as may be at once. */
static int take_functions(struct jit *jit, uint32_t source, const struct stat *info,
			  uint64_t now_ns, bool first)
{
	struct jit_dump *dump = &jit->dumps[source];
	uint64_t news_ns = jit_time_of_news(jit, info, now_ns, first);
	uint64_t until = jit->timeline.work + JIT_WORK_AT_ONCE;
	int ret = 0;
	for (; has_more(dump) && jit->timeline.work < until && ret == 0; dump->taken++) {
		const struct jit_function *function = &dump->dump.functions[dump->taken];
		bool told = function->loaded && function->loaded <= now_ns && !dump->dump.own_clock;
		ret = jit_add_loaded(
			jit, &(struct jit_loaded){
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
		error_set(jit_refusal_of_content(jit), -EFBIG,
			  "'%s': it has more than the %u bytes that are read", file->path,
			  JITDUMP_LIMIT);
		return 0;
	}
	int ret = reader_read(table->reader, fd, *read_bytes, jit_step_bytes(jit), &bytes, &err);
	bool more = ret == -EFBIG;
	if (ret < 0 && !more) {
		if (jit_is_passing(ret))
			jit->cut = true;
		else if (ret != -ENOMEM)
			error_set(jit_refusal_of_content(jit), ret, "'%s': %s", file->path,
				  err.text);
		return ret == -ENOMEM ? ret : 0;
	}
	*read_bytes += bytes.size;
	/* What was understood before the damage stands. */
	ret = jitdump_feed(dump, bytes.data, bytes.size, NULL);
	return ret == -ENOMEM ? ret : more && !dump->failed;
}

int jit_read_dump(struct jit_table *table, struct jit *jit, uint32_t source, uint64_t now_ns,
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
	       jit_has_room(table, jit)) {
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
			ret = jit_keep_within_share(table, jit);
		if (ret == 0)
			ret = (more || has_more(dump)) && haste == JIT_TO_THE_END;
	}
	dump->caught_up |= !has_more(dump) && dump->read_bytes >= size_bytes;
	return ret < 0 ? ret : 0;
}
