#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/names/local_files_private.h"
#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "image/notes.h"
#include "symbol/kallsyms.h"

#define NOTES_MAX_BYTES	   65536
#define KALLSYMS_MAX_BYTES (256u << 20) /* 20 MB on large kernels */
#define MODULES_MAX_BYTES  (4u << 20)
#define RELEASE_PATHS	   6

/* ---- vmlinux */

/* Where distributions, builders and perf put it. */
static int vmlinux_paths(const struct search *search, char (*room)[512], struct span *paths)
{
	static const char *const with_release[] = {
		"/usr/lib/debug/boot/vmlinux-%.*s",
		"/usr/lib/debug/lib/modules/%.*s/vmlinux",
		"/boot/vmlinux-%.*s",
		"/lib/modules/%.*s/build/vmlinux",
		"/lib/modules/%.*s/vmlinux",
	};
	struct span release = { NULL, 0 };
	for (size_t row = 0;
	     release.size == 0 && row < profile_table(search->profile, PROFILE_SOURCE)->count;
	     row++)
		release = profile_source(search->profile, row).kernel;
	int count = 0;
	paths[count++] = span_of_text("/vmlinux");
	if (release.size == 0 || release.size > 256 || memchr(release.data, '/', release.size))
		return count;
	for (size_t i = 0; i < sizeof(with_release) / sizeof(with_release[0]); i++) {
		snprintf(room[i], sizeof(room[i]), with_release[i], (int)release.size,
			 (const char *)release.data);
		paths[count++] = span_of_text(room[i]);
	}
	return count;
}

/* Reads the kernel's own ELF file: its section of text begins where the image's addresses are
 * counted from. 0, 1 when there is none, or -ENOMEM. */
static int gather_vmlinux(struct search *search, struct wanted_image *wanted)
{
	char room[RELEASE_PATHS][512];
	struct span paths[RELEASE_PATHS];
	struct binary_found found;
	const struct binary_wanted like = { .build_id = wanted->image.build_id,
					    .paths = paths,
					    .path_count =
						    (size_t)vmlinux_paths(search, room, paths) };
	int ret = binary_finder_open(search->finder, &like, &found);
	if (ret < 0)
		return ret == -ENOENT ? 1 : ret;
	CLEANUP(buffer_release) struct buffer path = found.path;
	struct identity_segment text = { 0, found.identity.text_vaddr, UINT64_MAX };
	ret = text.vaddr ? local_search_translate(search, wanted, &text, 1) : 1;
	if (ret != 0) {
		close(found.fd);
		return ret;
	}
	int debug_fd = binary_finder_open_debug(search->finder, &found.identity, NULL, found.owner,
						found.writer);
	search->files->images[wanted->id - 1].machine = found.identity.machine;
	wanted->title = buffer_text(&path);
	ret = local_readings_add(search, wanted, found.fd, debug_fd, search->what, FOUND_BY_BUILD);
	wanted->title = NULL;
	if (found.by_name)
		local_search_count(&search->by_name, &search->by_name_count, buffer_text(&path));
	return ret;
}

/* ---- Tables of symbols as /proc/kallsyms has them */

/* Reads a file below a folder that the user named. False: not there, or empty. */
static bool read_table(struct search *search, const char *root, const char *path, uint64_t limit,
		       struct buffer *out)
{
	struct safe_file file;
	buffer_empty(out);
	if (reader_open_below(search->reader, root, path, &file, NULL) < 0)
		return false;
	int ret = reader_read(search->reader, file.fd, 0, limit, out, NULL);
	close(file.fd);
	budget_read_local(out->size, out->size);
	return ret == 0 && out->size > 0;
}

/* Reads the symbols of that build from perf's cache, or a folder laid out like it. */
static bool read_of_build(struct search *search, const char *root, struct span build_id,
			  struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer hexadecimal = { 0 };
	CLEANUP(buffer_release) struct buffer path = { 0 };
	if (!root || build_id.size < 2)
		return false;
	buffer_append_hex(&hexadecimal, build_id.data, build_id.size);
	const char *digits = buffer_text(&hexadecimal);
	buffer_printf(&path, ".build-id/%.2s/%s/kallsyms", digits, digits + 2);
	return read_table(search, root, buffer_text(&path), KALLSYMS_MAX_BYTES, out);
}

