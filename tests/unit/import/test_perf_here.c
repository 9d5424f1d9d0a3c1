#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/small_file.h"
#include "image/notes.h"
#include "import/formats.h"
#include "import/perf_data/perf_data_types.h"
#include "perf_data_fixture.h"

/* This very program, which the linker gave a build-id, as a recording of this machine has it. */
struct subject {
	struct perf_file_inode inode;
	char path[4096];
	uint64_t changed_ns;
	struct utsname machine;
};

static struct subject subject_of_this_machine(void)
{
	struct subject subject = { 0 };
	struct stat info;
	int generation = 0;
	assert_true(readlink("/proc/self/exe", subject.path, sizeof(subject.path) - 1) > 0);
	CLEANUP(close_fd) int fd = open(subject.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &info), 0);
	bool told = ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
	subject.inode = (struct perf_file_inode){ major(info.st_dev), minor(info.st_dev),
						  info.st_ino, (uint32_t)generation };
	const struct timespec *changed = told ? &info.st_mtim : &info.st_ctim;
	subject.changed_ns = (uint64_t)changed->tv_sec * 1000000000 + (uint64_t)changed->tv_nsec;
	assert_int_equal(uname(&subject.machine), 0);
	return subject;
}

/* A sample at 10 and one at 30 in a program mapped at 5, of that machine. */
static void put_recording(struct perf_file *file, const struct subject *subject)
{
	perf_file_begin(file, &cycles, NULL, 1, 128);
	perf_put_comm(file, 7, 7, "worker", true, 4, 0);
	perf_put_mmap2(file, 7, TEXT, 0x10000, &subject->inode, subject->path, 5);
	put_user_sample(file, 10, 0x30);
	put_user_sample(file, 30, 0x30);
	perf_add_feature_text(file, PERF_FEATURE_HOSTNAME, subject->machine.nodename);
	perf_add_feature_text(file, PERF_FEATURE_OSRELEASE, subject->machine.release);
	perf_file_end(file);
}

/* A mapping that tells its file's build-id in the place of the inode. */
static void put_mapping_of_build(struct perf_file *file, uint64_t start, const char *path)
{
	static const uint8_t build_id[24] = { 20, 0, 0, 0, 0xab, 0xcd };
	uint64_t words[3];
	memcpy(words, build_id, sizeof(words));
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1 << 14);
	perf_put_u32(file, 7);
	perf_put_u32(file, 7);
	perf_put_u64(file, start);
	perf_put_u64(file, 0x1000);
	perf_put_u64(file, 0);
	for (size_t i = 0; i < 3; i++)
		perf_put_u64(file, words[i]);
	perf_put_u32(file, PROT_READ | PROT_EXEC);
	perf_put_u32(file, MAP_PRIVATE);
	perf_put_text(file, path);
	perf_put_trailer(file, 7, 7, 5, 0);
	perf_record_end(file);
}

static void two_paths_of_one_build_id_are_two_images(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	size_t images = 0;
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	perf_put_comm(&file, 7, 7, "worker", true, 4, 0);
	put_mapping_of_build(&file, TEXT, "/home/m/forged");
	put_mapping_of_build(&file, TEXT + 0x1000, "/usr/lib/libc.so.6");
	put_user_sample(&file, 10, 0x30);
	put_user_sample(&file, 30, 0x1030);
	perf_file_end(&file);
	assert_int_equal(imported(&importer_perf_data,
				  (struct span){ file.bytes.data, file.bytes.size }, SIZE_MAX,
				  &(struct import_options){ 0 }, &profile, &err),
			 0);
	for (uint32_t id = 1; id <= profile_table(profile, PROFILE_IMAGE)->count; id++)
		images += profile_image(profile, id).build_id.size == 20;
	assert_int_equal(images, 2);
}

/* Of the image of a kind: bytes of its build-id, or of the hash of its content; with what was said.
 */
static size_t build_id_bytes(const struct perf_file *file, uint64_t kind, uint64_t written_ns,
			     struct buffer *said)
{
	const struct import_options options = { .written_ns = written_ns,
						.say = imported_say,
						.say_context = said };
	struct profile *profile = NULL;
	struct error err = { 0 };
	size_t bytes = 0;
	said->size = 0;
	assert_int_equal(imported(&importer_perf_data,
				  (struct span){ file->bytes.data, file->bytes.size }, SIZE_MAX,
				  &options, &profile, &err),
			 0);
	for (uint32_t id = 1; id <= profile_table(profile, PROFILE_IMAGE)->count; id++) {
		struct profile_image image = profile_image(profile, id);
		if (image.kind != kind)
			continue;
		bytes = image.build_id.size ? image.build_id.size : image.hash.size;
		/* a file that could be told by its inode was looked into */
		assert_int_equal(kind == IMAGE_FILE && bytes != 0, image.hash.size != 0);
	}
	profile_free(profile);
	return bytes;
}

