#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/kernel_map.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "symbol/record.h"

#define PROGRAM 0xffffffffa0001000

static struct kernel_map new_map(void)
{
	/* the list of modules was just read */
	return (struct kernel_map){ .session = profile_new(),
				    .modules_read_ns = clock_monotonic_ns() };
}

static void release(struct kernel_map *map)
{
	profile_free(map->session);
	kernel_map_release(map);
}

static uint32_t image_at(struct kernel_map *map, uint64_t address)
{
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	assert_int_equal(kernel_map_locate(map, address, &frame, &cause), 0);
	assert_int_equal(cause, UNKNOWN_NONE);
	assert_int_equal(frame.vaddr, address - PROGRAM);
	return frame.image;
}

static void expect_function(const struct kernel_map *map, const struct kallsyms *kallsyms,
			    uint32_t image, const char *name, bool wanted_there)
{
	struct record_set set = { 0 };
	struct function_record function;
	const uint64_t vaddr = 0x10;
	bool is_there;
	const struct kernel_range *range = kernel_map_of_image(map, image);
	assert_non_null(range);
	assert_int_equal(kernel_range_records(range, kallsyms, &vaddr, 1, &set, &is_there), 0);
	assert_int_equal(is_there, wanted_there);
	assert_int_equal(set.count, 1);
	assert_true(record_get_function(&set.list[0], &function));
	assert_true(span_equal(function.name, span_of_text(name)));
	record_set_release(&set);
}

static void programs_at_one_address_in_turn_keep_their_names(void **state)
{
	(void)state;
	static const char text[] = "ffffffff81000000 T _stext\nffffffff81e00000 T _etext\n"
				   "ffffffffa0001000 t bpf_prog_2_second\t[bpf]\n";
	struct kallsyms kallsyms = { 0 };
	struct kernel_map map = new_map();
	assert_int_equal(kallsyms_parse((struct span){ text, sizeof(text) - 1 }, &kallsyms), 0);
	assert_int_equal(
		kernel_map_symbol(&map, PROGRAM, 0x100, span_of_text("bpf_prog_1_first"), false),
		0);
	uint32_t first = image_at(&map, PROGRAM + 0x10);
	kernel_map_symbol(&map, PROGRAM, 0x100, span_of_text("bpf_prog_1_first"), true);
	/* a sample of before that comes late */
	assert_int_equal(image_at(&map, PROGRAM + 0x20), first);
	assert_int_equal(
		kernel_map_symbol(&map, PROGRAM, 0x80, span_of_text("bpf_prog_2_second"), false),
		0);
	uint32_t second = image_at(&map, PROGRAM + 0x10);
	assert_int_not_equal(second, first);
	/* Its bytes are another's by now, and so is what the kernel calls the address. */
	expect_function(&map, &kallsyms, first, "bpf_prog_1_first", false);
	expect_function(&map, &kallsyms, second, "bpf_prog_2_second", true);

	/* The first comes back, elsewhere: there its bytes are. */
	kernel_map_symbol(&map, PROGRAM + 0x1000, 0x100, span_of_text("bpf_prog_1_first"), false);
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	assert_int_equal(kernel_map_locate(&map, PROGRAM + 0x1010, &frame, &cause), 0);
	assert_int_equal(frame.image, first);
	assert_int_equal(kernel_map_of_image(&map, first)->start, PROGRAM + 0x1000);
	kallsyms_release(&kallsyms);
	release(&map);
}

/* The record of its neighbour's end was lost. */
static void a_program_that_comes_back_longer_ends_its_neighbour(void **state)
{
	(void)state;
	struct kernel_map map = new_map();
	const struct span name = span_of_text("bpf_prog_1_first");
	kernel_map_symbol(&map, PROGRAM, 0x100, name, false);
	kernel_map_symbol(&map, PROGRAM + 0x100, 0x100, span_of_text("bpf_prog_2_second"), false);
	uint32_t first = image_at(&map, PROGRAM);
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	assert_int_equal(kernel_map_locate(&map, PROGRAM + 0x110, &frame, &cause), 0);
	assert_int_equal(kernel_map_symbol(&map, PROGRAM, 0x180, name, false), 0);
	assert_int_equal(map.count, 1);
	assert_int_equal(image_at(&map, PROGRAM + 0x110), first);
	assert_true(kernel_map_of_image(&map, frame.image)->gone);
	assert_false(kernel_map_of_image(&map, first)->gone);
	release(&map);
}

