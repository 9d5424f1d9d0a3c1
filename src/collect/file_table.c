#include "collect/file_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/file_keep.h"
#include "collect/file_learn.h"
#include "collect/file_same.h"
#include "collect/file_ways.h"
#include "collect/shares.h"
#include "image/deleted_path.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "profile/profile.h"

void file_table_release(struct file_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		file_free(table->files[i]);
	free(table->files);
	free(table->jitdumps);
	number_map_release(&table->by_inode);
	free(table->looks);
	number_map_release(&table->hashed_bytes);
	*table = (struct file_table){ 0 };
}

static struct file *add_file(struct file_table *table, enum file_kind kind, struct span path,
			     uint32_t *number)
{
	size_t at = table->first_free;
	while (at < table->count && table->files[at])
		at++;
	if (array_reserve(&table->files, &table->capacity, table->count, sizeof(struct file *)) < 0)
		return NULL;
	struct file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->fd = -1;
	file->owner = SAFE_NO_USER;
	file->kind = kind;
	file->path = strndup(path.data ? path.data : "", path.size);
	if (!file->path) {
		free(file);
		return NULL;
	}
	table->files[at] = file;
	table->count += at == table->count;
	table->first_free = at + 1;
	*number = (uint32_t)at + 1;
	return file;
}

/* By the bytes that the kernel maps into us. */
static int identify_vdso(struct file_table *table)
{
	struct file *file = file_table_get(table, table->vdso);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (vdso_read(&bytes, NULL) < 0)
		return 0;
	struct elf_file elf = { 0 };
	if (elf_file_parse(bytes.data, bytes.size, &elf, NULL) < 0)
		return 0;
	file->identity = calloc(1, sizeof(*file->identity));
	if (file->identity) {
		identity_of_file(&elf, file->identity);
		file->state = FILE_IDENTIFIED;
	}
	elf_file_release(&elf);
	return file->identity ? 0 : -ENOMEM;
}

int file_table_init(struct file_table *table, struct profile *session, struct reader *reader,
		    struct shares *shares)
{
	*table = (struct file_table){ .session = session, .reader = reader, .shares = shares };
	held_files_init(&table->keeping, reader);
	table->looks = file_looks_new();
	if (!table->looks ||
	    !add_file(table, FILE_ANONYMOUS, span_of_text("//anon"), &table->anonymous) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso]"), &table->vdso) ||
	    !add_file(table, FILE_VDSO, span_of_text("[vdso32]"), &table->vdso_narrow) ||
	    !add_file(table, FILE_VSYSCALL, span_of_text("[vsyscall]"), &table->vsyscall) ||
	    !add_file(table, FILE_SPECIAL, span_of_text("[files beyond the limit for a user]"),
		      &table->beyond))
		return -ENOMEM;
	return identify_vdso(table);
}

static enum file_kind kind_of(const struct file_hint *hint)
{
	struct span path = hint->path;
	if (span_equal(path, span_of_text("[vdso]")))
		return FILE_VDSO;
	if (span_equal(path, span_of_text("[vsyscall]")))
		return FILE_VSYSCALL;
	if (path.size == 0 || span_starts_with(path, "//anon") || span_starts_with(path, "[") ||
	    span_starts_with(path, "anon_inode:") || span_starts_with(path, "/SYSV") ||
	    span_starts_with(path, "/dev/zero"))
		return FILE_ANONYMOUS;
	if (span_starts_with(path, "/dev/") && !span_starts_with(path, "/dev/shm/"))
		return FILE_SPECIAL;
	return FILE_PLAIN;
}

/* To the paths of its image. */
static int add_path(struct file_table *table, const struct file *file)
{
	bool seen = file->state == FILE_IDENTIFIED && (!file->elsewhere || file->by_path);
	return profile_add_seen_path(table->session, file->image, span_of_text(file->path),
				     seen ? PATH_SEEN_BY_US : PATH_REPORTED);
}

int file_table_find(struct file_table *table, const struct file_hint *hint, uint32_t *number)
{
	enum file_kind kind = kind_of(hint);
	if (kind != FILE_PLAIN && kind != FILE_SPECIAL) {
		*number = kind == FILE_VDSO	  ? hint->narrow ? table->vdso_narrow : table->vdso
			  : kind == FILE_VSYSCALL ? table->vsyscall
						  : table->anonymous;
		return 0;
	}
	int ret = file_same_find(table, hint, kind, number);
	if (ret < 0)
		return ret;
	struct file *file = file_table_get(table, *number);
	if (file) {
		ret = file_learn_mapped(table, *number, hint);
		return ret == 1 ? file->image ? add_path(table, file) : 0 : ret;
	}
	struct span path = deleted_path_strip(hint->path);
	uint64_t path_units = path.size / FILE_PATH_UNIT_BYTES;
	/* All files beyond a user's limit are one. */
	if (hint->share && !share_take(table->shares, hint->share, SHARE_FILES, 1 + path_units)) {
		*number = table->beyond;
		return 0;
	}
	file = add_file(table, kind, path, number);
	if (!file)
		return -ENOMEM;
	file->pid = hint->pid;
	file->major = hint->major;
	file->minor = hint->minor;
	file->inode = hint->inode;
	file->generation = hint->generation;
	file->generation_known = hint->generation_known && hint->generation;
	file->first_share = file->path_payer = hint->share;
	file->path_units = path_units;
	ret = file_same_add(table, *number, hint);
	if (ret < 0)
		return ret;
	return kind == FILE_PLAIN ? file_learn_identity(table, *number, hint) : 0;
}

