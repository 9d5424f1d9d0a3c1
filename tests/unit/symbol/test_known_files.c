#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/writer.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "symbol/known_files.h"
#include "symbol/reader.h"

struct place {
	struct temporary_folder folder;
	struct reader *reader;
	struct known_files files;
};

static void place_release(struct place *place)
{
	known_files_release(&place->files);
	reader_free(place->reader);
	temporary_folder_remove(&place->folder);
}

static struct place make_place(void)
{
	struct place place = { .folder = temporary_folder_make() };
	struct error err;
	toolchain_write(place.folder.path, "p.c", "int main(void) { return 0; }\n");
	toolchain_run(place.folder.path, "cc -Wl,--build-id=0xabcdef0123 p.c -o p; ln p again; "
					 "cp p copy; echo no program >text");
	assert_int_equal(reader_new(NULL, &place.reader, &err), 0);
	known_files_init(&place.files, place.reader);
	return place;
}

/* What it answers about a file, by whichever name. */
static int identify(struct place *place, const char *name, enum content_kind content,
		    struct identity *identity)
{
	struct safe_file file;
	struct error err;
	CLEANUP(buffer_release) struct buffer path = { 0 };
	buffer_printf(&path, "%s/%s", place->folder.path, name);
	assert_int_equal(
		reader_open_path(place->reader, 0, buffer_text(&path), OWNER_ANY, &file, &err), 0);
	int ret = known_files_identify(&place->files, &file, content, identity);
	close(file.fd);
	return ret;
}

static void a_file_is_asked_about_once_under_whichever_name(void **state)
{
	(void)state;
	CLEANUP(place_release) struct place place = make_place();
	struct identity first[CONTENT_OLD + 1], again;
	for (int kind = CONTENT_NONE; kind <= CONTENT_OLD; kind++)
		assert_int_equal(identify(&place, "p", (enum content_kind)kind, &first[kind]), 0);
	assert_int_equal(place.files.asked, 4);
	assert_memory_not_equal(&first[CONTENT_TEXT].hash, &first[CONTENT_FILE].hash,
				sizeof(first->hash));
	for (int kind = CONTENT_NONE; kind <= CONTENT_OLD; kind++) {
		assert_int_equal(identify(&place, "again", (enum content_kind)kind, &again), 0);
		assert_int_equal(again.content, kind);
		assert_memory_equal(&again.hash, &first[kind].hash, sizeof(again.hash));
		assert_int_equal(again.build_id_bytes, 5);
		assert_int_equal(again.segment_count, first[kind].segment_count);
		assert_memory_equal(again.segments, first[kind].segments, sizeof(again.segments));
	}
	assert_int_equal(place.files.asked, 4);
	/* of the same bytes, and another file all the same */
	assert_int_equal(identify(&place, "copy", CONTENT_NONE, &again), 0);
	assert_int_equal(place.files.asked, 5);
}

static void a_refusal_is_remembered(void **state)
{
	(void)state;
	CLEANUP(place_release) struct place place = make_place();
	struct identity identity;
	assert_int_equal(identify(&place, "text", CONTENT_NONE, &identity), -ENOEXEC);
	assert_int_equal(identify(&place, "text", CONTENT_NONE, &identity), -ENOEXEC);
	assert_int_equal(place.files.asked, 1);
}

static void a_file_that_was_changed_is_another_one(void **state)
{
	(void)state;
	CLEANUP(place_release) struct place place = make_place();
	struct identity identity;
	assert_int_equal(identify(&place, "p", CONTENT_NONE, &identity), 0);
	toolchain_run(place.folder.path, "sleep 0.05; echo >>p");
	assert_int_equal(identify(&place, "p", CONTENT_NONE, &identity), 0);
	assert_int_equal(place.files.asked, 2);
}

static void where_a_file_system_makes_numbers_up_every_question_is_asked(void **state)
{
	(void)state;
	CLEANUP(place_release) struct place place = make_place();
	struct safe_file file;
	struct identity identity;
	struct error err;
	const char *path = temporary_folder_path(&place.folder, "p");
	assert_int_equal(reader_open_path(place.reader, 0, path, OWNER_ANY, &file, &err), 0);
	file.writer = writer_of(WRITER_MOUNTER, 1000);
	for (int i = 0; i < 2; i++)
		assert_int_equal(known_files_identify(&place.files, &file, CONTENT_NONE, &identity),
				 0);
	assert_int_equal(place.files.asked, 2);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_asked_about_once_under_whichever_name),
		cmocka_unit_test(a_refusal_is_remembered),
		cmocka_unit_test(a_file_that_was_changed_is_another_one),
		cmocka_unit_test(where_a_file_system_makes_numbers_up_every_question_is_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
