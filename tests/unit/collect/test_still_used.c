/* What nothing refers to any more is forgotten when an epoch ends, and what something refers to is
 * taken for nothing else (collect/still_used.h). */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "collect/gather.h"
#include "made_up_session.h"
#include "profile/profile.h"

#define EPOCHS	    20
#define SETTLED	    3 /* epochs, after which nothing more may be kept */
#define EPOCH_NAMES 5000u
#define STRANGER    4242u

/* A session that knows files by their records alone, and the code of no process. */
static struct session *new_session_of_files(void)
{
	struct session *session = made_up_session_new();
	assert_int_equal(file_table_init(&session->files, session->profile, NULL, &session->shares),
			 0);
	jit_table_init(&session->jits, NULL, &session->files, &session->shares);
	return session;
}

static void free_session_of_files(struct session *session)
{
	process_table_release(&session->processes);
	jit_table_release(&session->jits);
	file_table_release(&session->files);
	made_up_session_free(session);
}

static uint32_t map_file(struct session *session, uint32_t pid, uint64_t inode, struct share *share)
{
	char path[64];
	snprintf(path, sizeof(path), "/build/%u", (unsigned)inode);
	struct file_hint hint = { .pid = pid,
				  .inode = inode,
				  .share = share,
				  .payer = share,
				  .path = span_of_text(path) };
	struct mapping mapping = { .start = inode << 12, .end = (inode + 1) << 12 };
	assert_int_equal(file_table_find(&session->files, &hint, &mapping.file), 0);
	assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
	return mapping.file;
}

/* The image of the file, which has a sample. */
static uint32_t sample_file(struct session *session, uint32_t number)
{
	struct tally_place place = { .vaddr = 16 };
	uint32_t target;
	assert_int_equal(file_table_image(&session->files, number, &place.image), 0);
	assert_int_equal(tally_place(&session->tally, &place, &target), 0);
	return place.image;
}

static void sample_own_code(struct session *session, uint32_t pid, struct share *share)
{
	struct process *process = process_find(&session->processes, pid);
	struct located found;
	process->share = share;
	process->share_asked = true;
	uint32_t anonymous = session->files.anonymous;
	struct mapping mapping = { .start = 4096, .end = 8192, .file = anonymous };
	assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
	assert_int_equal(session_locate(session, process, CODE_USER, 4096, FRAME_IP, &found), 0);
	assert_int_equal(found.cause, UNKNOWN_NONE);
	struct tally_place place = { .image = found.image, .vaddr = found.vaddr };
	uint32_t target;
	assert_int_equal(tally_place(&session->tally, &place, &target), 0);
}

static void end_process(struct session *session, uint32_t pid)
{
	assert_int_equal(process_exit(&session->processes, pid, pid, 1), 0);
	process_reap(&session->processes, 2);
}

static void end_generation(struct session *session)
{
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct tally_translation translation = { 0 };
	assert_int_equal(tally_translation_init(&translation, session->profile, profile), 0);
	assert_int_equal(gather_nothing(session, &translation, false), 0);
	tally_translation_release(&translation);
	assert_int_equal(session_begin_generation(session), 0);
	assert_null(profile_fault(session->profile));
}

#define NEW_FILES 1000u /* an epoch; a stranger has room for 4096 */

