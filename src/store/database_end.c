#include "store/database_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/database_epochs.h"
#include "store/database_folder.h"
#include "store/profile_file.h"

#define DAEMON_VERB " daemon"

/* Whether the command line is a daemon's, or unknown: PROGRAM daemon ARGUMENT... */
static bool may_be_daemon(struct span command)
{
	const char *text = command.data;
	const char *space = command.size ? memchr(text, ' ', command.size) : NULL;
	size_t rest = space ? command.size - (size_t)(space - text) : 0;
	size_t verb = strlen(DAEMON_VERB);
	return command.size == 0 || (rest >= verb && memcmp(space, DAEMON_VERB, verb) == 0 &&
				     (rest == verb || space[verb] == ' '));
}

static bool is_cut_off(const struct profile *profile)
{
	uint64_t writers;
	return bill_sum(profile, BILL_CUT_OFF, &writers);
}

/* Notes the end that the sources say. False: they are no daemon's, or say none. */
static bool note_end(const struct profile *profile, struct database_end *end)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	*end = (struct database_end){ 0 };
	for (size_t row = 0; row < source->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		if (!may_be_daemon(one.command) || !one.start_ns ||
		    one.start_ns > UINT64_MAX - one.duration_ns ||
		    one.start_ns + one.duration_ns < end->end_ns)
			continue;
		end->known = true;
		end->end_ns = one.start_ns + one.duration_ns;
		snprintf(end->boot_id, sizeof(end->boot_id), "%.*s", (int)one.boot_id.size,
			 one.boot_id.size ? (const char *)one.boot_id.data : "");
	}
	return end->known;
}

/* 1: it is a daemon's, which *end describes but for `in_order`; 0: it is not; or -ENOMEM. *damaged
 * becomes its name when it cannot be read, unless there is a newer one. */
static int look_at(const struct epoch_file *file, struct database_end *end, const char **damaged)
{
	CLEANUP(profile_freep) struct profile *sources = NULL;
	struct profile_file_info info;
	if (file->is_open || file->is_link || file->naming == EPOCH_NAME_OTHER)
		return 0;
	int ret = profile_file_read_sources(file->path, &sources, &info, NULL);
	if (ret == 0)
		return note_end(sources, end);
	if (ret != -ENOMEM && ret != -ENOENT && !*damaged)
		*damaged = file->name;
	return ret == -ENOMEM ? ret : 0;
}

/* Whether a leftover that began no earlier than an epoch of that name was put aside. */
static bool has_damaged_since(const struct names *names, const char *epoch)
{
	for (size_t i = names->count; i-- > 0;) {
		const char *name = names->list[i];
		if (epoch_name_ends_with(span_of_text(name), EPOCH_DAMAGED_ENDING) &&
		    strcmp(name, epoch) > 0)
			return true;
	}
	return false;
}

/* Reads the rest of the epoch, for `in_order`. 1; 0: it cannot be read, and is *damaged; or
 * -ENOMEM. One that was made of others does not say which of them was cut off: if it was the last
 * one, that is not known. */
static int judge(const struct epoch_file *file, const struct names *names, const char **damaged,
		 struct database_end *end)
{
	CLEANUP(profile_freep) struct profile *whole = NULL;
	struct profile_file_info info;
	char stem[EPOCH_STEM_BYTES];
	const char *since = file->name;
	int ret = 0;
	if (file->naming == EPOCH_NAME_COMPACTED) {
		epoch_name_stem(end->end_ns, stem);
		since = stem;
	} else {
		ret = profile_file_read_unlinked(file->path, &whole, &info, NULL);
	}
	if (ret < 0 && ret != -ENOMEM && ret != -ENOENT && !*damaged)
		*damaged = file->name;
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	end->in_order = (!whole || !is_cut_off(whole)) &&
			!(*damaged && strcmp(*damaged, since) > 0) &&
			!has_damaged_since(names, since);
	return 1;
}

/* Whether the one is surely later than the other, whatever their clocks say. */
static bool is_of_later_boot(const struct database_end *one, const struct database_end *other,
			     const char *boot_id)
{
	return boot_id[0] && strcmp(one->boot_id, boot_id) == 0 && other->boot_id[0] &&
	       strcmp(other->boot_id, boot_id) != 0;
}

/* Looks through epochs from the newest on. 0 or -ENOMEM. */
static int find_last(const struct epoch_files *files, const struct names *names,
		     const char *boot_id, uint64_t now_ns, struct database_end *out)
{
	const char *damaged = NULL;
	for (size_t i = files->count; i-- > 0;) {
		const struct epoch_file *file = &files->list[i];
		struct database_end end;
		int ret = look_at(file, &end, &damaged);
		bool is_ahead = ret > 0 && end.end_ns > now_ns;
		if (ret == 0 || (is_ahead && out->known))
			continue;
		if (ret > 0 && out->known && !out->in_order &&
		    !is_of_later_boot(&end, out, boot_id))
			return 0;
		if (ret > 0)
			ret = judge(file, names, &damaged, &end);
		if (ret < 0)
			return ret;
		if (ret > 0)
			*out = end;
		if (ret > 0 && !is_ahead)
			return 0;
	}
	return 0;
}

int database_last_end(const char *database, const char *host, const char *boot_id, uint64_t now_ns,
		      struct database_end *out, struct error *err)
{
	CLEANUP(free_pointer) char *folder = database_below(database, host);
	CLEANUP(epoch_files_release) struct epoch_files files = { 0 };
	CLEANUP(names_release) struct names names = { 0 };
	*out = (struct database_end){ 0 };
	int ret = folder ? epoch_files_read(&files, folder) : -ENOMEM;
	if (ret == 0)
		ret = names_read(&names, folder);
	if (ret == 0)
		ret = find_last(&files, &names, boot_id, now_ns, out);
	return ret < 0 ? database_failed(err, ret, folder ? folder : database) : 0;
}
