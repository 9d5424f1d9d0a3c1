/* Records as other kernels, systems and processors write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "base/cleanup.h"
#include "import/formats.h"
#include "import/perf_data_types.h"
#include "perf_data_fixture.h"

/* Android's process names are those of packages. */
static void processes_with_long_names_stay_apart(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	static const char *const names[] = { "com.example.android.one", "com.example.android.two" };
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	for (uint32_t i = 0; i < 2; i++) {
		perf_put_comm(&file, 7 + i, 7 + i, names[i], true, 10, 0);
		perf_put_mmap(&file, 7 + i, TEXT, 0x10000, 0x1000, "/bin/app", 11, 0);
		put_sample(&file, USUAL_TYPE,
			   &(struct sample){ .ip = TEXT,
					     .time = 20,
					     .period = 10 + i,
					     .pid = 7 + i,
					     .mode = PERF_RECORD_MISC_USER });
	}
	perf_file_end(&file);
	must_be(&file,
		"cycles [com.example.android.one] /bin/app!0x1000 1 10\n"
		"cycles [com.example.android.two] /bin/app!0x1000 1 11\n",
		"");
}

/* MMAP2 as Linux 3.12 had it first, and RHEL 7 has it: without protection and flags. */
static void put_short_mmap2(struct perf_file *file, uint32_t pid, uint64_t start, const char *path)
{
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, start);
	perf_put_u64(file, 0x1000);
	perf_put_u64(file, 0x3000);
	perf_put_u32(file, 8);
	perf_put_u32(file, 1);
	perf_put_u64(file, 1234);
	perf_put_u64(file, 5678);
	perf_put_text(file, path);
	perf_put_trailer(file, pid, pid, 11, 0);
	perf_record_end(file);
}

static void mmap2_of_rhel_7_has_no_protection(void **state)
{
	(void)state;
	static const char *const paths[] = { "/usr/bin/worker", "/a", "//anon", "[vdso]" };
	static const char *const stacks[] = { "cycles [w] /usr/bin/worker!0x3010 1 1\n",
					      "cycles [w] /a!0x3010 1 1\n",
					      "cycles [w] w 7 0!0x400010 1 1\n",
					      "cycles [w] [vdso]!0x3010 1 1\n" };
	for (size_t i = 0; i < 8; i++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i >= 4 };
		perf_file_begin(&file, &cycles, NULL, 1, 128);
		perf_put_comm(&file, 7, 7, "w", true, 10, 0);
		put_short_mmap2(&file, 7, TEXT, paths[i % 4]);
		put_sample(&file, USUAL_TYPE,
			   &(struct sample){ .ip = TEXT + 0x10,
					     .time = 20,
					     .period = 1,
					     .pid = 7,
					     .mode = PERF_RECORD_MISC_USER });
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_file_end(&file);
		must_be(&file, stacks[i % 4], "");
	}
}

#define HEAP 0x7000000

static void put_anonymous(struct perf_file *file, uint32_t protection, uint16_t misc)
{
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | misc);
	perf_put_u32(file, 7);
	perf_put_u32(file, 7);
	perf_put_u64(file, HEAP);
	perf_put_u64(file, 0x1000);
	for (int i = 0; i < 4; i++) /* offset, device, inode, generation */
		perf_put_u64(file, 0);
	perf_put_u32(file, protection);
	perf_put_u32(file, MAP_PRIVATE);
	perf_put_text(file, "//anon");
	perf_put_trailer(file, 7, 7, 12, 0);
	perf_record_end(file);
}

/* What a broken frame pointer finds on the heap is no code that was compiled at run time. */
static void a_return_into_memory_that_cannot_run_is_no_code(void **state)
{
	(void)state;
	static const struct {
		uint32_t protection;
		const char *caller, *leaf;
	} cases[] = {
		{ PROT_READ | PROT_WRITE, "?no mapping!0x0", "worker 7 0!0x7000010" },
		{ PROT_READ, "?no mapping!0x0", "worker 7 0!0x7000010" },
		{ PROT_READ | PROT_EXEC, "worker 7 0!0x7000020", "worker 7 0!0x7000010" },
		{ PROT_READ | PROT_WRITE | PROT_EXEC, "worker 7 0!0x7000020",
		  "worker 7 0!0x7000010" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		CLEANUP(buffer_release) struct buffer wanted = { 0 };
		const uint64_t called[] = { PERF_CONTEXT_USER, TEXT + 0x30, HEAP + 0x20 };
		const uint64_t sampled[] = { PERF_CONTEXT_USER, HEAP + 0x10, TEXT + 0x30 };
		begin_usual(&file);
		put_anonymous(&file, cases[i].protection,
			      cases[i].protection & PROT_EXEC ? 0 : PERF_RECORD_MISC_MMAP_DATA);
		for (size_t k = 0; k < 2; k++)
			put_sample(&file, USUAL_TYPE,
				   &(struct sample){ .ip = (k ? sampled : called)[1],
						     .time = 20 + k,
						     .period = 1,
						     .pid = 7,
						     .mode = PERF_RECORD_MISC_USER,
						     .chain = k ? sampled : called,
						     .depth = 3 });
		perf_file_end(&file);
		buffer_printf(&wanted,
			      "cycles [worker] /bin/worker!0x1030|%s 1 1\n"
			      "cycles [worker] %s|/bin/worker!0x1030 1 1\n",
			      cases[i].leaf, cases[i].caller);
		must_be(&file, buffer_text(&wanted), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_with_long_names_stay_apart),
		cmocka_unit_test(mmap2_of_rhel_7_has_no_protection),
		cmocka_unit_test(a_return_into_memory_that_cannot_run_is_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
