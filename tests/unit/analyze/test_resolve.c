#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "image/writer.h"
#include "base/error.h"
#include "base/small_file.h"
#include "image/notes.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "support/toolchain.h"

static const struct resolver_options stash_only = { .stash_only = true };

static void add_function(struct profile *profile, uint32_t image, uint64_t first, uint64_t last,
			 const char *name, uint64_t flags, uint64_t parent)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct function_record function = { flags, parent, span_of_text(name) };
	record_put_function(&content, first, &function);
	struct record record = { RECORD_FUNCTION, first, last, { content.data, content.size } };
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
}

static uint32_t add_image(struct profile *profile, enum image_kind kind, const char *name,
			  const char *build_id)
{
	struct profile_image image = { .kind = kind,
				       .build_id = span_of_text(build_id),
				       .name = span_of_text(name) };
	uint32_t id;
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	return id;
}

static struct resolver *resolver_of(const struct profile *profile,
				    const struct resolver_options *options)
{
	struct resolver *resolver = NULL;
	struct error err = { 0 };
	if (resolver_new(profile, options, &resolver, &err) < 0)
		fail_msg("%s", err.text);
	return resolver;
}

static const struct procedure *procedure_at(struct resolver *resolver, enum frame_kind kind,
					    uint32_t image, uint64_t vaddr)
{
	struct profile_frame frame = { .kind = kind, .image = image, .vaddr = vaddr };
	const struct place *place = resolver_place(resolver, &frame);
	assert_non_null(place);
	assert_ptr_equal(place, resolver_place(resolver, &frame));
	return place->procedure;
}

static void images_have_short_names(void **state)
{
	(void)state;
	static const struct {
		enum image_kind kind;
		const char *name, *build_id, *path, *shown;
	} cases[] = {
		{ IMAGE_FILE, NULL, "\xab\1", "/usr/bin/gcc", "gcc" },
		{ IMAGE_FILE, NULL, "\xab\2", "/usr/bin/gone (deleted)", "gone" },
		{ IMAGE_FILE, NULL, "\xab\3", NULL, "[build-id ab03]" },
		{ IMAGE_FILE, "/opt/x/tool", NULL, NULL, "tool" },
		{ IMAGE_KERNEL, NULL, "\xab\4", NULL, "[kernel]" },
		{ IMAGE_KERNEL, "kernel, base unknown", NULL, NULL, "[kernel, base unknown]" },
		{ IMAGE_MODULE, "nf_tables", "\xab\5", NULL, "[nf_tables]" },
		{ IMAGE_VDSO, NULL, "\xab\6", NULL, "[vdso]" },
		{ IMAGE_BPF, "6deef7357e7b4530 count", NULL, NULL, "[bpf 6deef7357e7b4530 count]" },
		{ IMAGE_UNKNOWN, "no mapping", NULL, NULL, "[unknown: no mapping]" },
		{ IMAGE_NAME, "java", NULL, NULL, "java" },
	};
	enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
	struct test_profile test = test_profile_new();
	uint32_t ids[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		ids[i] = add_image(test.profile, cases[i].kind, cases[i].name, cases[i].build_id);
		if (cases[i].path)
			assert_int_equal(
				profile_add_path(test.profile, ids[i], span_of_text(cases[i].path)),
				0);
	}
	/* The first path in their order, not the first that was seen. */
	assert_int_equal(profile_add_path(test.profile, ids[0], span_of_text("/usr/a/cc")), 0);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &stash_only);
	assert_string_equal(resolver_image(resolver, ids[0]), "cc");
	for (size_t i = 1; i < COUNT; i++)
		assert_string_equal(resolver_image(resolver, ids[i]), cases[i].shown);
	assert_string_equal(resolver_image(resolver, 0), "");
	profile_free(test.profile);
}

