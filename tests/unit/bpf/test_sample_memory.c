#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/error.h"
#include "bpf/sample_memory.h"
#include "machine/perf_record.h"
#include "support/own_samples.h"
#include "support/refused_program.h"
#include "support/skip.h"

#define RING_PAGES     256u
#define SAMPLES_WANTED 20
/* This thread on one CPU, sampled with what its registers point to. */
struct scene {
	struct sample_memory memory;
	struct own_samples own;
	const uint8_t *line;
	struct perf_record added; /* the program's last record, which is of the next sample */
	uint8_t bytes[1 << 16];	  /* of it */
	size_t samples, right;
};

static void scene_open(struct scene *scene, const uint8_t *line)
{
	struct error err;
	const struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_CPU_CLOCK,
					       .sample_period = 200000,
					       .exclude_kernel = 1 };
	*scene = (struct scene){ .line = line };
	int cpu = own_samples_stay();
	assert_true(cpu >= 0);
	if (sample_memory_open(&scene->memory, &err) < 0)
		SKIP_UNLOADED(err.code, err.text);
	assert_int_equal(
		own_samples_open(&scene->own, cpu, &event, RING_PAGES, &scene->memory.extra), 0);
}

static void scene_close(struct scene *scene)
{
	own_samples_close(&scene->own);
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
static void take_record(void *context, const struct perf_record *record, bool added)
{
	struct scene *scene = context;
	struct perf_record *memory = &scene->added;
	if (added) {
		*memory = *record;
		assert_true(memory->sample.raw.size <= sizeof(scene->bytes));
		memcpy(scene->bytes, memory->sample.raw.data, memory->sample.raw.size);
		memory->sample.raw.data = scene->bytes;
		return;
	}
	scene->samples++;
	if (!memory->sample.raw.size)
		return; /* at the end of the ring there may be room for the sample alone */
	/* right behind it */
	assert_int_equal(memory->sample.ip, record->sample.ip);
	assert_int_equal(memory->identity.tid, record->identity.tid);
	size_t times;
	const struct sample_memory_block *block =
		find_block(memory->sample.raw, (uintptr_t)scene->line, &times);
	if (times) {
		assert_int_equal(times, 1); /* though two registers point there */
		assert_memory_equal(block->bytes, scene->line, SAMPLE_MEMORY_BYTES);
		scene->right++;
	}
	*memory = (struct perf_record){ 0 };
}

static void samples_come_with_what_their_registers_point_to(void **state)
{
	(void)state;
	static struct scene scene;
	/* mapped, since the address sanitizer's heap is where no other program has one */
	uint8_t *heap =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(heap, MAP_FAILED);
	for (size_t i = 0; i < 4096; i++)
		heap[i] = (uint8_t)(i * 7);
	uint8_t *line = heap + 1024;
	scene_open(&scene, line);
	ioctl(scene.own.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int tries = 0; tries < 50 && scene.own.ring->data_head < scene.own.ring_bytes / 2;
	     tries++)
		spin(line + 20, 10000000);
	ioctl(scene.own.fd, PERF_EVENT_IOC_DISABLE, 0);
	assert_true(own_samples_read(&scene.own, take_record, &scene));
	print_message("%zu samples, %zu with the line\n", scene.samples, scene.right);
	if (scene.right < SAMPLES_WANTED)
		fail_msg("%zu samples came with the line", scene.right);
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
