#include "store/database_epochs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/database_folder.h"
#include "store/open_folder.h"

#define STEM_CHARACTERS	 16 /* "20260131T120000Z" */
#define MARK_DIGITS	 16
#define SECOND_NS	 UINT64_C(1000000000)
#define NUMBER_MOST_TEXT 4

void epoch_name_stem(uint64_t start_ns, char stem[EPOCH_STEM_BYTES])
{
	time_t seconds = (time_t)(start_ns / SECOND_NS);
	struct tm when;
	if (!gmtime_r(&seconds, &when) ||
	    strftime(stem, EPOCH_STEM_BYTES, "%Y%m%dT%H%M%SZ", &when) != STEM_CHARACTERS)
		strcpy(stem, "19700101T000000Z"); /* beyond the year 9999 */
}

/* `count` decimal digits, or UINT_MAX. */
static unsigned take_digits(const char *text, int count)
{
	unsigned value = 0;
	for (int i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return UINT_MAX;
		value = 10 * value + (unsigned)(text[i] - '0');
	}
	return value;
}

/* From 1970 to the first day of a year. */
static uint64_t days_before(unsigned year)
{
	unsigned last = year - 1;
	return 365 * (uint64_t)(year - 1970) + (last / 4 - last / 100 + last / 400) -
	       (1969 / 4 - 1969 / 100 + 1969 / 400);
}

/*
 * The time that a name begins with. Thousands of names are looked at for one report, and
 * strptime(3) with timegm(3) takes some microseconds.
 */
static bool parse_stem(const char *name, uint64_t *start_ns)
{
	static const unsigned char lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	if (strnlen(name, STEM_CHARACTERS) < STEM_CHARACTERS || name[8] != 'T' || name[15] != 'Z')
		return false;
	unsigned year = take_digits(name, 4), month = take_digits(name + 4, 2);
	unsigned day = take_digits(name + 6, 2), hour = take_digits(name + 9, 2);
	unsigned minute = take_digits(name + 11, 2), second = take_digits(name + 13, 2);
	bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
	if (year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 ||
	    day > lengths[month - 1] + (unsigned)(leap && month == 2) || hour > 23 || minute > 59 ||
	    second > 59)
		return false;
	uint64_t days = days_before(year) + day - 1 + (leap && month > 2);
	for (unsigned i = 0; i < month - 1; i++)
		days += lengths[i];
	*start_ns = (((days * 24 + hour) * 60 + minute) * 60 + second) * SECOND_NS;
	return true;
}

enum epoch_naming epoch_name_parse(const char *name, uint64_t *start_ns)
{
	uint64_t unwanted;
	start_ns = start_ns ? start_ns : &unwanted;
	enum epoch_naming naming = EPOCH_NAME_OTHER;
	if (parse_stem(name, start_ns)) {
		const char *rest = name + STEM_CHARACTERS;
		size_t digits = *rest ? strspn(rest + 1, "0123456789") : 0;
		if (!*rest ||
		    (*rest == '-' && digits && digits <= NUMBER_MOST_TEXT && !rest[1 + digits]))
			naming = EPOCH_NAME_RECORDED;
		else if (*rest == '+' && strlen(rest + 1) == MARK_DIGITS &&
			 strspn(rest + 1, "0123456789abcdef") == MARK_DIGITS)
			naming = EPOCH_NAME_COMPACTED;
	}
	if (naming == EPOCH_NAME_OTHER)
		*start_ns = 0;
	return naming;
}

static void release_file(struct epoch_file *file)
{
	free(file->name);
	free(file->path);
}

void epoch_files_keep(struct epoch_files *files,
		      bool (*is_kept)(const void *context, const struct epoch_file *file),
		      const void *context)
{
	size_t kept = 0;
	for (size_t i = 0; i < files->count; i++) {
		if (is_kept(context, &files->list[i]))
			files->list[kept++] = files->list[i];
		else
			release_file(&files->list[i]);
	}
	files->count = kept;
}