static bool read_below(struct search *search, const char *root, const char *const *names,
		       uint64_t limit, struct buffer *out, struct buffer *path)
{
	for (size_t i = 0; names[i]; i++) {
		path->size = 0;
		buffer_printf(path, "%s/%s", root, names[i]);
		if (read_table(search, root, names[i], limit, out))
			return true;
	}
	return false;
}

static void kernel_tables_release(struct kernel_tables *tables)
{
	kallsyms_release(&tables->kallsyms);
	kernel_modules_release(&tables->modules);
	buffer_release(&tables->bytes);
	buffer_release(&tables->module_bytes);
	*tables = (struct kernel_tables){ 0 };
}

void local_kernel_release(struct search *search)
{
	kernel_tables_release(&search->running);
	kernel_tables_release(&search->stored);
	kernel_tables_release(&search->usual);
	buffer_release(&search->stored_build_id);
	buffer_release(&search->usual_path);
}

/* Parses the bytes that were read; there may be none of modules. */
static int parse_tables(struct kernel_tables *tables)
{
	const struct span bytes = { tables->bytes.data, tables->bytes.size };
	const struct span modules = { tables->module_bytes.data, tables->module_bytes.size };
	tables->read = true;
	return kallsyms_parse(bytes, &tables->kallsyms) < 0 ||
			       kernel_modules_parse(modules, &tables->modules) < 0
		       ? -ENOMEM
		       : 0;
}

/* Where a module's text starts; 0: not known. */
static uint64_t find_module(const struct kernel_tables *tables, struct span module)
{
	uint64_t base = 0;
	for (size_t i = 0; i < tables->modules.count; i++)
		if (span_equal(tables->modules.list[i].name, module))
			base = tables->modules.list[i].base;
	return base;
}

/* Names from parsed tables. 0 with *hidden, or -ENOMEM. */
static int gather_tables(struct search *search, struct wanted_image *wanted,
			 const struct kernel_tables *tables, bool *hidden)
{
	CLEANUP(record_set_release) struct record_set records = { 0 };
	const struct kallsyms *kallsyms = &tables->kallsyms;
	struct span module = { NULL, 0 };
	uint64_t base = kallsyms->stext;
	if (wanted->image.kind == IMAGE_MODULE) {
		module = wanted->image.name;
		base = find_module(tables, module);
	}
	*hidden = kallsyms->hidden || base == 0;
	if (*hidden)
		return 0;
	if (kallsyms_records(kallsyms, module, base, wanted->vaddrs, wanted->count, &records) < 0)
		return -ENOMEM;
	return local_search_keep(search, wanted->id, &records);
}

/* Reads the symbols of a build from symfs or perf's cache, unless it was the last one too. */
static int read_stored(struct search *search, const char *symfs, struct span build_id)
{
	struct kernel_tables *tables = &search->stored;
	const struct span known = { search->stored_build_id.data, search->stored_build_id.size };
	if (tables->read && span_equal(known, build_id))
		return 0;
	kernel_tables_release(tables);
	buffer_empty(&search->stored_build_id);
	buffer_append(&search->stored_build_id, build_id.data, build_id.size);
	if (!read_of_build(search, symfs, build_id, &tables->bytes) &&
	    !read_of_build(search, search->options->perf_cache, build_id, &tables->bytes))
		buffer_release(&tables->bytes);
	return buffer_failed(&search->stored_build_id) ? -ENOMEM : parse_tables(tables);
}

/* Reads the symbols below symfs under their usual names, of whatever build, once. */
static int read_usual(struct search *search, const char *symfs)
{
	static const char *const symbols[] = { "proc/kallsyms", "kallsyms", NULL };
	static const char *const modules[] = { "proc/modules", "modules", NULL };
	CLEANUP(buffer_release) struct buffer module_path = { 0 };
	struct kernel_tables *tables = &search->usual;
	if (tables->read)
		return 0;
	if (!read_below(search, symfs, symbols, KALLSYMS_MAX_BYTES, &tables->bytes,
			&search->usual_path))
		buffer_release(&tables->bytes);
	else if (!read_below(search, symfs, modules, MODULES_MAX_BYTES, &tables->module_bytes,
			     &module_path))
		buffer_release(&tables->module_bytes);
	return parse_tables(tables);
}