static void procedures_come_from_the_stash(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	uint32_t image = add_image(test.profile, IMAGE_FILE, NULL, "\xab\1");
	assert_int_equal(profile_add_path(test.profile, image, span_of_text("/bin/x")), 0);
	add_function(test.profile, image, 0x100, 0x1ff, "_ZN2ns1hEd", 0, 0);
	add_function(test.profile, image, 0x200, 0x2ff, "", FUNCTION_UNNAMED, 0);
	add_function(test.profile, image, 0x300, 0x30f, "_ZN2ns1hEd@plt", FUNCTION_PLT, 0);
	add_function(test.profile, image, 0x400, 0x40f, "_ZN2ns1hEd.cold", FUNCTION_COLD, 0x100);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &stash_only);

	const struct procedure *h = procedure_at(resolver, FRAME_IP, image, 0x1ff);
	assert_string_equal(h->name, "ns::h(double)");
	assert_string_equal(h->linkage, "_ZN2ns1hEd");
	assert_true(h->extent_known);
	assert_int_equal(h->first, 0x100);
	assert_int_equal(h->last, 0x1ff);
	/* A call may be the last instruction: its return address is the next function's. */
	assert_ptr_equal(procedure_at(resolver, FRAME_RETURN, image, 0x200), h);
	const struct procedure *unnamed = procedure_at(resolver, FRAME_IP, image, 0x200);
	assert_string_equal(unnamed->name, "x+0x200");
	assert_false(unnamed->named);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, 0x300)->name,
			    "ns::h(double)@plt");
	const struct procedure *cold = resolver_cold(resolver, h);
	assert_non_null(cold);
	assert_string_equal(cold->name, "ns::h(double) [clone .cold]");
	assert_null(resolver_cold(resolver, unnamed));
	const struct procedure *outside = procedure_at(resolver, FRAME_IP, image, 0x1000);
	assert_string_equal(outside->name, "[x]");
	assert_false(outside->extent_known);
	assert_ptr_equal(procedure_at(resolver, FRAME_IP, image, 0x2000), outside);
	profile_free(test.profile);
}

/* Its binder has 62^10 lifetimes, which the demangler counts in silence. */
static void a_name_that_demangles_for_ever_is_shown_as_it_is(void **state)
{
	(void)state;
	static const char endless[] = "_RNvMNvYFGzzzzzzzzzz_EuNtC1a1b1c1d1e";
	struct test_profile test = test_profile_new();
	uint32_t image = add_image(test.profile, IMAGE_FILE, NULL, "\xab\1");
	add_function(test.profile, image, 0x100, 0x200, endless, 0, 0);
	add_function(test.profile, image, 0x200, 0x300, "_ZN2ns1hEd", 0, 0);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &stash_only);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, 0x110)->name, endless);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, 0x210)->name, "ns::h(double)");
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_string_equal(notes[0], "a mangled name could not be read: no answer within 500 ms; "
				      "such names are shown as the linker has them");
	profile_free(test.profile);
}

/* A stranger's file has so many of them that no time is left for names of his. */
static void hostile_names_leave_those_of_trusted_files_alone(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	uint32_t trusted = add_image(test.profile, IMAGE_FILE, NULL, "\xab\1");
	struct profile_image strangers = { .kind = IMAGE_FILE,
					   .build_id = span_of_text("\xab\2"),
					   .writer = writer_of(WRITER_USER, 1000) };
	uint32_t image;
	assert_int_equal(profile_add_image(test.profile, &strangers, &image), 0);
	for (unsigned i = 0; i < 12; i++) {
		char name[64];
		snprintf(name, sizeof(name), "_RNvMNvYFGzzzzzzzzzz_EuNtC1a1b1c1d1%c", 'a' + i);
		add_function(test.profile, image, 0x100 * i, 0x100 * i + 0xff, name, 0, 0);
	}
	add_function(test.profile, image, 0x2000, 0x20ff, "_ZN2ns1hEd", 0, 0);
	add_function(test.profile, trusted, 0x2000, 0x20ff, "_ZN2ns1hEd", 0, 0);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &stash_only);
	for (unsigned i = 0; i < 12; i++)
		assert_non_null(procedure_at(resolver, FRAME_IP, image, 0x100 * i));
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, 0x2010)->name, "_ZN2ns1hEd");
	assert_string_equal(procedure_at(resolver, FRAME_IP, trusted, 0x2010)->name,
			    "ns::h(double)");
	profile_free(test.profile);
}

