#include "import/perf_data/perf_data_here.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/small_file.h"
#include "image/elf_file.h"
#include "image/notes.h"
#include "image/vdso.h"
#include "import/importer.h"
#include "import/perf_data/perf_data_places.h"
#include "import/text/text_lines.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"

#define KALLSYMS_MAX_BYTES (256u << 20)
#define MODULES_MAX_BYTES  (4u << 20)
#define NOTES_MAX_BYTES	   65536
#define NS_PER_S	   UINT64_C(1000000000)
#define FILES_SHOWN	   3

void perf_here_release(struct perf_here *here)
{
	reader_free(here->reader);
	buffer_release(&here->modules);
	buffer_release(&here->changed);
	*here = (struct perf_here){ 0 };
}

/* Whether the recording is of this machine, by its name and its kernel's release. */
static bool is_of_this_machine(const struct perf_recording *recording)
{
	struct utsname here;
	return uname(&here) == 0 && span_equal(recording->host, span_of_text(here.nodename)) &&
	       span_equal(recording->kernel, span_of_text(here.release));
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	return clock_gettime(clock, &now) < 0
		       ? 0
		       : (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/*
 * When a record of that time was written, or later, in ns since 1970: by the clocks' common moment
 * where the recording has one; else the last sample came before the file was written, or comes as
 * the file is read. Records of what was mapped before the recording have no time (0): they came
 * before the first sample.
 */
static uint64_t wall_ns(const struct perf_recording *recording, uint64_t time)
{
	if (!time)
		time = recording->first_sample_ns;
	if (recording->wall_ns)
		return recording->wall_ns + (time - recording->wall_at_ns);
	uint64_t written = recording->written_ns ? recording->written_ns : clock_ns(CLOCK_REALTIME);
	uint64_t ago = recording->last_sample_ns > time ? recording->last_sample_ns - time : 0;
	return written > ago ? written - ago : written;
}

struct binary_inode perf_here_inode(const struct perf_recording *recording,
				    const struct perf_image *image)
{
	if (!image->inode || image->several || !is_of_this_machine(recording))
		return (struct binary_inode){ 0 };
	return (struct binary_inode){ makedev(image->major, image->minor), image->inode,
				      image->generation, wall_ns(recording, image->mapped_ns) };
}

/* ---- files */

/* Makes the reader, which stays NULL when none can be made. 0 or -ENOMEM. */
static int need_reader(struct perf_here *here)
{
	if (here->reader || here->reader_failed)
		return 0;
	int ret = reader_new(NULL, &here->reader, NULL);
	here->reader_failed = ret < 0;
	return ret == -ENOMEM ? ret : 0;
}

static void take_identity(struct perf_image *image, const struct identity *identity,
			  uint64_t writer)
{
	if (identity->build_id_bytes > PERF_BUILD_ID_ROOM)
		return;
	memcpy(image->build_id, identity->build_id, identity->build_id_bytes);
	image->build_id_bytes = (uint8_t)identity->build_id_bytes;
	image->hash = identity->hash;
	image->has_hash = identity->content != CONTENT_NONE;
	image->writer = writer;
}

static int identify_content(struct perf_here *here, const struct safe_file *file,
			    struct identity *identity)
{
	uint8_t unique[READER_UNIQUE_BYTES];
	reader_unique(file, unique);
	return reader_identify_content(here->reader, file->fd,
				       file->writer ? CONTENT_FILE : CONTENT_TEXT,
				       (struct span){ unique, sizeof(unique) }, identity, NULL);
}

static void note_changed(struct perf_here *here, const char *path)
{
	if (here->changed_count++ < FILES_SHOWN)
		buffer_printf(&here->changed, "%s'%s'", here->changed_count > 1 ? ", " : "", path);
}

void perf_here_report(const struct perf_here *here, const struct import_options *options)
{
	char more[32] = "";
	if (!here->changed_count || buffer_failed(&here->changed))
		return;
	if (here->changed_count > FILES_SHOWN)
		snprintf(more, sizeof(more), " and %zu more", here->changed_count - FILES_SHOWN);
	import_report(options, IMPORT_NOTE,
		      "the recording names no builds, and files of this machine are not those that "
		      "it saw any more: %.*s%s",
		      (int)here->changed.size, (const char *)here->changed.data, more);
}

static int identify_file(struct perf_here *here, const struct perf_recording *recording,
			 struct perf_image *image)
{
	const struct binary_inode wanted = perf_here_inode(recording, image);
	struct identity identity;
	struct safe_file file;
	if (!wanted.inode)
		return 0;
	int ret = need_reader(here);
	if (ret < 0 || !here->reader)
		return ret;
	if (reader_open_path(here->reader, 0, image->name, OWNER_ANY, &file, NULL) < 0) {
		note_changed(here, image->name);
		return 0;
	}
	if (!file_inode_is(file.fd, &wanted))
		note_changed(here, image->name);
	else if (identify_content(here, &file, &identity) == 0)
		take_identity(image, &identity, file.writer);
	close(file.fd);
	return 0;
}

/* ---- the kernel, its modules and what it maps into processes */

/* The address of a symbol in a table as /proc/kallsyms has it; 0: hidden, or not there. */
static uint64_t find_symbol(struct span table, const char *wanted)
{
	struct span line;
	while (text_lines_cut(&table, &line)) /* "ffffffff81000000 T _text" */
		if (line.size == strlen(wanted) + 19 && span_ends_with(line, wanted))
			return strtoull(line.data, NULL, 16);
	return 0;
}

/* Finds out whether the kernel that runs here is the one that was recorded. 0 or -ENOMEM. */
static int look_at_kernel(struct perf_here *here, const struct perf_recording *recording,
			  const struct perf_places *places)
{
	CLEANUP(buffer_release) struct buffer table = { 0 };
	if (here->looked_at_kernel)
		return 0;
	here->looked_at_kernel = true;
	uint64_t booted_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
	if (!places->kernel_symbol_at || !is_of_this_machine(recording) ||
	    wall_ns(recording, recording->last_sample_ns) < booted_ns)
		return 0;
	int ret = small_file_read("/proc/kallsyms", KALLSYMS_MAX_BYTES, &table);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	here->same_kernel = find_symbol((struct span){ table.data, table.size },
					places->kernel_symbol) == places->kernel_symbol_at;
	if (here->same_kernel)
		ret = small_file_read("/proc/modules", MODULES_MAX_BYTES, &here->modules);
	return ret == -ENOMEM ? ret : 0;
}

static int take_notes(struct perf_image *image, const char *path)
{
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	int ret = small_file_read(path, NOTES_MAX_BYTES, &notes);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	struct span id = notes_find_build_id((struct span){ notes.data, notes.size });
	if (id.size && id.size <= PERF_BUILD_ID_ROOM) {
		memcpy(image->build_id, id.data, id.size);
		image->build_id_bytes = (uint8_t)id.size;
	}
	return 0;
}

/* A module of the running kernel, if it is loaded where it was in the recording. */
static int identify_module(const struct perf_here *here, struct perf_image *image)
{
	CLEANUP(kernel_modules_release) struct kernel_modules modules = { 0 };
	char path[256];
	if (kernel_modules_parse((struct span){ here->modules.data, here->modules.size },
				 &modules) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < modules.count; i++) {
		if (!span_equal(modules.list[i].name, span_of_text(image->name)) ||
		    !image->mapped_at || modules.list[i].base != image->mapped_at)
			continue;
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
			 image->name);
		return take_notes(image, path);
	}
	return 0;
}

/* The vdso: our own is that of all processes of 64 bits. Those of 32 bits have theirs below 4 GiB.
 */
static int identify_vdso(struct perf_image *image)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(elf_file_release) struct elf_file file = { 0 };
	struct identity identity;
	if (strncmp(image->name, "[vdso", 5) != 0 || image->several ||
	    image->mapped_at <= UINT32_MAX || vdso_read(&bytes, NULL) < 0 ||
	    elf_file_parse(bytes.data, bytes.size, &file, NULL) < 0)
		return 0;
	identity_of_file(&file, &identity);
	if (identity.build_id_bytes)
		take_identity(image, &identity, 0);
	return 0;
}

int perf_here_identify(struct perf_here *here, const struct perf_recording *recording,
		       const struct perf_places *places, struct perf_image *image)
{
	if (image->build_id_bytes || image->runtime || image->kind == IMAGE_UNKNOWN)
		return 0;
	if (image->kind == IMAGE_FILE)
		return identify_file(here, recording, image);
	int ret = look_at_kernel(here, recording, places);
	if (ret < 0 || !here->same_kernel)
		return ret;
	switch (image->kind) {
	case IMAGE_KERNEL:
		return take_notes(image, "/sys/kernel/notes");
	case IMAGE_MODULE:
		return identify_module(here, image);
	case IMAGE_VDSO:
		return identify_vdso(image);
	default:
		return 0;
	}
}
