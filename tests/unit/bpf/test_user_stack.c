#include <errno.h>
#include <execinfo.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#include "base/error.h"
#include "bpf/user_stack.h"
#include "machine/perf_record.h"
#include "support/own_rules.h"
#include "support/own_samples.h"
#include "support/refused_program.h"
#include "support/skip.h"
#include "unwind/frame_pool.h"
#include "unwind/stack_walk.h"

#define RING_PAGES   512u
#define DEPTH	     12
#define CALLERS	     64
#define FILES	     32
#define ROUNDS_MOST  200
#define WHOLE_WANTED 20

/* This thread on one CPU, sampled with its stack. */
struct scene {
	struct user_stack *stack;
	struct frame_pool pool;
	struct own_samples own;
	/* What its records came to. */
	size_t samples, copies, whole, equal, guessed, told, without_table;
	bool with_rules; /* files get their rules; else the kernel is told that they have none */
	bool postpones;	 /* or that they cannot be had now */
	struct user_stack_key keys[FILES]; /* that were told */
};

static uint32_t *make_slab(void *context, uint32_t number)
{
	const struct scene *scene = context;
	return user_stack_slab(scene->stack, number);
}

static void scene_open(struct scene *scene)
{
	struct error err;
	const struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_CPU_CLOCK,
					       .sample_period = 500000 };
	*scene = (struct scene){ .with_rules = true };
	int cpu = own_samples_stay();
	assert_true(cpu >= 0);
	if (user_stack_new(&scene->stack, &err) < 0)
		SKIP_UNLOADED(err.code, err.text);
	frame_pool_init(&scene->pool, &(struct frame_pool_options){
					      .slabs = 8, .make = make_slab, .context = scene });
	assert_int_equal(own_samples_open(&scene->own, cpu, &event, RING_PAGES,
					  user_stack_extra(scene->stack)),
			 0);
	user_stack_begin(scene->stack, scene->own.ring_bytes, 0);
}

static void scene_close(struct scene *scene)
{
	own_samples_close(&scene->own);
	frame_pool_release(&scene->pool);
	user_stack_free(scene->stack);
}

/* Tells the kernel about the file that a record asks for. */
static void tell(struct scene *scene, const struct user_stack_head *head)
{
	struct frame_pool_entry entry;
	/* samples of before it was told come later */
	for (size_t i = 0; i < scene->told; i++)
		if (memcmp(&scene->keys[i], &head->missing, sizeof(head->missing)) == 0)
			return;
	assert_true(scene->told < FILES);
	scene->keys[scene->told++] = head->missing;
	if (scene->postpones) {
		assert_int_equal(user_stack_postpone(scene->stack, &head->missing), 0);
		return;
	}
	if (!scene->with_rules) {
		assert_int_equal(user_stack_put(scene->stack, &head->missing, NULL), 0);
		return;
	}
	assert_true(own_rules_add(head->missing_address, &scene->pool, &entry));
	assert_int_equal(user_stack_put(scene->stack, &head->missing, &entry.place), 0);
}

/* ---- what is sampled */

static void *callers[CALLERS]; /* of what spins, and so on up to the first function */
static int caller_count;

/* Fills in callers from `first` on, which gets position 1: under a sanitizer backtrace(3) has more
 * than one frame before. */
static __attribute__((noinline)) void find_callers(const void *first)
{
	void *all[CALLERS];
	int count = backtrace(all, CALLERS), at = 0;
	while (at < count && all[at] != first)
		at++;
	assert_in_range(at, 1, count - 1);
	for (int i = at; i < count; i++)
		callers[i - at + 1] = all[i];
	caller_count = count - at + 1;
}

static __attribute__((noinline)) void spin(uint64_t turns)
{
	if (!caller_count)
		find_callers(__builtin_return_address(0));
	for (volatile uint64_t i = 0; i < turns; i++)
		;
}

static __attribute__((noinline)) int at_depth(int depth, uint64_t turns)
{
	if (depth)
		return at_depth(depth - 1, turns) + 1;
	spin(turns);
	return 1;
}

/* Whether the frames behind the sampled one are those that backtrace(3) found behind its caller. */
static bool is_as_known(const struct user_stack_read *read)
{
	const struct perf_words words = { read->frames, read->head.count };
	if ((int)read->head.count != caller_count)
		return false;
	for (int i = 1; i < caller_count; i++)
		if ((perf_word(&words, (uint64_t)i) & USER_STACK_ADDRESS) !=
		    (uint64_t)(uintptr_t)callers[i])
			return false;
	return perf_word(&words, 0) & USER_STACK_INTERRUPTED;
}

static void take_record(void *context, const struct perf_record *record, bool added)
{
	struct scene *scene = context;
	struct user_stack_read read;
	if (!added) {
		scene->samples++;
		return;
	}
	assert_true(user_stack_read(record->sample.raw, &read));
	if (read.head.kind == USER_STACK_COPY) {
		assert_int_equal(read.head.end, WALK_NO_TABLE);
		assert_true(read.stack.size > 0);
		scene->copies++;
		tell(scene, &read.head);
		return;
	}
	const struct perf_words words = { read.frames, read.head.count };
	for (uint64_t i = 0; i < words.count; i++)
		scene->guessed += (perf_word(&words, i) & USER_STACK_GUESSED) != 0;
	scene->whole += read.head.end == WALK_WHOLE;
	scene->without_table += read.head.end == WALK_NO_TABLE;
	scene->equal += is_as_known(&read);
}