static void bare_names_are_procedures_of_that_name(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	struct profile_frame frame = { .kind = FRAME_RETURN };
	assert_int_equal(profile_add_text(test.profile, "some function", &frame.name), 0);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &stash_only);
	const struct place *place = resolver_place(resolver, &frame);
	assert_string_equal(place->procedure->name, "some function");
	assert_true(place->procedure->named);
	const struct source_frame *frames;
	assert_int_equal(resolver_source(resolver, place, &frames), 0);
	profile_free(test.profile);
}

static const char program[] = "static inline __attribute__((always_inline)) int twice(int x)\n"
			      "{\n"
			      "	return x / 7 * x;\n"
			      "}\n"
			      "int work(int x)\n"
			      "{\n"
			      "	return twice(x) + 3;\n"
			      "}\n"
			      "int main(int c, char **v) { (void)v; return work(c); }\n";

/* A profile of `path` with a sample at every byte of work(), and no stash. */
static struct test_profile profile_of(const char *path, uint64_t work, uint64_t size,
				      uint32_t *image)
{
	struct test_profile test = test_profile_new();
	struct reader *reader = NULL;
	struct identity identity;
	assert_int_equal(reader_new(NULL, &reader, NULL), 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(reader_identify(reader, fd, &identity, NULL), 0);
	close(fd);
	reader_free(reader);
	struct profile_image file = { .kind = IMAGE_FILE,
				      .space = SPACE_ELF,
				      .build_id = { identity.build_id, identity.build_id_bytes } };
	assert_int_equal(profile_add_image(test.profile, &file, image), 0);
	assert_int_equal(profile_add_path(test.profile, *image, span_of_text(path)), 0);
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	test.image = *image;
	for (uint64_t at = 0; at < size; at++)
		test_address(&test, work + at, 1, 1);
	return test;
}

static void files_of_the_same_build_stand_in_for_a_stash(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -g -O2 -Wl,--build-id p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	uint64_t size = toolchain_address(folder.path, "nm -S p | grep ' work' | cut -d' ' -f2");
	const char *path = temporary_folder_path(&folder, "p");
	uint32_t image;
	struct test_profile test = profile_of(path, work, size, &image);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, NULL);
	size_t inlined = 0;
	const struct procedure *procedure = NULL;
	for (uint64_t at = 0; at < size; at++) {
		struct profile_frame frame = { .image = image, .vaddr = work + at };
		const struct place *place = resolver_place(resolver, &frame);
		const struct source_frame *frames;
		procedure = place->procedure;
		assert_string_equal(procedure->name, "work");
		size_t depth = resolver_source(resolver, place, &frames);
		assert_in_range(depth, 1, 2);
		assert_null(frames[depth - 1].function);
		assert_non_null(frames[0].file);
		assert_non_null(strstr(frames[0].file, "p.c"));
		if (depth == 2) {
			inlined++;
			assert_string_equal(frames[0].function, "twice");
			assert_int_equal(frames[0].line, 3);
			assert_int_equal(frames[1].line, 7);
		}
	}
	assert_true(inlined > 0);
	uint64_t first = 0;
	assert_int_equal(resolver_code(resolver, procedure, &first).size, size);
	assert_int_equal(first, work);
	assert_non_null(resolver_lines(resolver, procedure));
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 0);
	profile_free(test.profile);
}

/* A second image of the same file: its name differs, and so do its addresses. */
static uint32_t add_spelling(struct test_profile *test, uint32_t image, const char *path,
			     uint64_t vaddr)
{
	struct profile_image spelled = profile_image(test->profile, image);
	spelled.name = span_of_text(path);
	assert_int_equal(profile_add_image(test->profile, &spelled, &test->image), 0);
	assert_int_equal(profile_add_path(test->profile, test->image, span_of_text(path)), 0);
	test_address(test, vaddr, 1, 1);
	return test->image;
}