int file_table_open(struct file_table *table, uint32_t number)
{
	return file_ways_open_known(table, file_table_get(table, number));
}

int file_table_open_for_long(struct file_table *table, uint32_t number)
{
	const struct file *file = file_table_get(table, number);
	int fd = file_may_stay_open(file) ? file_table_open(table, number) : -1;
	/* It may have been reached by another way this time. */
	if (fd >= 0 && file->fd < 0 && !held_files_harmless(&table->keeping, fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_image(struct file_table *table, struct file *file)
{
	struct profile_image image = { .kind = file->kind == FILE_VDSO ? IMAGE_VDSO : IMAGE_FILE,
				       .space = SPACE_ELF };
	struct span path = span_of_text(file->path);
	if (file->state == FILE_IDENTIFIED && file->identity->build_id_bytes)
		image.build_id =
			(struct span){ file->identity->build_id, file->identity->build_id_bytes };
	if (file->state != FILE_IDENTIFIED)
		image.space = SPACE_OFFSET;
	else if (file->kind == FILE_PLAIN)
		image.writer = file->writer;
	if (file->state == FILE_IDENTIFIED && file->identity->content != CONTENT_NONE)
		image.hash = (struct span){ &file->identity->hash, sizeof(file->identity->hash) };
	else if (file->kind != FILE_VDSO || !image.build_id.size)
		image.name = path;
	if (file->kind == FILE_VSYSCALL)
		image.kind = IMAGE_VDSO;
	int ret = profile_add_image(table->session, &image, &file->image);
	if (ret == 0)
		ret = add_path(table, file);
	return ret;
}

int file_table_image(struct file_table *table, uint32_t number, uint32_t *image)
{
	struct file *file = file_table_get(table, number);
	file_learn_sampled(table, number);
	int ret = file->image ? 0 : make_image(table, file);
	*image = file->image;
	return ret;
}

void file_table_names_read(struct file_table *table)
{
	number_map_release(&table->hashed_bytes);
	table->hashed_bytes = (struct number_map){ 0 };
	for (size_t i = 0; i < table->count; i++) {
		struct file *file = table->files[i];
		if (!file)
			continue;
		file->recent = file->sampled && !file_may_be_jitdump(file);
		file->sampled = file->sampled && !file->recent;
	}
}

/* What the file takes of users' shares. */
static void give_back(struct file_table *table, const struct file *file)
{
	if (file->first_share)
		share_give_back(table->shares, file->first_share, SHARE_FILES, 1);
	if (file->path_payer)
		share_give_back(table->shares, file->path_payer, SHARE_FILES, file->path_units);
}

void file_table_forget(struct file_table *table, const bool *in_use)
{
	size_t first = 0;
	while (first < table->count && (!table->files[first] || in_use[first + 1]))
		first++;
	if (first == table->count)
		return;
	file_same_forget(table, in_use);
	file_keep_forget(table, in_use);
	for (size_t i = first; i < table->count; i++) {
		if (!table->files[i] || in_use[i + 1])
			continue;
		give_back(table, table->files[i]);
		file_free(table->files[i]);
		table->files[i] = NULL;
	}
	while (table->count && !table->files[table->count - 1])
		table->count--;
	table->first_free = first < table->first_free ? first : table->first_free;
	size_t kept = 0;
	for (size_t i = 0; i < table->jitdump_count; i++)
		if (in_use[table->jitdumps[i].number])
			table->jitdumps[kept++] = table->jitdumps[i];
	table->jitdump_count = kept;
}

void file_table_renumber_images(struct file_table *table, const uint32_t *images)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->files[i])
			table->files[i]->image = images[table->files[i]->image];
}

int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause)
{
	struct file *file = file_table_get(table, number);
	uint64_t vaddr = offset;
	file_learn_sampled(table, number); /* which may find other segments than before */
	if (file->state == FILE_IDENTIFIED &&
	    !identity_vaddr_of_offset(file->identity, offset, &vaddr)) {
		*cause = UNKNOWN_OUTSIDE_SEGMENTS;
		return 0;
	}
	frame->vaddr = vaddr;
	return file_table_image(table, number, &frame->image);
}
