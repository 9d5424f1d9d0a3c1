/* What /proc says of mappings and of the kernel, as records of a perf.data file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "count/sampler_file.h"
#include "count/sampler_lines.h"
#include "count/sampler_maps.h"
#include "machine/perf_record.h"
#include "support/made_up_files.h"

#define RECORDS_MOST 16
#define FIRST_OF_OWN 64

static const struct perf_layout layout = { .sample_type = SAMPLER_FILE_TRAILER,
					   .sample_id_all = true };

struct written {
	struct sampler_file file;
	struct perf_record records[RECORDS_MOST]; /* of the kernel's kinds */
	size_t count;
};

static struct written *begin(void)
{
	struct written *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->file.stream.fd = -1; /* all of it stays in the buffer */
	w->file.pid = 42;
	w->file.id = 7;
	return w;
}

static void read_back(struct written *w)
{
	const struct sampler_stream *stream = &w->file.stream;
	for (size_t at = 0; at < stream->used;) {
		struct perf_event_header header;
		size_t size = perf_record_size(stream->bytes + at, stream->used - at);
		assert_true(size > 0 && size % 8 == 0);
		memcpy(&header, stream->bytes + at, sizeof(header));
		if (header.type < FIRST_OF_OWN) {
			assert_true(w->count < RECORDS_MOST);
			struct perf_record *record = &w->records[w->count++];
			assert_int_equal(
				perf_record_decode(stream->bytes + at, size, &layout, record),
				size);
			assert_int_equal(record->identity.time, 1000);
			assert_int_equal(record->identity.id, 7);
		}
		at += size;
	}
}

static bool is_mapping(const struct perf_record *record, uint64_t start, uint64_t size,
		       uint64_t offset, const char *path)
{
	const struct perf_mapping *mapping = &record->mapping;
	return mapping->start == start && mapping->size_bytes == size &&
	       mapping->offset == offset && span_equal(mapping->path, span_of_text(path));
}