static void images_that_are_one_file_are_named_each_by_itself(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(buffer_release) struct buffer again = { 0 };
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -O2 -g -Wl,--build-id p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	uint64_t start = toolchain_address(folder.path, "nm p | grep ' main'");
	uint32_t image;
	struct test_profile test = profile_of(temporary_folder_path(&folder, "p"), work, 1, &image);
	buffer_printf(&again, "%s/./p", folder.path);
	uint32_t other = add_spelling(&test, image, buffer_text(&again), start);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, NULL);
	/* in turns, for both have the same records */
	for (int i = 0; i < 2; i++) {
		const struct procedure *first = procedure_at(resolver, FRAME_IP, image, work);
		const struct procedure *second = procedure_at(resolver, FRAME_IP, other, start);
		assert_string_equal(first->name, "work");
		assert_string_equal(second->name, "main");
		assert_int_equal(first->image, image);
		assert_int_equal(second->image, other);
		assert_non_null(resolver_lines(resolver, first));
		assert_non_null(resolver_lines(resolver, second));
		const struct procedure *same = procedure_at(resolver, FRAME_IP, other, work);
		assert_ptr_not_equal(same, first);
		assert_int_equal(same->image, other);
	}
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 0);
	profile_free(test.profile);
}

static void what_there_was_no_time_for_is_told(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -O2 -Wl,--build-id p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	const char *path = temporary_folder_path(&folder, "p");
	uint32_t image;
	struct test_profile test = profile_of(path, work, 1, &image);
	for (int i = 0; i < 4; i++) {
		char spelled[] = "/nowhere/0";
		spelled[sizeof(spelled) - 2] = (char)('0' + i);
		add_spelling(&test, image, spelled, work);
	}
	const struct resolver_options options = { .read_time_ns = 1 };
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &options);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, work)->name, "[p]");
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_non_null(strstr(notes[0], "/p', '/nowhere/0', '/nowhere/1' and 2 more this "
					 "machine's files were not read: those of other images "
					 "took 1e-09 s, the limit"));
	profile_free(test.profile);
}

static void a_file_of_another_build_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -O2 -Wl,--build-id p.c -o p; mkdir -p old%s; cp p old%s/p",
		      folder.path, folder.path);
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	const char *path = temporary_folder_path(&folder, "p");
	uint32_t image;
	struct test_profile test = profile_of(path, work, 1, &image);
	toolchain_run(folder.path, "cc -O1 -DOTHER -g -Wl,--build-id p.c -o p");

	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, NULL);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, work)->name, "[p]");
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_non_null(strstr(notes[0], "no file of the same build as"));

	/* The old one still lies below another root. */
	struct resolver_options options = { .symfs = temporary_folder_path(&folder, "old") };
	CLEANUP(resolver_freep) struct resolver *with_root = resolver_of(test.profile, &options);
	assert_string_equal(procedure_at(with_root, FRAME_IP, image, work)->name, "work");
	profile_free(test.profile);
}

/* The one note about a kernel that nothing here names. */
static void must_stay_unnamed(const struct profile_image *kernel, const char *words)
{
	struct test_profile test = test_profile_new();
	uint32_t image;
	assert_int_equal(profile_add_image(test.profile, kernel, &image), 0);
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	test.image = image;
	test_address(&test, 0x1000, 1, 1);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, NULL);
	assert_string_equal(procedure_at(resolver, FRAME_IP, image, 0x1000)->name, "[kernel]");
	const char *const *notes;
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_non_null(strstr(notes[0], words));
	profile_free(test.profile);
}

static void another_kernel_is_never_named_from_this_one(void **state)
{
	(void)state;
	must_stay_unnamed(&(struct profile_image){ .kind = IMAGE_KERNEL,
						   .space = SPACE_TEXT,
						   .build_id = { "somebody else's", 15 } },
			  "another kernel or module than runs here");
	/* it may be this one: nobody knows */
	must_stay_unnamed(&(struct profile_image){ .kind = IMAGE_KERNEL, .space = SPACE_TEXT },
			  "does not say of which build the kernel or module is");
	must_stay_unnamed(&(struct profile_image){ .kind = IMAGE_KERNEL,
						   .space = SPACE_PROCESS,
						   .build_id = { "somebody else's", 15 } },
			  "does not say where the kernel lay");
}

