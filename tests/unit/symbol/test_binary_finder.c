#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/writer.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "symbol/binary_finder.h"
#include "symbol/reader.h"

static const uint8_t build_id[20] = { 0xab, 0xcd, 0xef, 0x01, 0x23 }; /* padded */

struct place {
	struct temporary_folder folder;
	struct reader *reader;
	struct binary_finder *finder;
};

static struct place make_place(const char *commands)
{
	struct place place = { .folder = temporary_folder_make() };
	struct error err;
	toolchain_write(place.folder.path, "p.c", "int main(void) { return 0; }\n");
	toolchain_run(place.folder.path,
		      "mkdir -p s/usr/bin t; cc -Wl,--build-id=0xabcdef0123 p.c -o p; "
		      "cc -DOTHER -Wl,--build-id=0xabcdef0124 p.c -o q; "
		      "objcopy --only-keep-debug p p.debug; %s",
		      commands);
	assert_int_equal(reader_new(NULL, &place.reader, &err), 0);
	const struct binary_finder_options options = {
		.symfs = temporary_folder_path(&place.folder, "s"),
		.debug_root = temporary_folder_path(&place.folder, "no"),
		.perf_cache = temporary_folder_path(&place.folder, "cache"),
	};
	assert_int_equal(binary_finder_new(place.reader, &options, &place.finder), 0);
	return place;
}

static void place_release(struct place *place)
{
	binary_finder_free(place->finder);
	reader_free(place->reader);
	temporary_folder_remove(&place->folder);
}

/* Where it was found, below the folder; "" when not. */
static const char *find(struct place *place, struct span id, const char *path, char *where)
{
	const struct span paths[] = { span_of_text(path) };
	const struct binary_wanted wanted = { .build_id = id, .paths = paths, .path_count = 1 };
	struct binary_found found;
	int ret = binary_finder_open(place->finder, &wanted, &found);
	where[0] = 0;
	if (ret < 0) {
		assert_int_equal(ret, -ENOENT);
		return where;
	}
	assert_int_equal(found.by_name, id.size == 0);
	const char *text = buffer_text(&found.path);
	size_t prefix = strlen(place->folder.path);
	strcpy(where, strncmp(text, place->folder.path, prefix) == 0 ? text + prefix : text);
	close(found.fd);
	buffer_release(&found.path);
	return where;
}

static const struct span padded = { build_id, sizeof(build_id) };
static const struct span plain = { build_id, 5 };
static const struct span nothing = { NULL, 0 };

static void a_file_is_found_by_path_then_name_then_build_id(void **state)
{
	(void)state;
	char where[4096];
	CLEANUP(place_release)
	struct place place = make_place("cp p s/usr/bin/prog; cp p s/other; cp q s/wrong");
	assert_string_equal(find(&place, padded, "/usr/bin/prog", where), "/s/usr/bin/prog");
	assert_string_equal(find(&place, plain, "/opt/other", where), "/s/other");
	/* of another build under that name: any file of the right one will do */
	assert_string_equal(find(&place, padded, "/opt/wrong", where), "/s/other");
	assert_string_equal(find(&place, plain, "relative", where), "/s/other");
	assert_false(binary_finder_gave_up(place.finder));
}

static void a_name_is_enough_only_below_symfs_and_without_build_id(void **state)
{
	(void)state;
	char where[4096];
	CLEANUP(place_release) struct place place = make_place("cp q s/prog");
	assert_string_equal(find(&place, nothing, "/usr/bin/prog", where), "/s/prog");
	assert_string_equal(find(&place, nothing, "/usr/bin/none", where), "");
	assert_string_equal(find(&place, padded, "/usr/bin/prog", where), "");
	CLEANUP(buffer_release) struct buffer outside = { 0 };
	buffer_printf(&outside, "%s/p", place.folder.path);
	assert_string_equal(find(&place, nothing, buffer_text(&outside), where), "");
	assert_string_equal(find(&place, plain, buffer_text(&outside), where), "/p");
}