static void what_may_be_executed_is_written(void **state)
{
	(void)state;
	static const struct made_up_file files[] = {
		{ "/proc/self/comm", "a name\n" },
		{ "/proc/self/maps",
		  "00400000-00401000 r--p 00000000 08:01 17                                 /bin/a "
		  "b\n"
		  "00401000-00403000 r-xp 00001000 08:01 17                                 /bin/a "
		  "b\n"
		  "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		  "7f0000002000-7f0000003000 rw-p 00000000 00:00 0                          "
		  "[heap]\n"
		  "7f0000004000-7f0000006000 r-xs 00003000 fe:1f 99   /lib/x.so (deleted)\n"
		  "nonsense\n"
		  "7f0000009000-7f0000008000 r-xp 00000000 00:00 0   /backwards\n" },
		{ NULL, NULL },
	};
	struct written *w = begin();
	made_up_files = files;
	sampler_maps_write(&w->file, 1000);
	made_up_files = NULL;
	read_back(w);
	assert_int_equal(w->records[0].type, PERF_RECORD_COMM);
	assert_true(span_equal(w->records[0].comm.name, span_of_text("a name")));
	assert_int_equal(w->records[0].comm.pid, 42);
	size_t at = w->records[1].type == PERF_RECORD_COMM ? 2 : 1; /* of this thread */
	const struct perf_record *maps = &w->records[at];
	assert_int_equal(w->count - at, 3);
	assert_true(is_mapping(&maps[0], 0x401000, 0x2000, 0x1000, "/bin/a b"));
	assert_int_equal(maps[0].mapping.major, 8);
	assert_int_equal(maps[0].mapping.minor, 1);
	assert_int_equal(maps[0].mapping.inode, 17);
	assert_int_equal(maps[0].mapping.protection, PROT_READ | PROT_EXEC);
	assert_int_equal(maps[0].mapping.flags, MAP_PRIVATE);
	assert_true(is_mapping(&maps[1], 0x7f0000000000, 0x1000, 0, "//anon"));
	assert_int_equal(maps[1].mapping.protection, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_true(is_mapping(&maps[2], 0x7f0000004000, 0x2000, 0x3000, "/lib/x.so (deleted)"));
	assert_int_equal(maps[2].mapping.minor, 0x1f);
	assert_int_equal(maps[2].mapping.flags, MAP_SHARED);
	free(w);
}

static void the_kernel_and_its_modules_are_written(void **state)
{
	(void)state;
	static const struct made_up_file files[] = {
		{ "/proc/kallsyms", "0000000000000000 A fixed_percpu_data\n"
				    "ffffffff81000000 T _stext\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000010 t not_text\n"
				    "ffffffff82001000 D _etext\n"
				    "ffffffff83000000 B _end\n"
				    "ffffffffc0a00000 t _etext\t[of_a_module]\n" },
		{ "/proc/modules", "nf_tables 356352 2 nft_ct,nft_nat, Live 0xffffffffc0a00000\n"
				   "loop 40960 0 - Live 0xffffffffc0b00000 (OE)\n"
				   "hidden 40960 0 - Live 0x0000000000000000\n"
				   "cut 4096\n" },
		{ NULL, NULL },
	};
	struct written *w = begin();
	made_up_files = files;
	sampler_maps_write_kernel(&w->file, 1000);
	made_up_files = NULL;
	read_back(w);
	assert_int_equal(w->count, 3);
	for (size_t i = 0; i < w->count; i++) {
		assert_int_equal(w->records[i].misc & PERF_RECORD_MISC_CPUMODE_MASK,
				 PERF_RECORD_MISC_KERNEL);
		assert_int_equal(w->records[i].mapping.pid, UINT32_MAX);
	}
	assert_true(is_mapping(&w->records[0], 0xffffffff81000000, 0x1001000, 0xffffffff81000000,
			       "[kernel.kallsyms]_text"));
	assert_true(is_mapping(&w->records[1], 0xffffffffc0a00000, 356352, 0, "[nf_tables]"));
	assert_true(is_mapping(&w->records[2], 0xffffffffc0b00000, 40960, 0, "[loop]"));
	free(w);
}

static void of_a_kernel_that_hides_itself_nothing_is_written(void **state)
{
	(void)state;
	static const struct made_up_file hidden[] = {
		{ "/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n" },
		{ "/proc/modules", "loop 40960 0 - Live 0x0000000000000000\n" },
		{ NULL, NULL },
	};
	static const struct made_up_file refused[] = { { "/proc/kallsyms", NULL },
						       { "/proc/modules", NULL },
						       { NULL, NULL } };
	const struct made_up_file *each[] = { hidden, refused };
	for (size_t i = 0; i < 2; i++) {
		struct written *w = begin();
		made_up_files = each[i];
		sampler_maps_write_kernel(&w->file, 1000);
		made_up_files = NULL;
		assert_int_equal(w->file.stream.used, 0);
		free(w);
	}
}

/* Lines of all lengths, so that the buffer ends everywhere in them. */
static void lines_come_whole_wherever_the_buffer_ends(void **state)
{
	(void)state;
	static char text[200000], line[700];
	static struct made_up_file files[] = { { "/proc/lines", text }, { NULL, NULL } };
	static struct sampler_lines lines;
	size_t size = 0, count = 0;
	for (; size < sizeof(text) - sizeof(line); count++) {
		size_t length = count * 7 % 600;
		memset(text + size, 'a' + (int)(count % 26), length);
		size += length;
		text[size++] = '\n';
	}
	size--; /* the last line has no newline */
	text[size] = '\0';
	made_up_files = files;
	sampler_lines_open(&lines, "/proc/lines");
	made_up_files = NULL;
	for (size_t i = 0; i < count; i++) {
		const char *found = sampler_lines_next(&lines);
		memset(line, 'a' + (int)(i % 26), i * 7 % 600);
		line[i * 7 % 600] = '\0';
		assert_non_null(found);
		assert_string_equal(found, line);
	}
	assert_null(sampler_lines_next(&lines));
	sampler_lines_close(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_executed_is_written),
		cmocka_unit_test(the_kernel_and_its_modules_are_written),
		cmocka_unit_test(of_a_kernel_that_hides_itself_nothing_is_written),
		cmocka_unit_test(lines_come_whole_wherever_the_buffer_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