static void this_kernel_is_named_from_its_own_symbols(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	CLEANUP(buffer_release) struct buffer listing = { 0 };
	CLEANUP(kallsyms_release) struct kallsyms kallsyms = { 0 };
	struct span build_id = { NULL, 0 };
	if (small_file_read("/sys/kernel/notes", 65536, &notes) == 0)
		build_id = notes_find_build_id((struct span){ notes.data, notes.size });
	if (build_id.size && small_file_read("/proc/kallsyms", 256u << 20, &listing) == 0)
		assert_int_equal(
			kallsyms_parse((struct span){ listing.data, listing.size }, &kallsyms), 0);
	if (kallsyms.count == 0 || !kallsyms.stext) {
		SKIP("kernel addresses are hidden from this user");
	}
	const struct kernel_symbol *symbol = &kallsyms.symbols[kallsyms.count / 2];
	struct test_profile test = test_profile_new();
	struct profile_image kernel = { .kind = IMAGE_KERNEL,
					.space = SPACE_TEXT,
					.build_id = build_id };
	uint32_t image;
	assert_int_equal(profile_add_image(test.profile, &kernel, &image), 0);
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	test.image = image;
	test_address(&test, symbol->address - kallsyms.stext, 1, 1);
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, NULL);
	const struct procedure *procedure =
		procedure_at(resolver, FRAME_IP, image, symbol->address - kallsyms.stext);
	assert_true(span_equal(symbol->name, span_of_text(procedure->linkage)));
	assert_int_equal(procedure->last - procedure->first + 1, symbol->size_bytes);
	profile_free(test.profile);
}

/* As an import leaves it: an address in a file that is known by `build_id` or by its path alone. */
static uint32_t add_offset(struct test_profile *test, const char *path, struct span build_id,
			   uint64_t offset)
{
	struct profile_image image = { .kind = IMAGE_FILE,
				       .space = SPACE_OFFSET,
				       .build_id = build_id,
				       .name = build_id.size ? (struct span){ NULL, 0 }
							     : span_of_text(path) };
	uint32_t id;
	assert_int_equal(profile_add_image(test->profile, &image, &id), 0);
	assert_int_equal(profile_add_path(test->profile, id, span_of_text(path)), 0);
	test_event(test, "cycles", 1);
	test_context(test, &(struct profile_context){ .comm = span_of_text("p") });
	test->image = id;
	test_address(test, offset, 1, 1);
	return id;
}

static void offsets_of_a_file_become_its_own_addresses(void **state)
{
	(void)state;
	static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 0x01 }; /* padded, as perf has them */
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "mkdir s; cc -no-pie -g -O2 -Wl,--build-id=0xabcdef01 "
				   "-Wl,-Ttext-segment=0x600000 p.c -o s/p");
	uint64_t work = toolchain_address(folder.path, "nm s/p | grep ' work'");
	uint64_t offset = work - 0x600000;
	struct test_profile test = test_profile_new();
	uint32_t known = add_offset(&test, "/no/such/q", (struct span){ id, sizeof(id) }, offset);
	uint32_t named = add_offset(&test, "/no/such/p", (struct span){ NULL, 0 }, offset);
	add_function(test.profile, known, offset, offset, "told_by_the_recording", 0, 0);

	CLEANUP(resolver_freep) struct resolver *without = resolver_of(test.profile, NULL);
	assert_string_equal(procedure_at(without, FRAME_IP, known, offset)->name,
			    "told_by_the_recording");
	assert_string_equal(procedure_at(without, FRAME_IP, named, offset)->name, "[p]");
	assert_int_equal(resolver_machine(without, named), 0);
	assert_int_equal(resolver_vaddr(without, named, offset), offset);
	const char *const *notes;
	assert_int_equal(resolver_notes(without, &notes), 2);
	assert_non_null(strstr(notes[1], "the recording does not say of which build '/no/such/p'"));

	struct resolver_options options = { .symfs = temporary_folder_path(&folder, "s") };
	CLEANUP(resolver_freep) struct resolver *resolver = resolver_of(test.profile, &options);
	const uint32_t images[] = { known, named };
	for (size_t i = 0; i < 2; i++) {
		const struct procedure *procedure =
			procedure_at(resolver, FRAME_IP, images[i], offset);
		struct profile_frame frame = { .image = images[i], .vaddr = offset };
		uint64_t first;
		assert_string_equal(procedure->name, "work");
		assert_int_equal(procedure->first, work);
		assert_int_equal(resolver_place(resolver, &frame)->vaddr, work);
		assert_ptr_equal(resolver_place_in_file(resolver, images[i], work)->procedure,
				 procedure);
		assert_true(resolver_code(resolver, procedure, &first).size > 0);
		assert_int_equal(resolver_vaddr(resolver, images[i], offset), work);
		assert_int_not_equal(resolver_machine(resolver, images[i]), 0);
		/* a return address right behind the function still belongs to it */
		assert_ptr_equal(procedure_at(resolver, FRAME_RETURN, images[i], offset + 1),
				 procedure);
		/* an offset that no segment holds is nobody's */
		assert_false(procedure_at(resolver, FRAME_IP, images[i], 1ull << 40)->named);
	}
	assert_int_equal(resolver_notes(resolver, &notes), 1);
	assert_non_null(strstr(notes[0], "'/no/such/p' matched by name alone"));
	profile_free(test.profile);
}