/* Of a stranger's programs, each of which is new, and of code that each makes itself. */
static void files_and_code_go_with_who_ran_them(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	uint32_t pid = 100;
	size_t settled_bytes = 0, most_bytes = 0;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		for (uint64_t i = 0; i < NEW_FILES; i++, pid++) {
			uint32_t number = map_file(session, pid, pid, share);
			assert_int_not_equal(number, session->files.beyond);
			sample_file(session, number);
			sample_own_code(session, pid, share);
			end_process(session, pid);
		}
		end_generation(session);
		assert_in_range(session->files.count, NEW_FILES, 2 * NEW_FILES + 8);
		assert_int_equal(session->jits.by_image.count, NEW_FILES);
		assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count,
				 2 * NEW_FILES);
		size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
		settled_bytes = epoch < SETTLED ? bytes : settled_bytes;
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}
	assert_in_range(most_bytes, 0, settled_bytes + settled_bytes / 8);
	assert_int_equal(share->refused[SHARE_FILES], 0);
	assert_int_equal(share->refused[SHARE_CONTEXTS], 0);
	assert_int_equal(share->held[SHARE_FILES], NEW_FILES);
	/* Another epoch, in which nothing runs. */
	end_generation(session);
	assert_int_equal(session->jits.by_image.count, 0);
	assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count, 0);
	assert_int_equal(share->held[SHARE_FILES], 0);
	assert_int_equal(share->held[SHARE_CONTEXTS], 0);
	assert_int_equal(session->files.count, session->files.beyond);
	free_session_of_files(session);
}

/* As if it had been read: all of these have the same content. */
static void make_program(struct session *session, uint32_t number)
{
	struct file *file = file_table_get(&session->files, number);
	file->identity = calloc(1, sizeof(*file->identity));
	assert_non_null(file->identity);
	file->identity->content = CONTENT_FILE;
	file->identity->hash.low = 1;
	file->state = FILE_IDENTIFIED;
}

/* A program runs all the time, and copies of it under ever other names. */
static void paths_of_an_image_go_with_the_files_that_had_them(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	uint32_t first = map_file(session, 1, 1, share);
	make_program(session, first);
	uint32_t image = sample_file(session, first);
	for (uint32_t pid = 100; pid < 100 + EPOCHS; pid++) {
		uint32_t number = map_file(session, pid, pid, share);
		make_program(session, number);
		assert_int_equal(sample_file(session, number), image);
		end_process(session, pid);
		end_generation(session);
		const struct table *paths = profile_table(session->profile, PROFILE_PATH);
		const char *copy = file_table_get(&session->files, number)->path;
		image = file_table_get(&session->files, first)->image;
		assert_int_equal(profile_table(session->profile, PROFILE_IMAGE)->count, 1);
		assert_int_equal(paths->count, 2);
		for (size_t row = 0; row < 2; row++) {
			struct span path =
				profile_bytes(session->profile, table_keys(paths, row)[PATH_PATH]);
			assert_int_equal(table_keys(paths, row)[PATH_IMAGE], image);
			assert_true(span_equal(path, span_of_text(row ? copy : "/build/1")));
		}
	}
	free_session_of_files(session);
}

/* The number of one that goes is another's then, and nobody else's. */
static void a_file_stays_while_it_is_mapped_or_waited_for(void **state)
{
	(void)state;
	enum { RUNS, FORMER, WAITS, OWED, GOES, FILES };
	struct session *session = new_session_of_files();
	uint32_t numbers[FILES];
	struct file *files[FILES];
	for (uint32_t i = 0; i < FILES; i++) {
		numbers[i] = map_file(session, 100 + i, 1000 + i, NULL);
		files[i] = file_table_get(&session->files, numbers[i]);
	}
	struct process *process = process_find(&session->processes, 100 + FORMER);
	process->former = process->space;
	process->space = address_space_new();
	struct address_space *space =
		address_space_share(process_find(&session->processes, 100 + WAITS)->space);
	session->edges.own.under_way = (struct edge_batch){ .spaces = &space, .space_count = 1 };
	struct code_spot *owed = calloc(1, sizeof(*owed));
	assert_non_null(owed);
	owed->image = sample_file(session, numbers[OWED]);
	session->owed = (struct code_spots){ owed, 1, 1 };
	for (uint32_t i = WAITS; i < FILES; i++)
		end_process(session, 100 + i);
	sample_file(session, numbers[RUNS]);
	end_generation(session);
	end_generation(session);
	for (size_t i = 0; i < GOES; i++)
		assert_ptr_equal(file_table_get(&session->files, numbers[i]), files[i]);
	assert_int_equal(files[OWED]->image, owed->image);
	assert_int_equal(files[RUNS]->image, 0); /* without samples in the last epoch */
	struct profile_image image = profile_image(session->profile, owed->image);
	assert_true(span_equal(image.name, span_of_text("/build/1003")));

	assert_int_equal(map_file(session, 200, 2000, NULL), numbers[GOES]);
	const struct file *file = file_table_get(&session->files, numbers[GOES]);
	assert_string_equal(file->path, "/build/2000");
	assert_int_not_equal(sample_file(session, numbers[GOES]), owed->image);
	address_space_drop(space);
	free_session_of_files(session);
}