/* Samples the thread for a while, and takes what the kernel has written. */
static void take_round(struct scene *scene)
{
	ioctl(scene->own.fd, PERF_EVENT_IOC_ENABLE, 0);
	at_depth(DEPTH, 3000000);
	ioctl(scene->own.fd, PERF_EVENT_IOC_DISABLE, 0);
	assert_true(own_samples_read(&scene->own, take_record, scene));
	user_stack_taken(scene->stack);
}

/* Goes on until a number of the scene's is that large; false: it was not in all that time. */
static bool reach(struct scene *scene, const size_t *number, size_t wanted)
{
	caller_count = 0; /* they are others now */
	for (int i = 0; i < ROUNDS_MOST && *number < wanted; i++)
		take_round(scene);
	return *number >= wanted;
}

static void stacks_are_those_that_backtrace_finds(void **state)
{
	struct scene scene;
	(void)state;
	scene_open(&scene);
	bool reached = reach(&scene, &scene.equal, WHOLE_WANTED);
	print_message("%zu samples, %zu copies, %zu whole, %zu as known\n", scene.samples,
		      scene.copies, scene.whole, scene.equal);
	assert_true(reached);
	assert_in_range(caller_count, DEPTH + 5, CALLERS - 1);
	assert_in_range(scene.told, 2, 20);
	/* most of the whole ones fell into what spins */
	assert_true(scene.equal * 2 > scene.whole);

	/* One stack in 64 is timed; all samples are on one CPU. */
	struct program_time time = user_stack_time(scene.stack);
	assert_true(time.samples >= 1);
	assert_true(time.samples <= scene.samples / PROGRAM_TIMED_ONE_IN + 1);
	assert_true(time.ns > 0 && time.most_ns <= time.ns);

	/* What is forgotten is asked for again. */
	size_t copies = scene.copies;
	for (size_t i = 0; i < scene.told; i++)
		user_stack_forget(scene.stack, &scene.keys[i]);
	scene.told = 0;
	assert_int_equal(user_stack_wait(scene.stack), 0);
	assert_true(reach(&scene, &scene.copies, copies + 1));
	assert_true(reach(&scene, &scene.equal, scene.equal + WHOLE_WANTED));
	scene_close(&scene);
}

static void without_rules_frame_pointers_are_followed_and_marked(void **state)
{
	struct scene scene;
	(void)state;
	scene_open(&scene);
	scene.with_rules = false;
	bool reached = reach(&scene, &scene.guessed, DEPTH * WHOLE_WANTED);
	print_message("%zu samples, %zu copies, %zu guessed frames\n", scene.samples, scene.copies,
		      scene.guessed);
	assert_true(reached); /* this program keeps them */
	scene_close(&scene);
}

static void what_is_postponed_costs_no_copies_until_it_is_forgotten(void **state)
{
	struct scene scene;
	(void)state;
	scene_open(&scene);
	scene.postpones = true;
	assert_true(reach(&scene, &scene.without_table, WHOLE_WANTED));
	/* What spins is in one file, and its stacks end there. */
	size_t copies = scene.copies, ended = scene.without_table;
	assert_true(reach(&scene, &scene.without_table, ended + 5 * WHOLE_WANTED));
	print_message("%zu samples, %zu copies before, %zu after, %zu ended\n", scene.samples,
		      copies, scene.copies, scene.without_table);
	/* Another file that is seen late brings as many as fall into one round. */
	assert_true((scene.copies - copies) * 20 <= scene.without_table - ended);
	assert_int_equal(scene.guessed, 0);

	copies = scene.copies;
	scene.postpones = false;
	for (size_t i = 0; i < scene.told; i++)
		user_stack_forget(scene.stack, &scene.keys[i]);
	scene.told = 0;
	assert_true(reach(&scene, &scene.copies, copies + 1));
	assert_true(reach(&scene, &scene.equal, scene.equal + WHOLE_WANTED));
	scene_close(&scene);
}

static void what_is_no_record_is_refused(void **state)
{
	struct user_stack_head head = { .kind = USER_STACK_FRAMES, .count = 3 };
	uint8_t bytes[sizeof(head) + USER_STACK_REGISTERS * 8 + 16] = { 0 };
	struct user_stack_read read;
	(void)state;
	memcpy(bytes, &head, sizeof(head));
	assert_true(user_stack_read((struct span){ bytes, sizeof(head) + 24 }, &read));
	assert_int_equal(read.head.count, 3);
	assert_false(user_stack_read((struct span){ bytes, sizeof(head) + 23 }, &read));
	assert_false(user_stack_read((struct span){ bytes, sizeof(head) - 1 }, &read));
	assert_false(user_stack_read((struct span){ NULL, 0 }, &read));
	head = (struct user_stack_head){ .kind = USER_STACK_COPY, .count = 16 };
	memcpy(bytes, &head, sizeof(head));
	assert_true(user_stack_read((struct span){ bytes, sizeof(bytes) }, &read));
	assert_int_equal(read.stack.size, 16);
	assert_false(user_stack_read((struct span){ bytes, sizeof(bytes) - 1 }, &read));
	bytes[0] = 7; /* its kind */
	assert_false(user_stack_read((struct span){ bytes, sizeof(bytes) }, &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_those_that_backtrace_finds),
		cmocka_unit_test(without_rules_frame_pointers_are_followed_and_marked),
		cmocka_unit_test(what_is_postponed_costs_no_copies_until_it_is_forgotten),
		cmocka_unit_test(what_is_no_record_is_refused),
	};
	return cmocka_run_group_tests_name("user stack", tests, NULL, NULL);
}
