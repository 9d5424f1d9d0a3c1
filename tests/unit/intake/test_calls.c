#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "intake/calls.h"

/* A world of one file and of what is unknown for two causes: which one the address says. */
#define HOLE	 UINT64_C(0x1000000) /* no mapping, from here on */
#define STRAYS	 UINT64_C(0x2000000) /* another cause */
#define FLEETING UINT64_C(0x3000000) /* of the file, for one sample */

enum { FILE_IMAGE = 1, HOLE_IMAGE, STRAY_IMAGE, MISSING_IMAGE };

struct small_world {
	uint64_t moved;	  /* where the file lies further up */
	uint64_t meaning; /* changes with it */
	size_t asked;
};

static int unknown(void *owner, enum unknown_cause cause, struct located *out)
{
	(void)owner;
	*out = (struct located){ .cause = cause,
				 .image = cause == UNKNOWN_NO_MAPPING	? HOLE_IMAGE
					  : cause == UNKNOWN_NO_PROCESS ? STRAY_IMAGE
									: MISSING_IMAGE };
	return 0;
}

static int locate(void *owner, struct process *process, enum code_mode mode, uint64_t address,
		  enum frame_kind kind, struct located *out)
{
	struct small_world *world = owner;
	(void)process;
	(void)mode;
	(void)kind;
	world->asked++;
	if (address >= FLEETING) {
		*out = (struct located){ .image = FILE_IMAGE,
					 .vaddr = address - FLEETING + world->moved,
					 .fleeting = true };
		return 0;
	}
	if (address >= HOLE)
		return unknown(owner, address < STRAYS ? UNKNOWN_NO_MAPPING : UNKNOWN_NO_PROCESS,
			       out);
	*out = (struct located){ .image = FILE_IMAGE, .vaddr = address - world->moved };
	return 0;
}

static enum unknown_cause cause_of(const void *owner, uint32_t image)
{
	(void)owner;
	return image == HOLE_IMAGE	? UNKNOWN_NO_MAPPING
	       : image == STRAY_IMAGE	? UNKNOWN_NO_PROCESS
	       : image == MISSING_IMAGE ? UNKNOWN_NOT_UNWOUND
					: UNKNOWN_NONE;
}

static uint64_t meaning(void *owner, struct process *process)
{
	(void)process;
	return ((struct small_world *)owner)->meaning;
}

struct scene {
	struct small_world small;
	struct world world;
	struct cells cells;
	struct chain chain;
};

static void release_scene(struct scene *scene)
{
	cells_release(&scene->cells);
	chain_release(&scene->chain);
}

static void make_scene(struct scene *scene)
{
	*scene = (struct scene){ .world = { &scene->small, locate, unknown, cause_of, meaning } };
	assert_int_equal(cells_init(&scene->cells), 0);
}

/* The node of the callers of a chain of words whose first address is the sampled one. */
static uint32_t callers(struct scene *scene, const uint64_t *words, size_t count)
{
	const struct perf_words chain = { (const uint8_t *)words, count };
	uint32_t node;
	assert_int_equal(calls_of_words(&scene->cells, &scene->world, NULL, &chain,
					chain_words_of_leaf(&chain), &scene->chain, &node),
			 0);
	return node;
}

static void expect_frames(const struct scene *scene, uint32_t node, const uint64_t *vaddrs,
			  const uint32_t *images, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_not_equal(node, 0);
		const struct cells_node *at = &scene->cells.nodes[node - 1];
		assert_int_equal(at->image_kind / 2, images[i]);
		assert_int_equal(at->vaddr, vaddrs[i]);
		node = at->parent;
	}
	assert_int_equal(node, 0);
}

#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

static void a_run_of_unknown_frames_is_one(void **state)
{
	(void)state;
	CLEANUP(release_scene) struct scene scene;
	make_scene(&scene);
	const uint64_t words[] = { USER, 0x10, 0x20, HOLE + 1, HOLE + 2, HOLE + 9, 0x30, HOLE + 3 };
	uint32_t node = callers(&scene, words, 8);
	expect_frames(&scene, node, (uint64_t[]){ 0x20, 0, 0x30, 0 },
		      (uint32_t[]){ FILE_IMAGE, HOLE_IMAGE, FILE_IMAGE, HOLE_IMAGE }, 4);

	/* However long the run, and wherever it wanders: the same stack. */
	const uint64_t longer[] = { USER,     0x10, 0x20,     HOLE + 7, HOLE + 5, HOLE + 6,
				    HOLE + 4, 0x30, HOLE + 8, HOLE + 2, HOLE + 1 };
	assert_int_equal(callers(&scene, longer, 11), node);

	/* Two causes are two frames. */
	const uint64_t causes[] = { USER, 0x10, HOLE + 1, STRAYS + 1, STRAYS + 2 };
	expect_frames(&scene, callers(&scene, causes, 5), (uint64_t[]){ 0, 0 },
		      (uint32_t[]){ HOLE_IMAGE, STRAY_IMAGE }, 2);
}