void epoch_files_release(struct epoch_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		release_file(&files->list[i]);
	free(files->list);
	*files = (struct epoch_files){ 0 };
}

/* What lstat() knows. A file that claims to begin after it was written has its time from another
 * clock, which says nothing. */
static int look(struct epoch_file *file)
{
	struct stat found;
	if (lstat(file->path, &found) < 0)
		return 0; /* gone meanwhile, or not to be seen: who opens it says so */
	file->is_link = S_ISLNK(found.st_mode);
	if (S_ISREG(found.st_mode)) {
		file->bytes = (uint64_t)found.st_size;
		if (found.st_mtim.tv_sec > 0)
			file->written_ns = (uint64_t)found.st_mtim.tv_sec * SECOND_NS +
					   (uint64_t)found.st_mtim.tv_nsec;
		if (file->written_ns < file->named_ns)
			file->written_ns = 0;
		return 0;
	}
	if (file->is_link || !file->is_open)
		return 0;
	CLEANUP(free_pointer) char *inside = database_below(file->path, OPEN_FOLDER_PROFILE);
	if (!inside)
		return -ENOMEM;
	if (lstat(inside, &found) == 0)
		file->bytes = (uint64_t)found.st_size;
	return 0;
}

static int add(struct epoch_files *files, const char *folder, const char *name)
{
	if (array_reserve(&files->list, &files->capacity, files->count, sizeof(*files->list)) < 0)
		return -ENOMEM;
	const char *ending = epoch_name_ends_with(span_of_text(name), EPOCH_OPEN_ENDING)
				     ? EPOCH_OPEN_ENDING
				     : EPOCH_CLOSED_ENDING;
	struct epoch_file *file = &files->list[files->count++];
	*file = (struct epoch_file){ .is_open = strcmp(ending, EPOCH_OPEN_ENDING) == 0 };
	file->name = strndup(name, strlen(name) - strlen(ending));
	file->path = database_below(folder, name);
	if (!file->name || !file->path)
		return -ENOMEM;
	file->naming = epoch_name_parse(file->name, &file->named_ns);
	return look(file);
}

static bool is_closed_too(const struct names *names, const char *open)
{
	char *closed;
	size_t stem = strlen(open) - strlen(EPOCH_OPEN_ENDING);
	if (asprintf(&closed, "%.*s" EPOCH_CLOSED_ENDING, (int)stem, open) < 0)
		return false;
	bool found = names_have(names, closed);
	free(closed);
	return found;
}

int epoch_files_read(struct epoch_files *files, const char *folder)
{
	CLEANUP(names_release) struct names names = { 0 };
	int ret = names_read(&names, folder);
	for (size_t i = 0; ret == 0 && i < names.count; i++) {
		const char *name = names.list[i];
		if (epoch_name_ends_with(span_of_text(name), EPOCH_CLOSED_ENDING) ||
		    (epoch_name_ends_with(span_of_text(name), EPOCH_OPEN_ENDING) &&
		     !is_closed_too(&names, name)))
			ret = add(files, folder, name);
	}
	return ret;
}

char *epoch_closed_path(const struct epoch_file *open)
{
	char *path;
	size_t stem = strlen(open->path) - strlen(EPOCH_OPEN_ENDING);
	return asprintf(&path, "%.*s" EPOCH_CLOSED_ENDING, (int)stem, open->path) < 0 ? NULL : path;
}

bool epoch_file_is_outside(const struct epoch_file *file, uint64_t since_ns, uint64_t until_ns)
{
	if (until_ns && file->named_ns > EPOCH_TIME_SLACK_NS &&
	    file->named_ns - EPOCH_TIME_SLACK_NS >= until_ns)
		return true;
	return since_ns > EPOCH_TIME_SLACK_NS && !file->is_open && file->written_ns &&
	       file->written_ns < since_ns - EPOCH_TIME_SLACK_NS;
}
