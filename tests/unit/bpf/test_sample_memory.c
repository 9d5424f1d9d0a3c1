#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "bpf/sample_memory.h"
#include "machine/perf_open.h"
#include "machine/perf_record.h"
#include "support/skip.h"

#define RING_BYTES     (256u * 4096u)
#define SAMPLES_WANTED 20
#define IDENTITY_FIELDS                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static const struct perf_layout layout = { .sample_type = IDENTITY_FIELDS },
				output = { .sample_type = IDENTITY_FIELDS | PERF_SAMPLE_RAW };

/* This thread on one CPU, sampled with what its registers point to. */
struct scene {
	struct sample_memory memory;
	int fd, output_fd;
	uint64_t output_id;
	struct perf_event_mmap_page *ring;
};

static void scene_open(struct scene *scene)
{
	struct error err;
	int cpu = sched_getcpu();
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET((unsigned)cpu, &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	if (sample_memory_open(&scene->memory, &err) < 0)
		SKIP("%s", err.text);
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_type = IDENTITY_FIELDS,
					.sample_period = 200000,
					.exclude_kernel = 1,
					.disabled = 1 };
	struct perf_event_attr other = { .size = sizeof(other), .sample_type = IDENTITY_FIELDS };
	sample_extra_output_attr(&other);
	scene->fd = perf_open(&attr, 0, cpu, -1, 0);
	scene->output_fd = perf_open(&other, -1, cpu, -1, 0);
	assert_true(scene->fd >= 0 && scene->output_fd >= 0);
	scene->ring =
		mmap(NULL, 4096 + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, scene->fd, 0);
	assert_ptr_not_equal(scene->ring, MAP_FAILED);
	assert_int_equal(ioctl(scene->output_fd, PERF_EVENT_IOC_SET_OUTPUT, scene->fd), 0);
	assert_int_equal(ioctl(scene->output_fd, PERF_EVENT_IOC_ID, &scene->output_id), 0);
	assert_int_equal(sample_extra_set_output(&scene->memory.extra, cpu, scene->output_fd), 0);
	assert_int_equal(sample_extra_attach(&scene->memory.extra, scene->fd), 0);
}

static void scene_close(struct scene *scene)
{
	munmap(scene->ring, 4096 + RING_BYTES);
	close(scene->fd);
	close(scene->output_fd);
	sample_memory_close(&scene->memory);
}

/* Keeps the address in a register, and a copy of it with another offset, and one of nothing. */
static void spin(const uint8_t *at, uint64_t turns)
{
	const void *same = at + 8, *nothing = (const void *)(uintptr_t)0x7f0000001000;
	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("" : : "r"(at), "r"(same), "r"(nothing));
}

static const struct sample_memory_block *find_block(struct span raw, uint64_t address,
						    size_t *times)
{
	static struct sample_memory_block block, found;
	*times = 0;
	for (size_t at = 0; raw.size - at >= sizeof(block); at += sizeof(block)) {
		memcpy(&block, (const uint8_t *)raw.data + at, sizeof(block));
		assert_int_equal(block.address % SAMPLE_MEMORY_LINE, 0);
		assert_int_not_equal(block.address, 0x7f0000001000);
		if (block.address == address) {
			found = block;
			++*times;
		}
	}
	return &found;
}

/* Counts samples in which each of the kernel's two records is as it should be. */
static size_t check_records(const struct scene *scene, const uint8_t *line)
{
	const uint8_t *data = (const uint8_t *)scene->ring + 4096;
	size_t right = 0, samples = 0;
	struct perf_record memory = { 0 }, record;
	assert_true(scene->ring->data_head < RING_BYTES);
	for (uint64_t at = 0; at < scene->ring->data_head;) {
		uint64_t id;
		memcpy(&id, data + at + 8, sizeof(id));
		bool from_program = id == scene->output_id;
		int size = perf_record_decode(data + at, scene->ring->data_head - at,
					      from_program ? &output : &layout, &record);
		assert_true(size > 0);
		at += (uint64_t)size;
		if (record.type != PERF_RECORD_SAMPLE)
			continue;
		if (from_program) {
			memory = record;
			continue;
		}
		samples++;
		if (!memory.sample.raw.size)
			continue; /* at the end of the ring there may be room for the sample alone
				   */
		/* right behind it */
		assert_int_equal(memory.sample.ip, record.sample.ip);
		assert_int_equal(memory.identity.tid, record.identity.tid);
		size_t times;
		const struct sample_memory_block *block =
			find_block(memory.sample.raw, (uintptr_t)line, &times);
		if (times) {
			assert_int_equal(times, 1); /* though two registers point there */
			assert_memory_equal(block->bytes, line, SAMPLE_MEMORY_BYTES);
			right++;
		}
		memory = (struct perf_record){ 0 };
	}
	print_message("%zu samples, %zu with the line\n", samples, right);
	return right;
}

static void samples_come_with_what_their_registers_point_to(void **state)
{
	(void)state;
	struct scene scene;
	scene_open(&scene);
	/* mapped, since the address sanitizer's heap is where no other program has one */
	uint8_t *heap =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(heap, MAP_FAILED);
	for (size_t i = 0; i < 4096; i++)
		heap[i] = (uint8_t)(i * 7);
	uint8_t *line = heap + 1024;
	size_t right = 0;
	ioctl(scene.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int tries = 0; tries < 50 && scene.ring->data_head < RING_BYTES / 2; tries++)
		spin(line + 20, 10000000);
	ioctl(scene.fd, PERF_EVENT_IOC_DISABLE, 0);
	right = check_records(&scene, line);
	if (right < SAMPLES_WANTED)
		fail_msg("%zu samples came with the line", right);
	munmap(heap, 4096);
	scene_close(&scene);
}

static void without_its_parts_it_is_closed(void **state)
{
	(void)state;
	struct sample_memory memory = SAMPLE_MEMORY_CLOSED;
	assert_true(sample_extra_set_output(&memory.extra, 0, -1) < 0);
	assert_true(sample_extra_attach(&memory.extra, -1) < 0);
	sample_memory_close(&memory);
	sample_memory_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_with_what_their_registers_point_to),
		cmocka_unit_test(without_its_parts_it_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