static void a_kernel_of_another_machine_is_named_below_symfs(void **state)
{
	(void)state;
	static const uint8_t id[] = { 0xfe, 0xdc, 0xba, 0x98 };
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(
		folder.path, "k.c",
		"void _start(void) { for (;;) ; }\nint schedule(int x) { return x * 3; }\n");
	toolchain_run(folder.path,
		      "mkdir -p elf/boot table/proc; "
		      "cc -O1 -nostdlib -static -Wl,--build-id=0xfedcba98 k.c "
		      "-o elf/boot/vmlinux-9.9; "
		      "printf 'ffffffff91000000 T _stext\\nffffffff91000040 T schedule\\n"
		      "ffffffff91000080 T other\\n' > table/proc/kallsyms");
	uint64_t schedule = toolchain_address(folder.path, "nm elf/boot/* | grep ' schedule'");
	uint64_t text = toolchain_address(folder.path, "nm elf/boot/* | grep ' _start'");
	struct test_profile test = test_profile_new();
	const struct profile_image kernel = { .kind = IMAGE_KERNEL,
					      .space = SPACE_TEXT,
					      .build_id = { id, sizeof(id) } };
	const struct profile_source source = { .kernel = span_of_text("9.9") };
	uint32_t image;
	assert_int_equal(profile_add_source(test.profile, &source), 0);
	assert_int_equal(profile_add_image(test.profile, &kernel, &image), 0);
	test_event(&test, "cycles", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("p") });
	test.image = image;
	test_address(&test, schedule - text, 1, 1);
	test_address(&test, 0x44, 1, 1);

	struct resolver_options options = { .symfs = temporary_folder_path(&folder, "elf") };
	CLEANUP(resolver_freep) struct resolver *by_build = resolver_of(test.profile, &options);
	const struct procedure *procedure =
		procedure_at(by_build, FRAME_IP, image, schedule - text);
	assert_string_equal(procedure->name, "schedule");
	assert_int_equal(procedure->first, schedule);
	const char *const *notes;
	assert_int_equal(resolver_notes(by_build, &notes), 0);

	options.symfs = temporary_folder_path(&folder, "table");
	CLEANUP(resolver_freep) struct resolver *by_name = resolver_of(test.profile, &options);
	assert_string_equal(procedure_at(by_name, FRAME_IP, image, 0x44)->name, "schedule");
	assert_int_equal(resolver_notes(by_name, &notes), 1);
	assert_non_null(strstr(notes[0], "matched by name alone"));
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_have_short_names),
		cmocka_unit_test(procedures_come_from_the_stash),
		cmocka_unit_test(a_name_that_demangles_for_ever_is_shown_as_it_is),
		cmocka_unit_test(hostile_names_leave_those_of_trusted_files_alone),
		cmocka_unit_test(bare_names_are_procedures_of_that_name),
		cmocka_unit_test(files_of_the_same_build_stand_in_for_a_stash),
		cmocka_unit_test(images_that_are_one_file_are_named_each_by_itself),
		cmocka_unit_test(what_there_was_no_time_for_is_told),
		cmocka_unit_test(a_file_of_another_build_is_not_believed),
		cmocka_unit_test(another_kernel_is_never_named_from_this_one),
		cmocka_unit_test(this_kernel_is_named_from_its_own_symbols),
		cmocka_unit_test(offsets_of_a_file_become_its_own_addresses),
		cmocka_unit_test(a_kernel_of_another_machine_is_named_below_symfs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
