#include "cli/input_sides.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/input_private.h"
#include "cli/message.h"
#include "cli/time_text.h"
#include "store/database.h"

/* Names the epochs that hold the moment. */
static int note_left_out(const struct input_options *after, const char *path, struct error *err)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	const struct database_selection selection = { .hosts = after->hosts.items,
						      .host_count = after->hosts.count,
						      .epochs = after->epochs.items,
						      .epoch_count = after->epochs.count,
						      .labels = after->labels.items,
						      .label_count = after->labels.count,
						      .since_ns = after->apart_ns,
						      .until_ns = after->apart_ns };
	int ret = database_list(path, &selection, &list, err);
	for (size_t i = 0; ret == 0 && i < list.count; i++) {
		const struct database_entry *entry = &list.entries[i];
		if (entry->readable && !entry->replaced)
			message_note("epoch '%s' of '%s' began before '%s' and ended after it: it "
				     "is on neither side",
				     entry->epoch, entry->host, after->since);
	}
	return ret;
}

int input_part_database(struct input_options *base, struct input_options *after, const char *path)
{
	struct error err = { 0 };
	uint64_t apart_ns;
	if (!after->since || base->hosts.count || base->epochs.count || base->labels.count ||
	    base->until || !database_recognise(path))
		return 0;
	int ret = time_text_read("--since", after->since, &apart_ns, &err);
	if (ret < 0)
		return input_failed(ret, &err);
	base->hosts = after->hosts;
	base->epochs = after->epochs;
	base->labels = after->labels;
	base->apart_ns = after->apart_ns = apart_ns;
	base->apart_text = after->apart_text = after->since;
	ret = note_left_out(after, path, &err);
	return ret < 0 ? input_failed(ret, &err) : 0;
}

bool input_is_both_sides(const struct input_options *after, const char *path, size_t count)
{
	return count == 0 && after->files.count == 0 && input_chosen(after) &&
	       database_recognise(path);
}