/* Are there symbols, and for a module the table of where modules are? */
static bool has_tables(const struct kernel_tables *tables, const struct wanted_image *wanted)
{
	return tables->bytes.size &&
	       (wanted->image.kind != IMAGE_MODULE || tables->module_bytes.size);
}

/* 0, 1 when there are no tables, or -ENOMEM. */
static int gather_stored_tables(struct search *search, struct wanted_image *wanted)
{
	CLEANUP(free_pointer)
	char *symfs = search->options->symfs ? realpath(search->options->symfs, NULL) : NULL;
	bool hidden;
	int ret;
	if (wanted->image.kind == IMAGE_KERNEL) {
		ret = read_stored(search, symfs, wanted->image.build_id);
		if (ret == 0 && has_tables(&search->stored, wanted)) {
			ret = gather_tables(search, wanted, &search->stored, &hidden);
			return ret == 0 && hidden ? 1 : ret;
		}
		if (ret < 0)
			return ret;
	}
	if (!symfs)
		return 1;
	ret = read_usual(search, symfs);
	if (ret < 0 || !has_tables(&search->usual, wanted))
		return ret < 0 ? ret : 1;
	ret = gather_tables(search, wanted, &search->usual, &hidden);
	if (ret < 0 || hidden)
		return ret < 0 ? ret : 1;
	local_search_count(&search->by_name, &search->by_name_count,
			   buffer_text(&search->usual_path));
	return 0;
}

/* ---- The kernel that runs here */

static bool notes_match(const char *path, struct span build_id)
{
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	if (build_id.size == 0 || small_file_read(path, NOTES_MAX_BYTES, &notes) < 0)
		return false;
	return span_equal(build_id, notes_find_build_id((struct span){ notes.data, notes.size }));
}

/* Is it this machine's kernel, or one of its modules? */
static bool runs_here(const struct wanted_image *wanted)
{
	char path[512] = "/sys/kernel/notes";
	struct span module = wanted->image.name;
	if (wanted->image.kind == IMAGE_MODULE) {
		if (module.size == 0 || memchr(module.data, '/', module.size))
			return false;
		snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id",
			 (int)module.size, (const char *)module.data);
	}
	return notes_match(path, wanted->image.build_id);
}

/* Reads the tables of this machine's kernel, once: a recording may have a hundred modules. */
static int read_running(struct kernel_tables *tables)
{
	if (tables->read)
		return 0;
	if (small_file_read("/proc/kallsyms", KALLSYMS_MAX_BYTES, &tables->bytes) < 0)
		buffer_release(&tables->bytes);
	if (small_file_read("/proc/modules", MODULES_MAX_BYTES, &tables->module_bytes) < 0)
		buffer_release(&tables->module_bytes);
	return parse_tables(tables);
}

static int gather_running(struct search *search, struct wanted_image *wanted)
{
	struct kernel_tables *tables = &search->running;
	bool hidden = false;
	int ret = read_running(tables);
	if (ret == 0 && has_tables(tables, wanted))
		ret = gather_tables(search, wanted, tables, &hidden);
	if (hidden)
		local_search_note(search, "kernel addresses stay unnamed: /proc/kallsyms hides its "
					  "addresses (kptr_restrict)");
	return ret;
}

/* Why no symbols on this machine are the image's. */
static const char *why_unnamed(const struct wanted_image *wanted)
{
	if (wanted->image.space != SPACE_TEXT)
		return "the recording does not say where the kernel lay";
	if (!wanted->image.build_id.size)
		return "the recording does not say of which build the kernel or module is";
	return "the samples are of another kernel or module than runs here";
}

int local_kernel_gather(struct search *search, struct wanted_image *wanted)
{
	int ret = 1;
	if (wanted->image.space == SPACE_TEXT && wanted->image.kind == IMAGE_KERNEL)
		ret = gather_vmlinux(search, wanted);
	if (ret == 1 && wanted->image.space == SPACE_TEXT)
		ret = gather_stored_tables(search, wanted);
	if (ret != 1)
		return ret;
	if (wanted->image.space == SPACE_TEXT && runs_here(wanted))
		return gather_running(search, wanted);
	if (search->time.left_ns)
		local_search_note(search, "kernel addresses stay unnamed: %s", why_unnamed(wanted));
	else
		local_search_late(search, wanted->id);
	return 0;
}