/* A chain is recorded whole where it does not begin with the sampled address. */
static void the_innermost_frame_counts_by_itself(void **state)
{
	(void)state;
	CLEANUP(release_scene) struct scene scene;
	make_scene(&scene);
	const uint64_t words[] = { USER, HOLE + 1, HOLE + 2, HOLE + 3 };
	const struct perf_words chain = { (const uint8_t *)words, 4 };
	uint32_t node, again;
	for (int round = 0; round < 2; round++) { /* looked for, and remembered */
		assert_int_equal(chain_begin(&scene.chain, 4), 0);
		chain_add_words(&scene.chain, &chain, false);
		assert_int_equal(
			calls_of_chain(&scene.cells, &scene.world, NULL, &scene.chain, 0, &node),
			0);
		expect_frames(&scene, node, (uint64_t[]){ 0, 0 },
			      (uint32_t[]){ HOLE_IMAGE, HOLE_IMAGE }, 2);
	}
	/* As the first of the user's part below the kernel's it is one of a run. */
	const uint64_t below[] = { KERNEL, 0x10, USER, HOLE + 1, HOLE + 2, HOLE + 3 };
	again = callers(&scene, below, 6);
	expect_frames(&scene, again, (uint64_t[]){ 0 }, (uint32_t[]){ HOLE_IMAGE }, 1);
}

static void calls_that_came_before_ask_nobody(void **state)
{
	(void)state;
	CLEANUP(release_scene) struct scene scene;
	make_scene(&scene);
	uint64_t words[] = { USER, 0x10, 0x20, 0x30, 0x40 };
	uint32_t node = callers(&scene, words, 5);
	size_t asked = scene.small.asked;
	words[1] = 0x11; /* another place in the same function */
	assert_int_equal(callers(&scene, words, 5), node);
	assert_int_equal(scene.small.asked, asked);
	words[2] = 0x21; /* called from elsewhere: the outer frames are known */
	assert_int_not_equal(callers(&scene, words, 5), node);
	assert_int_equal(scene.small.asked, asked + 1);

	/* The same words in another mode are other addresses. */
	words[0] = KERNEL;
	words[2] = 0x20;
	callers(&scene, words, 5);
	assert_true(scene.small.asked > asked + 1);

	/* So they are when the file lies elsewhere. */
	words[0] = USER;
	scene.small.moved = 8;
	scene.small.meaning = 1;
	expect_frames(&scene, callers(&scene, words, 5), (uint64_t[]){ 0x18, 0x28, 0x38 },
		      (uint32_t[]){ FILE_IMAGE, FILE_IMAGE, FILE_IMAGE }, 3);
}

static void what_is_fleeting_is_not_remembered(void **state)
{
	(void)state;
	CLEANUP(release_scene) struct scene scene;
	make_scene(&scene);
	const uint64_t words[] = { USER, 0x10, 0x20, FLEETING + 0x30, 0x40 };
	callers(&scene, words, 5);
	size_t asked = scene.small.asked;
	scene.small.moved = 0; /* what lies further out than it is known for good */
	callers(&scene, words, 5);
	assert_int_equal(scene.small.asked, asked + 2);
	scene.small.moved = 16;
	uint32_t node = callers(&scene, words, 5);
	assert_int_equal(scene.cells.nodes[scene.cells.nodes[node - 1].parent - 1].vaddr, 0x40);
}

/* Random chains: with and without what is remembered every chain leads to the same frames. */
static void memory_changes_nothing(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	CLEANUP(release_scene) struct scene with;
	make_scene(&with);
	for (size_t round = 0; round < 20000; round++) {
		CLEANUP(release_scene) struct scene without;
		uint64_t words[12] = { USER };
		size_t count = 2 + random_below(&random, 9);
		for (size_t i = 1; i < count; i++)
			words[i] = random_below(&random, 3) * HOLE + random_below(&random, 4);
		if (random_below(&random, 4) == 0 && count > 4)
			words[3] = KERNEL;
		make_scene(&without);
		uint32_t node = callers(&with, words, count);
		uint32_t fresh = callers(&without, words, count);
		while (node && fresh) {
			const struct cells_node *a = &with.cells.nodes[node - 1];
			const struct cells_node *b = &without.cells.nodes[fresh - 1];
			assert_int_equal(a->image_kind, b->image_kind);
			assert_int_equal(a->vaddr, b->vaddr);
			node = a->parent;
			fresh = b->parent;
		}
		assert_int_equal(node, fresh);
	}
}

static void words_before_the_callers(void **state)
{
	(void)state;
	const struct {
		uint64_t words[4];
		size_t count;
		enum code_mode mode;
		uint64_t ip, before;
	} cases[] = {
		{ { 0 }, 0, CODE_USER, 0x10, 0 },
		{ { USER }, 1, CODE_USER, 0x10, 0 },
		{ { USER, 0x10 }, 2, CODE_USER, 0x10, 2 },
		{ { USER, 0x10 }, 2, CODE_KERNEL, 0x10, 0 },
		{ { USER, 0x11, 0x20 }, 3, CODE_USER, 0x10, 0 },
		{ { 0x10, 0x20 }, 2, CODE_USER, 0x10, 1 },
		{ { KERNEL, USER, 0x10, 0x20 }, 4, CODE_USER, 0x10, 3 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct perf_words words = { (const uint8_t *)cases[i].words, cases[i].count };
		assert_int_equal(calls_words_before(&words, cases[i].mode, cases[i].ip),
				 cases[i].before);
	}
	const uint64_t words[] = { KERNEL, 1, 2, USER, 3 };
	const struct perf_words chain = { (const uint8_t *)words, 5 };
	assert_true(chain_reaches(&chain, 3));
	assert_false(chain_reaches(&chain, 4));
	assert_false(chain_reaches(&chain, 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_of_unknown_frames_is_one),
		cmocka_unit_test(the_innermost_frame_counts_by_itself),
		cmocka_unit_test(calls_that_came_before_ask_nobody),
		cmocka_unit_test(what_is_fleeting_is_not_remembered),
		cmocka_unit_test(memory_changes_nothing),
		cmocka_unit_test(words_before_the_callers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
