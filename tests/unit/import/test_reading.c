/* What files that are read may cost afterwards: import_read() from a descriptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/perf_data/perf_data_types.h"
#include "import/reading/import.h"
#include "profile/profile.h"
#include "support/perf_file.h"
#include "support/temporary_folder.h"

#define TRACE_BYTES (8u << 20)

static void put_sample(struct perf_file *file)
{
	perf_file_begin_pipe(file);
	perf_record_begin(file, PERF_FILE_ATTR, 0);
	perf_put_u32(file, PERF_TYPE_SOFTWARE);
	perf_put_u32(file, 64);
	perf_put_u64(file, PERF_COUNT_SW_CPU_CLOCK);
	perf_put_u64(file, 1);
	perf_put_u64(file, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	for (int i = 0; i < 4; i++)
		perf_put_u64(file, 0);
	perf_record_end(file);
	perf_record_begin(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(file, 16);
	perf_put_u32(file, 1);
	perf_put_u32(file, 1);
	perf_record_end(file);
}

/* A hardware trace of TRACE_BYTES follows it. */
static void put_trace_header(struct perf_file *file)
{
	perf_record_begin(file, PERF_FILE_AUXTRACE, 0);
	perf_put_u64(file, TRACE_BYTES);
	for (int i = 0; i < 4; i++)
		perf_put_u64(file, 0);
	perf_record_end(file);
}

/* perf.data with a hardware trace that is a hole, or holds something in each of its pages. */
static uint64_t allowed_after(const char *path, bool hole)
{
	struct perf_file file = { 0 };
	put_sample(&file);
	put_trace_header(&file);
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.bytes.data, file.bytes.size), (ssize_t)file.bytes.size);
	off_t end = (off_t)file.bytes.size + TRACE_BYTES;
	assert_int_equal(ftruncate(fd, end), 0);
	for (off_t at = (off_t)file.bytes.size; !hole && at < end; at += 256)
		assert_int_equal(pwrite(fd, "x", 1, at), 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	perf_file_release(&file);

	const struct import_options options = { 0 };
	CLEANUP(buffer_release) struct buffer head = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	budget_open(&BUDGET_DEFAULTS);
	int ret = import_read(fd, &head, NULL, &options, &profile, &err);
	uint64_t allowed = budget_memory_limit_bytes();
	budget_close();
	if (ret < 0)
		fail_msg("%s", err.text);
	return allowed;
}

static void holes_of_a_recording_allow_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "perf.data");
	const uint64_t base = BUDGET_DEFAULTS.memory_bytes;
	assert_true(allowed_after(path, false) >= base + BUDGET_MEMORY_RATIO * TRACE_BYTES);
	/* A piece at each end. */
	assert_true(allowed_after(path, true) <= base + BUDGET_MEMORY_RATIO * 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_of_a_recording_allow_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