static void a_recording_leads_out_of_symfs_only_by_links_that_everybody_may_follow(void **state)
{
	(void)state;
	char where[4096];
	CLEANUP(place_release)
	struct place place = make_place("chmod 755 . s p q; ln -s ../p s/public; chmod 600 q; "
					"ln -s ../q s/private; cp q s/own");
	assert_string_equal(find(&place, nothing, "/bin/public", where), "/s/public");
	assert_string_equal(find(&place, nothing, "/bin/own", where), "/s/own");
	assert_string_equal(find(&place, nothing, "/bin/private", where),
			    geteuid() ? "/s/private" : "");
	assert_string_equal(find(&place, nothing, "/../p", where), "");
	assert_string_equal(find(&place, nothing, "/usr/../../p", where), "");
}

static void folders_named_by_build_ids_are_looked_into(void **state)
{
	(void)state;
	char where[4096];
	CLEANUP(place_release)
	struct place place = make_place("mkdir -p s/.build-id/ab cache/.build-id/ab/cdef0123; "
					"cp p.debug s/.build-id/ab/cdef0123.debug; "
					"cp p cache/.build-id/ab/cdef0123/elf");
	/* the debug file has no code */
	assert_string_equal(find(&place, plain, "/x", where), "/cache/.build-id/ab/cdef0123/elf");
	struct identity identity = { .build_id_bytes = 5 };
	memcpy(identity.build_id, build_id, 5);
	CLEANUP(close_fd)
	int fd = binary_finder_open_debug(place.finder, &identity, NULL, geteuid(), 0);
	assert_true(fd >= 0);
}

/* Where the file is found of which the finder is told content and writer, or "". */
static const char *find_content(struct place *place, const char *like, enum content_kind kind,
				uint64_t writer, const char *at, char *where)
{
	struct identity identity;
	struct safe_file file;
	CLEANUP(buffer_release) struct buffer path = { 0 }, candidate = { 0 };
	buffer_printf(&path, "%s/%s", place->folder.path, like);
	buffer_printf(&candidate, "%s/%s", place->folder.path, at);
	assert_int_equal(
		reader_open_path(place->reader, 0, buffer_text(&path), OWNER_ANY, &file, NULL), 0);
	assert_int_equal(
		reader_identify_content(place->reader, file.fd, kind, nothing, &identity, NULL), 0);
	close(file.fd);
	const struct span paths[] = { span_of_text(buffer_text(&candidate)) };
	const struct binary_wanted wanted = { .build_id = plain,
					      .hash = { &identity.hash, sizeof(identity.hash) },
					      .writer = writer,
					      .paths = paths,
					      .path_count = 1 };
	struct binary_found found;
	strcpy(where, "");
	if (binary_finder_open(place->finder, &wanted, &found) == 0) {
		strcpy(where, buffer_text(&found.path) + strlen(place->folder.path));
		close(found.fd);
		buffer_release(&found.path);
	}
	return where;
}

static void the_content_decides_between_files_of_one_build_id(void **state)
{
	(void)state;
	char where[4096];
	const uint64_t anybody = writer_of(WRITER_ANYBODY, geteuid());
	CLEANUP(place_release)
	struct place place = make_place("cc -DOTHER -O2 -Wl,--build-id=0xabcdef0123 p.c -o forged; "
					"objcopy --redefine-sym main=stolen p renamed; cp p open; "
					"cp renamed open-renamed; chmod 0777 open open-renamed");
	assert_string_equal(find_content(&place, "p", CONTENT_TEXT, 0, "p", where), "/p");
	assert_string_equal(find_content(&place, "p", CONTENT_TEXT, 0, "forged", where), "");
	/* the same code, and names that anybody can write */
	assert_string_equal(find_content(&place, "p", CONTENT_TEXT, 0, "renamed", where),
			    "/renamed");
	assert_string_equal(find_content(&place, "p", CONTENT_TEXT, 0, "open-renamed", where), "");
	/* an image that anybody could write: the very same bytes, whoever has them here */
	assert_string_equal(find_content(&place, "open", CONTENT_FILE, anybody, "open", where),
			    "/open");
	assert_string_equal(find_content(&place, "open", CONTENT_FILE, anybody, "p", where), "/p");
	assert_string_equal(
		find_content(&place, "open", CONTENT_FILE, anybody, "open-renamed", where), "");
	/* unless somebody named the folder */
	toolchain_run(place.folder.path, "cp -p open-renamed s/copy");
	assert_string_equal(find_content(&place, "p", CONTENT_TEXT, 0, "copy", where), "/s/copy");
}