static void the_list_of_modules_is_read_again_for_what_may_have_gone(void **state)
{
	(void)state;
	struct kernel_map map = new_map();
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	assert_int_equal(kernel_map_add(&map, KERNEL_MODULE, PROGRAM, PROGRAM + 0x1000,
					span_of_text("no_such_module")),
			 0);
	assert_int_equal(kernel_map_add(&map, KERNEL_CORE, 0x1000, 0x2000, span_of_text("kernel")),
			 0);
	uint32_t module = image_at(&map, PROGRAM);
	assert_false(kernel_map_of_image(&map, module)->gone);
	map.modules_read_ns = 0;
	assert_int_equal(kernel_map_locate(&map, 0x1000, &frame, &cause), 0);
	assert_int_equal(map.modules_read_ns, 0); /* the kernel itself stays */
	assert_int_equal(image_at(&map, PROGRAM), module);
	assert_int_not_equal(map.modules_read_ns, 0);
	release(&map);
}

static void a_program_that_has_gone_is_forgotten_when_its_image_is(void **state)
{
	(void)state;
	struct kernel_map map = new_map();
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	const struct span names[] = { span_of_text("bpf_prog_1_first"),
				      span_of_text("bpf_prog_2_second") };
	assert_int_equal(kernel_map_symbol(&map, PROGRAM, 0x100, names[0], false), 0);
	uint32_t first = image_at(&map, PROGRAM);
	assert_int_equal(kernel_map_symbol(&map, PROGRAM, 0x80, names[1], false), 0);
	uint32_t second = image_at(&map, PROGRAM);
	assert_int_equal(map.former_count, 1);
	assert_int_equal(kernel_map_symbol(&map, PROGRAM, 0x80, names[1], true), 0);
	uint32_t images[3] = { 0 };
	images[first] = 2;
	images[second] = 1;
	kernel_map_renumber_images(&map, images);
	assert_string_equal(kernel_map_of_image(&map, 2)->name, "bpf_prog_1_first");
	assert_int_equal(image_at(&map, PROGRAM), 1);
	images[1] = 1;
	images[2] = 0;
	kernel_map_renumber_images(&map, images);
	assert_int_equal(map.former_count, 0);
	assert_int_equal(image_at(&map, PROGRAM), 1);
	images[1] = 0;
	kernel_map_renumber_images(&map, images);
	assert_int_equal(map.count, 0);
	assert_int_equal(kernel_map_locate(&map, PROGRAM, &frame, &cause), 0);
	assert_int_not_equal(cause, UNKNOWN_NONE);
	release(&map);
}

/* Each time elsewhere; its image has samples in each epoch. */
static void a_program_that_comes_and_goes_is_remembered_once(void **state)
{
	(void)state;
	struct kernel_map map = new_map();
	const uint32_t images[] = { 0, 1 };
	const struct span name = span_of_text("bpf_prog_1_first");
	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t address = PROGRAM + 0x1000 * i;
		struct profile_frame frame = { 0 };
		enum unknown_cause cause = UNKNOWN_NONE;
		assert_int_equal(kernel_map_symbol(&map, address, 0x100, name, false), 0);
		assert_int_equal(kernel_map_locate(&map, address, &frame, &cause), 0);
		assert_int_equal(frame.image, 1);
		kernel_map_renumber_images(&map, images);
		assert_int_equal(map.count + map.former_count, 1);
		assert_int_equal(kernel_map_of_image(&map, 1)->start, address);
		assert_int_equal(kernel_map_symbol(&map, address, 0x100, name, true), 0);
		kernel_map_renumber_images(&map, images);
		assert_int_equal(map.count + map.former_count, 1);
		assert_true(kernel_map_of_image(&map, 1)->gone);
	}
	release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_at_one_address_in_turn_keep_their_names),
		cmocka_unit_test(a_program_that_comes_back_longer_ends_its_neighbour),
		cmocka_unit_test(the_list_of_modules_is_read_again_for_what_may_have_gone),
		cmocka_unit_test(a_program_that_has_gone_is_forgotten_when_its_image_is),
		cmocka_unit_test(a_program_that_comes_and_goes_is_remembered_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
