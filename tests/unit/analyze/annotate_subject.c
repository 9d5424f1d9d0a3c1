#include "annotate_subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/error.h"
#include "profile/stash.h"

void annotate_subject_init(struct annotate_subject *subject, struct profile *profile)
{
	static const struct resolver_options stash_only = { .stash_only = true };
	struct error err;
	*subject = (struct annotate_subject){ .profile = profile };
	assert_int_equal(resolver_new(profile, &stash_only, &subject->resolver, &err), 0);
	assert_int_equal(event_columns_init(&subject->columns, profile, NULL, 0, &err), 0);
	assert_int_equal(annotate_index_new(profile, subject->resolver, &subject->columns,
					    &subject->index, &err),
			 0);
}

void annotate_subject_release(struct annotate_subject *subject)
{
	annotate_index_free(subject->index);
	event_columns_release(&subject->columns);
	resolver_free(subject->resolver);
	profile_free(subject->profile);
}

void add_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		uint64_t last, struct buffer *content)
{
	const struct record record = { kind, first, last, { content->data, content->size } };
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
	buffer_release(content);
}
