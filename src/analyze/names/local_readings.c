#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/names/local_files_private.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"

/*
 * Files wait here until READINGS_MAX are open or all images have theirs; then each is read once,
 * for all images that turned out to be it. An image whose file comes again after that costs another
 * reading, which the time of the search limits.
 */

static bool same_file(const struct file_key *a, const struct file_key *b)
{
	return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
	       a->changed_ns == b->changed_ns;
}

/* Zeros for no file. */
static struct file_key key_of(int fd)
{
	struct stat file;
	if (fd < 0 || fstat(fd, &file) != 0)
		return (struct file_key){ 0 };
	return (struct file_key){ file.st_dev, file.st_ino, (uint64_t)file.st_size,
				  file.st_ctim.tv_sec * INT64_C(1000000000) +
					  file.st_ctim.tv_nsec };
}

static void release(struct reading *reading)
{
	for (struct reading_image *image = reading->images, *next; image; image = next) {
		next = image->next;
		free(image->vaddrs);
		free(image);
	}
	free(reading->title);
	if (reading->fd >= 0)
		close(reading->fd);
	if (reading->debug_fd >= 0)
		close(reading->debug_fd);
	*reading = (struct reading){ .fd = -1, .debug_fd = -1 };
}

/* Gives the first image the addresses of all, rising and each once. */
static int join_vaddrs(struct reading *reading)
{
	struct reading_image *first = reading->images;
	if (!first->next)
		return 0;
	size_t count = 0, kept = 0;
	for (struct reading_image *image = first; image; image = image->next)
		count += image->count;
	uint64_t *all = calloc(count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	count = 0;
	for (struct reading_image *image = first; image; image = image->next) {
		memcpy(all + count, image->vaddrs, image->count * sizeof(*all));
		count += image->count;
	}
	qsort(all, count, sizeof(*all), sorted_compare_u64);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || all[i] != all[kept - 1])
			all[kept++] = all[i];
	free(first->vaddrs);
	first->vaddrs = all;
	first->count = kept;
	return 0;
}

static const char *title_of(const struct search *search, const struct reading *reading,
			    struct buffer *room)
{
	return reading->title ? reading->title
			      : local_search_name(search, reading->images->id, room);
}

static void note_refusal(struct search *search, const struct reading *reading, const char *what)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	if (search->time.left_ns)
		local_search_note(search, "'%s': %s", title_of(search, reading, &name), what);
	else
		for (const struct reading_image *image = reading->images; image;
		     image = image->next)
			local_search_late(search, image->id);
}

static void note_about(struct search *search, const struct reading *reading, const char *before,
		       const char *behind)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	local_search_note(search, "%s'%s'%s", before, title_of(search, reading, &name), behind);
}

/* Notes what went wrong with a file that was read, wholly or in part: names are read first, and are
 * there where the parser failed on what follows. */
static void note_reading(struct search *search, const struct reading *reading,
			 const struct gather_counts *counts, const struct error *err)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	if (err->code)
		local_search_note(search, "'%s': what it has beside names %s",
				  title_of(search, reading, &name), err->text);
	if (counts->debug_refused)
		note_about(search, reading, "the debug file of ", " is of another build");
	if (counts->debug_damaged)
		note_about(search, reading, "the debug information of ", " is damaged");
}

static uint64_t bytes_of(const struct record_set *records)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < records->count; i++)
		sum += records->list[i].content.size;
	return sum;
}

static uint64_t size_of(int fd)
{
	struct stat file;
	return fd >= 0 && fstat(fd, &file) == 0 ? budget_file_bytes(&file) : 0;
}