#define RUNNING	     24u
#define RANDOM_ACTS  20000u
#define INODES	     16u /* which files have in turn */
#define FIRST_PID    1000u
#define OWED_AT_ONCE 8u

/* A process that runs, and the file that it maps; pid 0: none. */
struct running {
	uint32_t pid, file;
	struct file_hint hint;
	char path[64];
	bool compiles;
};

static void run_one(struct session *session, struct random_state *random, struct share *share,
		    struct running *running)
{
	static uint32_t last_pid = FIRST_PID;
	*running = (struct running){ .pid = ++last_pid, .compiles = random_below(random, 4) == 0 };
	const struct file_hint hint = { .pid = running->pid,
					.inode = 1 + random_below(random, INODES),
					.generation = 1 + random_below(random, 4),
					.generation_known = true,
					.share = share,
					.payer = share };
	snprintf(running->path, sizeof(running->path), "/file/%u/%u", (unsigned)hint.inode,
		 (unsigned)hint.generation);
	running->hint = hint;
	running->hint.path = span_of_text(running->path);
	struct mapping mapping = { .start = 1u << 20, .end = 2u << 20 };
	assert_int_equal(file_table_find(&session->files, &running->hint, &mapping.file), 0);
	assert_int_equal(process_map(&session->processes, running->pid, &mapping), 0);
	running->file = mapping.file;
	process_find(&session->processes, running->pid)->share = share;
	if (running->compiles)
		sample_own_code(session, running->pid, share);
}

static bool is_named(const struct session *session, uint32_t image, const char *name)
{
	return span_equal(profile_image(session->profile, image).name, span_of_text(name));
}

static void expect_file(struct session *session, const struct running *running)
{
	uint32_t number;
	const struct file *file = file_table_get(&session->files, running->file);
	assert_non_null(file);
	assert_string_equal(file->path, running->path);
	assert_true(!file->image || is_named(session, file->image, running->path));
	assert_int_equal(file_table_find(&session->files, &running->hint, &number), 0);
	assert_int_equal(number, running->file);
	const struct process *process = process_find(&session->processes, running->pid);
	const struct jit *jit = number_map_find(&session->jits.by_image, process->runtime_image);
	assert_int_equal(jit ? jit->pid : 0, running->compiles ? running->pid : 0);
	assert_int_equal(jit ? jit->image : 0, process->runtime_image);
}

/* What each user holds is there, once. */
static void expect_shares(const struct session *session, struct share *const *shares, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t files = 0, contexts = 0;
		size_t position = 0;
		for (uint32_t number = 1; number <= session->files.count; number++) {
			const struct file *file = file_table_get(&session->files, number);
			files += file && file->first_share == shares[i];
		}
		for (const struct jit *jit;
		     (jit = number_map_next(&session->jits.by_image, &position));)
			contexts += jit->share == shares[i] ? JIT_CONTEXTS : 0;
		assert_int_equal(shares[i]->held[SHARE_FILES], files);
		assert_int_equal(shares[i]->held[SHARE_CONTEXTS], contexts);
	}
}