static void must_not_be_known(const struct subject *subject, uint64_t written_ns, bool said)
{
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(buffer_release) struct buffer words = { 0 };
	CLEANUP(buffer_release) struct buffer wanted = { 0 };
	put_recording(&file, subject);
	assert_int_equal(build_id_bytes(&file, IMAGE_FILE, written_ns, &words), 0);
	if (said)
		buffer_printf(&wanted,
			      "note: the recording names no builds, and files of this machine are "
			      "not those that it saw any more: '%s'\n",
			      subject->path);
	assert_string_equal(buffer_text(&words), buffer_text(&wanted));
}

static void a_file_of_this_machine_brings_its_build(void **state)
{
	(void)state;
	const struct subject here = subject_of_this_machine();
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(buffer_release) struct buffer said = { 0 };
	put_recording(&file, &here);
	assert_true(build_id_bytes(&file, IMAGE_FILE, 0, &said) >= 16);
	assert_string_equal(buffer_text(&said), "");
	/* the file was there when it was mapped, 25 ns before the last sample */
	assert_true(build_id_bytes(&file, IMAGE_FILE, here.changed_ns + 25, &said) >= 16);
	must_not_be_known(&here, here.changed_ns + 24, true);
}

static void another_file_or_machine_does_not(void **state)
{
	(void)state;
	const struct subject here = subject_of_this_machine();
	struct subject other = here;
	other.inode.inode++;
	must_not_be_known(&other, 0, true);
	other = here;
	other.inode.major ^= 1;
	must_not_be_known(&other, 0, true);
	other = here;
	strcat(other.path, "-gone");
	must_not_be_known(&other, 0, true);
	other = here;
	strcpy(other.machine.nodename, "elsewhere");
	must_not_be_known(&other, 0, false);
	other = here;
	strcpy(other.machine.release, "2.6.18");
	must_not_be_known(&other, 0, false);
}

/* A program that was built anew while it was recorded: a sample may be of either. */
static void two_files_of_one_path_are_neither(void **state)
{
	(void)state;
	const struct subject here = subject_of_this_machine();
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(buffer_release) struct buffer said = { 0 };
	struct perf_file_inode after = here.inode;
	after.inode++;
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	perf_put_mmap2(&file, 7, TEXT, 0x10000, &here.inode, here.path, 5);
	put_user_sample(&file, 10, 0x30);
	perf_put_mmap2(&file, 8, TEXT, 0x10000, &after, here.path, 20);
	perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, here.machine.nodename);
	perf_add_feature_text(&file, PERF_FEATURE_OSRELEASE, here.machine.release);
	perf_file_end(&file);
	assert_int_equal(build_id_bytes(&file, IMAGE_FILE, 0, &said), 0);
}

/* Where /proc/kallsyms shows the symbol; 0: it hides addresses, or has no such symbol. */
static uint64_t kernel_symbol(const char *name)
{
	char line[512], found[256];
	unsigned long long address, at = 0;
	FILE *table = fopen("/proc/kallsyms", "re");
	while (table && fgets(line, sizeof(line), table))
		if (sscanf(line, "%llx %*c %255s", &address, found) == 2 &&
		    strcmp(found, name) == 0)
			at = address;
	if (table)
		fclose(table);
	return at;
}

static size_t kernel_build_id_bytes(const struct subject *subject, uint64_t base,
				    uint64_t written_ns)
{
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(buffer_release) struct buffer said = { 0 };
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	perf_put_mmap(&file, UINT32_MAX, base, 0x1000000, base, "[kernel.kallsyms]_stext", 0, 0);
	put_sample(&file, USUAL_TYPE,
		   &(struct sample){ .ip = base + 0x1000,
				     .time = 20,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_KERNEL });
	perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, subject->machine.nodename);
	perf_add_feature_text(&file, PERF_FEATURE_OSRELEASE, subject->machine.release);
	perf_file_end(&file);
	return build_id_bytes(&file, IMAGE_KERNEL, written_ns, &said);
}

static void the_kernel_that_lies_where_it_did_is_the_running_one(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	const struct subject here = subject_of_this_machine();
	uint64_t base = kernel_symbol("_stext");
	size_t own = 0;
	if (small_file_read("/sys/kernel/notes", 65536, &notes) == 0)
		own = notes_find_build_id((struct span){ notes.data, notes.size }).size;
	if (!base)
		own = 0; /* who may not know where the kernel lies may not say that it is the same
			  */
	if (!base)
		base = 0xffffffff81000000;
	assert_int_equal(kernel_build_id_bytes(&here, base, 0), own);
	/* another boot, before this one, another machine */
	assert_int_equal(kernel_build_id_bytes(&here, base + 0x200000, 0), 0);
	assert_int_equal(kernel_build_id_bytes(&here, base, 1), 0);
	struct subject other = here;
	strcpy(other.machine.release, "2.6.18");
	assert_int_equal(kernel_build_id_bytes(&other, base, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_paths_of_one_build_id_are_two_images),
		cmocka_unit_test(a_file_of_this_machine_brings_its_build),
		cmocka_unit_test(another_file_or_machine_does_not),
		cmocka_unit_test(two_files_of_one_path_are_neither),
		cmocka_unit_test(the_kernel_that_lies_where_it_did_is_the_running_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