/* Keeps the records as the first image's; the others share them. */
static int keep(struct search *search, const struct reading *reading,
		const struct record_set *records)
{
	uint32_t first = reading->images->id;
	budget_read_local(size_of(reading->fd) + size_of(reading->debug_fd), bytes_of(records));
	int ret = local_search_keep(search, first, records);
	for (const struct reading_image *image = reading->images; image; image = image->next) {
		CLEANUP(buffer_release) struct buffer name = { 0 };
		struct local_image *found = &search->files->images[image->id - 1];
		if (image->id != first) {
			found->records_of = first;
			found->found |= records->count > 0;
		}
		if (image->by_name)
			local_search_count(&search->by_name, &search->by_name_count,
					   local_search_name(search, image->id, &name));
	}
	return ret;
}

static int end_oldest(struct search *search)
{
	CLEANUP(record_set_release) struct record_set records = { 0 };
	const struct reading *reading = search->waiting[0];
	struct gather_counts counts = { 0 };
	struct error err = { 0 };
	search->waiting_count--;
	memmove(search->waiting, search->waiting + 1,
		search->waiting_count * sizeof(search->waiting[0]));
	int ret = reader_end_gather(search->reader, &records, &counts, &err);
	if (ret < 0 && !records.count) {
		note_refusal(search, reading, err.text);
		return 0;
	}
	note_reading(search, reading, &counts, &err);
	return keep(search, reading, &records);
}

static int begin(struct search *search, struct reading *reading)
{
	struct error err = { 0 };
	int ret = search->waiting_count == READER_GATHERS ? end_oldest(search) : 0;
	if (ret == 0)
		ret = join_vaddrs(reading);
	if (ret < 0)
		return ret;
	const struct reading_image *first = reading->images;
	if (!search->time.left_ns ||
	    reader_begin_gather(search->reader, reading->fd, reading->debug_fd, first->vaddrs,
				first->count, reading->what & search->what, &err) < 0)
		note_refusal(search, reading, err.text);
	else
		search->waiting[search->waiting_count++] = reading;
	return 0;
}

int local_readings_end(struct search *search)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < search->reading_count; i++)
		ret = begin(search, &search->readings[i]);
	while (search->waiting_count && ret == 0)
		ret = end_oldest(search);
	local_readings_release(search);
	return ret;
}

void local_readings_release(struct search *search)
{
	for (size_t i = 0; i < search->reading_count; i++)
		release(&search->readings[i]);
	search->reading_count = 0;
}

/* The one of that file; NULL: there is none yet. */
static struct reading *find(struct search *search, const struct reading *wanted)
{
	for (size_t i = 0; wanted->file.inode && i < search->reading_count; i++) {
		struct reading *reading = &search->readings[i];
		if (reading->what == wanted->what && same_file(&reading->file, &wanted->file) &&
		    same_file(&reading->debug, &wanted->debug))
			return reading;
	}
	return NULL;
}

int local_readings_add(struct search *search, struct wanted_image *wanted, int fd, int debug_fd,
		       unsigned int what, enum found_by found_by)
{
	struct reading reading = { .fd = fd,
				   .debug_fd = debug_fd,
				   .file = key_of(fd),
				   .debug = key_of(debug_fd),
				   .what = what };
	struct reading_image *image = calloc(1, sizeof(*image));
	struct reading *into = find(search, &reading);
	reading.title = wanted->title ? strdup(wanted->title) : NULL;
	int ret = image && (reading.title || !wanted->title) ? 0 : -ENOMEM;
	if (ret == 0 && !into && search->reading_count == READINGS_MAX)
		ret = local_readings_end(search);
	if (ret < 0) {
		free(image);
		release(&reading);
		return ret;
	}
	*image = (struct reading_image){ .id = wanted->id,
					 .by_name = found_by == FOUND_BY_NAME,
					 .vaddrs = wanted->vaddrs,
					 .count = wanted->count };
	wanted->vaddrs = NULL;
	if (into) {
		release(&reading);
	} else {
		into = &search->readings[search->reading_count++];
		*into = reading;
	}
	if (into->images)
		into->last->next = image;
	else
		into->images = image;
	into->last = image;
	return 0;
}
