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

struct profile *profile_of_code(const char *name, uint64_t first, const uint8_t *code, size_t size,
				uint32_t *image)
{
	const struct profile_source source = { .machine = span_of_text("x86_64") };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	struct profile *profile = profile_new();
	assert_non_null(profile);
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, image), 0);
	add_function(profile, *image, name, first, size, (struct span){ code, size });
	return profile;
}

void add_function(struct profile *profile, uint32_t image, const char *name, uint64_t first,
		  size_t size, struct span code)
{
	const struct function_record function = { .name = span_of_text(name) };
	struct buffer content = { 0 };
	record_put_function(&content, first, &function);
	add_record(profile, image, RECORD_FUNCTION, first, first + size - 1, &content);
	if (!code.size)
		return;
	record_put_code(&content, code);
	add_record(profile, image, RECORD_CODE, first, first + code.size - 1, &content);
}

void add_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		uint64_t last, struct buffer *content)
{
	const struct record record = { kind, first, last, { content->data, content->size } };
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
	buffer_release(content);
}

void add_samples_of_period(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
			   uint64_t samples, uint64_t period)
{
	const struct profile_frame leaf = { .image = image, .vaddr = vaddr };
	const struct cell cell = { samples, samples * period,
				   (unsigned __int128)samples * period * period };
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
}