/* Inodes and numbers are given away again and again, by chance; what runs keeps what it has. */
static void nothing_is_taken_for_another_whatever_comes_and_goes(void **state)
{
	(void)state;
	struct session *session = new_session_of_files();
	struct share *shares[] = { shares_of_user(&session->shares, STRANGER),
				   shares_of_user(&session->shares, STRANGER + 1) };
	struct running running[RUNNING] = { { 0 } };
	struct random_state random = random_seed(1);
	char owed[OWED_AT_ONCE][64];
	session->owed.list = calloc(OWED_AT_ONCE, sizeof(struct code_spot));
	assert_non_null(session->owed.list);
	for (unsigned act = 0; act < RANDOM_ACTS; act++) {
		struct running *one = &running[random_below(&random, RUNNING)];
		uint64_t what = random_below(&random, 16);
		size_t *owed_count = &session->owed.count;
		if (!one->pid) {
			run_one(session, &random, shares[random_below(&random, 2)], one);
		} else if (what < 6) {
			assert_true(is_named(session, sample_file(session, one->file), one->path));
		} else if (what < 12) {
			end_process(session, one->pid);
			one->pid = 0;
		} else if (what < 14 && *owed_count < OWED_AT_ONCE) {
			uint32_t image = sample_file(session, one->file);
			session->owed.list[*owed_count] = (struct code_spot){ .image = image };
			memcpy(owed[(*owed_count)++], one->path, sizeof(one->path));
		} else if (what == 15) {
			end_generation(session);
			for (size_t i = 0; i < RUNNING; i++)
				if (running[i].pid)
					expect_file(session, &running[i]);
			for (size_t i = 0; i < *owed_count; i++)
				assert_true(
					is_named(session, session->owed.list[i].image, owed[i]));
			expect_shares(session, shares, 2);
			*owed_count = random_below(&random, 2) ? 0 : *owed_count;
			assert_in_range(session->files.count, session->files.beyond, 200);
		}
	}
	free_session_of_files(session);
}

/* In each epoch containers come and go, more than there is room for names of in two. */
static void control_groups_go_with_their_processes(void **state)
{
	(void)state;
	struct session *session = made_up_session_new();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	struct process *lives = process_need(&session->processes, 1);
	const struct span home = span_of_text("/home");
	uint32_t pid = 100;
	assert_int_equal(groups_add(&session->groups, &session->shares, share,
				    span_of_text("/gone"), &lives->group),
			 0);
	assert_int_equal(groups_add(&session->groups, &session->shares, share, home, &lives->group),
			 0);
	for (unsigned i = 0; i < EPOCHS * EPOCH_NAMES; i++, pid++) {
		char path[64];
		struct process *process = process_need(&session->processes, pid);
		snprintf(path, sizeof(path), "/container/%u", i);
		assert_int_equal(groups_add(&session->groups, &session->shares, share,
					    span_of_text(path), &process->group),
				 0);
		assert_true(span_equal(groups_path(&session->groups, process->group),
				       span_of_text(path)));
		end_process(session, pid);
		if ((i + 1) % EPOCH_NAMES != 0)
			continue;
		assert_int_equal(session_begin_generation(session), 0);
		assert_int_equal(session->groups.paths.count, 1);
		assert_int_equal(lives->group, 1);
		assert_true(span_equal(groups_path(&session->groups, 1), home));
		assert_int_equal(share->held[SHARE_CONTEXTS], 1);
	}
	assert_int_equal(share->refused[SHARE_CONTEXTS], 0);
	groups_release(&session->groups);
	process_table_release(&session->processes);
	made_up_session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_code_go_with_who_ran_them),
		cmocka_unit_test(paths_of_an_image_go_with_the_files_that_had_them),
		cmocka_unit_test(a_file_stays_while_it_is_mapped_or_waited_for),
		cmocka_unit_test(nothing_is_taken_for_another_whatever_comes_and_goes),
		cmocka_unit_test(control_groups_go_with_their_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