static void of_a_build_id_alone_trusted_files_come_first(void **state)
{
	(void)state;
	CLEANUP(place_release)
	struct place place = make_place("cp p open; chmod 0777 open");
	CLEANUP(buffer_release) struct buffer open = { 0 }, own = { 0 };
	buffer_printf(&open, "%s/open", place.folder.path);
	buffer_printf(&own, "%s/p", place.folder.path);
	const struct span paths[] = { span_of_text(buffer_text(&open)),
				      span_of_text(buffer_text(&own)) };
	for (size_t count = 1; count <= 2; count++) {
		const struct binary_wanted wanted = { .build_id = plain,
						      .paths = paths,
						      .path_count = count };
		struct binary_found found;
		assert_int_equal(binary_finder_open(place.finder, &wanted, &found), 0);
		assert_string_equal(buffer_text(&found.path), paths[count - 1].data);
		close(found.fd);
		buffer_release(&found.path);
	}
}

static void the_very_file_of_this_machine_is_known_by_its_inode(void **state)
{
	(void)state;
	CLEANUP(place_release) struct place place = make_place("true");
	CLEANUP(buffer_release) struct buffer path = { 0 };
	buffer_printf(&path, "%s/p", place.folder.path);
	const struct span paths[] = { span_of_text(buffer_text(&path)) };
	struct binary_wanted wanted = { .paths = paths, .path_count = 1 };
	struct binary_found found;
	struct stat info;
	int generation;
	CLEANUP(close_fd) int fd = open(buffer_text(&path), O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &info), 0);
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) != 0) {
		SKIP("this file system tells no generations");
	}
	wanted.here = (struct binary_inode){ info.st_dev, info.st_ino, (uint32_t)generation, 0 };
	assert_int_equal(binary_finder_open(place.finder, &wanted, &found), 0);
	assert_false(found.by_name);
	assert_int_equal(found.identity.build_id_bytes, 5);
	close(found.fd);
	buffer_release(&found.path);
	wanted.here.generation ^= 1; /* the inode is somebody else's now */
	assert_int_equal(binary_finder_open(place.finder, &wanted, &found), -ENOENT);
}

static void what_is_no_executable_is_passed_over(void **state)
{
	(void)state;
	char where[4096];
	CLEANUP(place_release)
	struct place place =
		make_place("head -c 900 p > s/cut; cp p.debug s/prog; "
			   "head -c 9000 /dev/zero > s/zero; ln -s prog s/usr/bin/prog");
	assert_string_equal(find(&place, plain, "/usr/bin/prog", where), "");
	assert_string_equal(find(&place, nothing, "/usr/bin/zero", where), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_found_by_path_then_name_then_build_id),
		cmocka_unit_test(a_name_is_enough_only_below_symfs_and_without_build_id),
		cmocka_unit_test(
			a_recording_leads_out_of_symfs_only_by_links_that_everybody_may_follow),
		cmocka_unit_test(folders_named_by_build_ids_are_looked_into),
		cmocka_unit_test(the_content_decides_between_files_of_one_build_id),
		cmocka_unit_test(of_a_build_id_alone_trusted_files_come_first),
		cmocka_unit_test(the_very_file_of_this_machine_is_known_by_its_inode),
		cmocka_unit_test(what_is_no_executable_is_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
