/* A program has 512 bytes of stack, over all calls that may be open at once (MAX_BPF_STACK of the
 * kernel's include/linux/filter.h). Kernels since 6.13 give some calls of x86-64 stacks of their
 * own, and would let pass what earlier ones refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <cmocka.h>

#include "base/count_of.h"
#include "bpf_objects.h"
#include "support/refused_program.h"

#define STACK_MOST 512
#define LOG_STATS  4 /* BPF_LOG_STATS */
#define LOG_BYTES  65536

static char log_text[LOG_BYTES];

/* Constants that leave no way through a program out: places of fields, and how many there are. */
static void prepare(struct bpf_object *object)
{
	struct bpf_map *map;
	bpf_object__for_each_map(map, object)
	{
		size_t size = bpf_map__value_size(map);
		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			bpf_map__set_max_entries(map, (uint32_t)sysconf(_SC_PAGESIZE));
		if (!strstr(bpf_map__name(map), ".rodata"))
			continue;
		uint32_t *constants = calloc(1, size);
		assert_non_null(constants);
		for (size_t i = 0; i < size / sizeof(*constants); i++)
			constants[i] = 8;
		assert_int_equal(bpf_map__set_initial_value(map, constants, size), 0);
		free(constants);
	}
}

/* The sum over all functions, "stack depth 88+128": no way of calls has more. */
static long stack_bytes(void)
{
	const char *at = strstr(log_text, "stack depth ");
	long sum = 0;
	if (!at)
		return -1;
	at += strlen("stack depth ");
	for (char *end;; at = end + 1) {
		sum += strtol(at, &end, 10);
		if (*end != '+')
			return sum;
	}
}

static void programs_have_a_stack_that_each_kernel_gives(void **state)
{
	(void)state;
	libbpf_set_print(NULL);
	for (size_t i = 0; i < COUNT_OF(bpf_objects); i++) {
		LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log_text,
			    .kernel_log_size = LOG_BYTES, .kernel_log_level = LOG_STATS);
		struct bpf_object *object =
			bpf_object__open_mem(bpf_objects[i].bytes, bpf_objects[i].size, &options);
		assert_non_null(object);
		prepare(object);
		log_text[0] = 0;
		int ret = bpf_object__load(object);
		bpf_object__close(object);
		if (ret < 0)
			SKIP_UNLOADED(ret, log_text[0] ? log_text : strerror(-ret));
		print_message("%s: %ld bytes\n", bpf_objects[i].name, stack_bytes());
		assert_in_range(stack_bytes(), 1, STACK_MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_have_a_stack_that_each_kernel_gives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
