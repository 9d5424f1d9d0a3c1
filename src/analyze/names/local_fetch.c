#include <errno.h>

#include "analyze/names/local_files_private.h"
#include "base/cleanup.h"

int local_fetch(struct search *search, const struct wanted_image *wanted, enum debuginfod_what what)
{
	struct error err = { 0 };
	int fd = debuginfod_open(search->debuginfod, wanted->image.build_id, what, &err);
	if (fd >= 0 || fd == -ENOENT)
		return fd;
	struct unfetched *unfetched = &search->unfetched[fd == -ETIME	? UNFETCHED_TIME
							 : fd == -EFBIG ? UNFETCHED_SIZE
									: UNFETCHED_OTHER];
	CLEANUP(buffer_release) struct buffer name = { 0 };
	if (!unfetched->count)
		unfetched->reason = err;
	if (unfetched->last != wanted->id)
		local_search_count(&unfetched->names, &unfetched->count,
				   local_search_name(search, wanted->id, &name));
	unfetched->last = wanted->id;
	return fd;
}

void local_fetch_note(struct search *search)
{
	for (size_t i = 0; i < UNFETCHED_WHYS; i++) {
		struct unfetched *unfetched = &search->unfetched[i];
		if (unfetched->count)
			local_search_note(search, "nothing was fetched of %s: %s",
					  local_search_counted(&unfetched->names, unfetched->count),
					  unfetched->reason.text);
	}
}

void local_fetch_release(struct search *search)
{
	for (size_t i = 0; i < UNFETCHED_WHYS; i++)
		buffer_release(&search->unfetched[i].names);
}
