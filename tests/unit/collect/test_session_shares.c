#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/gather.h"
#include "collect/session.h"
#include "collect/stacks.h"
#include "profile/bill.h"
#include "support/skip.h"
#include "support/test_profile.h"

#define STRANGER 4242u

static struct session *new_session(void)
{
	struct session *session = calloc(1, sizeof(*session));
	assert_non_null(session);
	session->profile = profile_new();
	assert_non_null(session->profile);
	assert_int_equal(tally_init(&session->tally, session->profile), 0);
	session->world = session_world(session);
	shares_init(&session->shares, &(struct share_limits){ 0 });
	return session;
}

static void free_session(struct session *session)
{
	process_table_release(&session->processes);
	tally_release(&session->tally);
	chain_release(&session->chain);
	profile_free(session->profile);
	shares_release(&session->shares);
	free(session);
}

/* One that need not be asked any more. */
static struct process *process_of(struct session *session, uint32_t pid, uint32_t user)
{
	struct process *process = process_need(&session->processes, pid);
	assert_non_null(process);
	process->share = shares_of_user(&session->shares, user);
	process->share_asked = process->asked = process->known = true;
	return process;
}

static uint32_t context_of(struct session *session, struct process *process, const char *name)
{
	uint32_t id;
	process->context = 0; /* a new name */
	strcpy(process->comm, name);
	assert_int_equal(session_context(session, process, process->pid, 0, &id), 0);
	return id;
}

static void a_name_is_paid_for_once(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_of(session, 1, STRANGER);
	struct share *share = process->share;
	uint32_t id = context_of(session, process, "worker");
	for (int i = 0; i < 10000; i++)
		assert_int_equal(context_of(session, process, "worker"), id);
	assert_int_equal(share->held[SHARE_CONTEXTS], 1);

	/* When there is room for no more of them, those that are known stay. */
	char name[PROCESS_COMM_SIZE];
	uint32_t last = id;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		last = context_of(session, process, name);
	}
	struct profile_context rest = profile_context(session->profile, last);
	assert_true(span_equal(rest.comm, span_of_text("[beyond the limit]")));
	assert_int_equal(context_of(session, process, "worker"), id);
	assert_int_not_equal(context_of(session, process, "n7"), last);
	uint64_t held = share->held[SHARE_CONTEXTS];
	assert_int_equal(profile_table(session->profile, PROFILE_CONTEXT)->count, held + 1);
	assert_int_equal(share->refused[SHARE_CONTEXTS], 20001 - held);
	free_session(session);
}

#define DEPTH 115

static void stacks_are_kept_up_to_the_limit(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_of(session, 1, STRANGER);
	struct share *share = process->share;
	const struct cells *cells = &session->tally.cells;
	struct kernel_range all = { .end = UINT64_MAX, .what = KERNEL_CORE, .image = 1 };
	uint64_t words[DEPTH + 1] = { (uint64_t)PERF_CONTEXT_KERNEL };
	const struct perf_sample sample = { .chain = { (const uint8_t *)words, DEPTH + 1 } };
	const struct stacks_sample wanted = { .sample = &sample, .mode = CODE_USER };
	session->kernel = (struct kernel_map){ .ranges = &all, .count = 1 };
	uint64_t serial = 1;
	struct tally_place place;
	bool cut;
	for (int i = 0; i < 5000; i++) {
		place = (struct tally_place){ .image = 1, .vaddr = serial };
		for (int at = 1; at <= DEPTH; at++)
			words[at] = 0x1000 + serial++;
		assert_int_equal(session_calls(session, process, &wanted, &place, &cut), 0);
		assert_true(place.stack);
	}
	assert_int_equal(place.calls, 0); /* there was no room for its callers */
	assert_in_range(share->held[SHARE_STACKS], 131072, 131072 + DEPTH);
	assert_int_equal(session->shares.together.held[SHARE_STACKS],
			 share->held[SHARE_STACKS] - 131072 / 16);
	assert_true(share->refused[SHARE_STACKS] > 2000);
	assert_int_equal(cells->node_count, share->held[SHARE_STACKS]);
	free_session(session);
}

static void map(struct session *session, uint32_t pid, uint64_t count)
{
	struct process *process = process_find(&session->processes, pid);
	for (uint64_t i = 0; i < count; i++) {
		struct mapping mapping = { (i + 1) << 20, ((i + 1) << 20) + 1, 0, pid };
		if (!session_may_map(session, process))
			continue;
		assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
		session_count_mappings(session, process);
	}
}

static void fork_of(struct session *session, uint32_t pid, uint32_t parent)
{
	assert_int_equal(process_fork(&session->processes, pid, pid, parent, parent, 1), 0);
	process_of(session, pid, STRANGER);
}

static void copies_of_mappings_count(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *parent = process_of(session, 1, STRANGER);
	struct share *share = parent->share;
	session->processes.forget_space = session_forget_space;
	session->processes.forget_context = session;
	map(session, 1, 60000);
	assert_int_equal(share->held[SHARE_MAPPINGS], 60000);
	uint64_t kept = 0;
	for (uint32_t pid = 2; pid < 12; pid++) {
		fork_of(session, pid, 1);
		map(session, pid, 2);
		const struct address_space *space = process_find(&session->processes, pid)->space;
		kept += space == parent->space ? 0 : space->count;
	}
	assert_int_equal(share->held[SHARE_MAPPINGS], 60000 + kept);
	assert_in_range(kept, 60000, 131072 - 60000);
	assert_int_equal(share->refused[SHARE_MAPPINGS], 9 * 2);

	/* What one forked has in common with it counts until the last has ended. */
	for (uint32_t pid = 1; pid < 11; pid++)
		assert_int_equal(process_exit(&session->processes, pid, pid, 2), 0);
	process_reap(&session->processes, 3);
	assert_int_equal(share->held[SHARE_MAPPINGS], 60000);
	assert_int_equal(process_exit(&session->processes, 11, 11, 2), 0);
	process_reap(&session->processes, 3);
	assert_int_equal(share->held[SHARE_MAPPINGS], 0);
	assert_int_equal(session->shares.together.held[SHARE_MAPPINGS], 0);
	free_session(session);
}

static void whoever_was_charged_gets_mappings_back(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_of(session, 1, STRANGER);
	struct share *share = process->share;
	session->processes.forget_space = session_forget_space;
	session->processes.forget_context = session;
	map(session, 1, 30000);
	/* It runs su. */
	assert_int_equal(process_comm(&session->processes, 1, 1, span_of_text("su"), true, 2), 0);
	process_of(session, 1, 0);
	map(session, 1, 10);
	assert_int_equal(share->held[SHARE_MAPPINGS], 30000); /* kept as what it ran before */
	process_comm(&session->processes, 1, 1, span_of_text("sh"), true, 3);
	assert_int_equal(share->held[SHARE_MAPPINGS], 0);
	/* One that changes its user without a program takes what it has along. */
	process_of(session, 1, STRANGER);
	map(session, 1, 10);
	process_of(session, 1, STRANGER + 1);
	map(session, 1, 11);
	assert_int_equal(share->held[SHARE_MAPPINGS], 0);
	share = shares_of_user(&session->shares, STRANGER + 1);
	assert_int_equal(share->held[SHARE_MAPPINGS], 11);
	free_session(session);
}

static void hand(struct session *session, const void *record, size_t size_bytes)
{
	struct ring ring = { 0 };
	assert_int_equal(session_process_record(session, &ring, record, size_bytes), 0);
}

/* His programs end all the same. */
static void who_has_no_room_for_mappings_is_seen_to_end(void **state)
{
	(void)state;
	struct session *session = new_session();
	uint32_t last_exit = 0;
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[16];
	} exec = { { PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(exec) }, 5, 5, "sh" };
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[16];
	} mapping = { { PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(mapping) },
		      5,
		      5,
		      1 << 20,
		      4096,
		      0,
		      8,
		      1,
		      77,
		      1,
		      5,
		      2,
		      "/bin/sh" };
	const struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} exit = { { PERF_RECORD_EXIT, 0, sizeof(exit) }, 5, 5, 5, 5, 100 };
	session->last_exit = &last_exit;
	struct process *process = process_of(session, 5, STRANGER);
	while (share_take(&session->shares, process->share, SHARE_MAPPINGS, 1))
		;
	hand(session, &exec, sizeof(exec));
	process_of(session, 5, STRANGER);
	hand(session, &exit, sizeof(exit)); /* as the kernel says where it guards a program */
	assert_int_equal(process->exit_ns, 0);
	hand(session, &mapping, sizeof(mapping));
	assert_int_equal(process->space->count, 0);
	hand(session, &exit, sizeof(exit));
	process_reap(&session->processes, 1000);
	assert_null(process_find(&session->processes, 5));
	free_session(session);
}

static void a_sample_is_unknown_for_one_cause(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct process *process = process_of(session, 1, STRANGER);
	struct lane lane = { 0 };
	struct sampler sampler = {
		.clock = true,
		.sampled = true,
		.group_size = 1,
		.id = 1,
		.layout.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID,
	};
	struct counter counter = { .id = 7 };
	struct ring ring = { 0 };
	process->exit_ns = 1; /* nobody looks what it maps */
	session->counters.samplers = &sampler;
	session->counters.sampler_count = session->counters.cpu_count = 1;
	session->counters.lanes = &lane;
	session->counters.list = &counter;
	assert_int_equal(number_map_put(&session->counters.by_id, 7, (void *)1), 0);
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
	} sample = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(sample) }, 7, 4096, 1, 1 };
	while (share_take(&session->shares, process->share, SHARE_PLACES, 1))
		;
	assert_int_equal(session_process_record(session, &ring, &sample, sizeof(sample)), 0);
	assert_int_equal(lane.sums.stored, 1);
	assert_int_equal(lane.sums.unknown[UNKNOWN_BEYOND_LIMIT], 1);
	assert_int_equal(lane.sums.unknown[UNKNOWN_NO_MAPPING], 0);
	process->exit_ns = 0;
	number_map_release(&session->counters.by_id);
	bursts_release(&session->bursts);
	free_session(session);
}

/* A child that becomes the stranger's once it is told to, and answers. */
static pid_t daemons_child(int tell[2], int answer[2])
{
	char byte = 0;
	assert_int_equal(pipe(tell), 0);
	assert_int_equal(pipe(answer), 0);
	pid_t pid = fork();
	if (pid)
		return pid;
	close(tell[1]);
	if (read(tell[0], &byte, 1) == 1 && setuid(STRANGER) == 0 &&
	    write(answer[1], &byte, 1) == 1 && read(tell[0], &byte, 1) == 0)
		_exit(0);
	_exit(1);
}

static void who_changes_his_user_without_a_program_is_asked(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	struct session *session = new_session();
	struct share *own = &session->shares.own;
	struct share *stranger = shares_of_user(&session->shares, STRANGER);
	int tell[2], answer[2];
	char byte = 0;
	uint32_t pid = (uint32_t)daemons_child(tell, answer);
	process_of(session, 1, 0);
	session->sample_ns = 1;
	assert_int_equal(process_fork(&session->processes, pid, pid, 1, 1, 1), 0);
	assert_ptr_equal(session_share(session, process_find(&session->processes, pid)), own);
	assert_int_equal(write(tell[1], &byte, 1), 1);
	assert_int_equal(read(answer[0], &byte, 1), 1);
	/* One that was asked before it changed is asked again a second later. */
	assert_ptr_equal(session_share(session, process_find(&session->processes, pid)), own);
	session->sample_ns += 2000000000;
	assert_ptr_equal(session_share(session, process_find(&session->processes, pid)), stranger);
	/* It does not inherit that its parent was asked. */
	session->sample_ns = 1;
	assert_int_equal(process_fork(&session->processes, pid, pid, 1, 1, 2), 0);
	assert_ptr_equal(session_share(session, process_find(&session->processes, pid)), stranger);
	close(tell[1]);
	assert_int_equal(waitpid((pid_t)pid, NULL, 0), pid);
	/* Who is gone by then stays who he was. */
	session->sample_ns += 5000000000;
	assert_ptr_equal(session_share(session, process_find(&session->processes, pid)), stranger);
	free_session(session);
	close(tell[0]);
	close(answer[0]);
	close(answer[1]);
}

static void without_a_stash_what_was_left_out_is_in_the_bill_too(void **state)
{
	(void)state;
	struct session *session = new_session();
	struct share *share = shares_of_user(&session->shares, STRANGER);
	char path[] = "/their/program", other[] = "/their/other", mute[] = "/their/mount/program";
	struct file unread = { .path = path, .unread = true, .sampled = true, .through = share };
	struct file never_sampled = { .path = other, .unread = true, .through = share };
	struct file unanswered = { .path = mute,
				   .unread = true,
				   .unread_why = LEFT_OUT_UNANSWERED,
				   .sampled = true,
				   .through = share };
	struct file *files[] = { &unread, &never_sampled, &unanswered };
	session->files.files = files;
	session->files.count = 3;
	share->refused[SHARE_PLACES] = 17;
	share->left_ns[SHARE_GATHERING] = 0;
	struct profile *profile = profile_new();
	struct tally_translation translation = { 0 };
	assert_int_equal(tally_translation_init(&translation, session->profile, profile), 0);
	assert_int_equal(gather_nothing(session, &translation, false), 0);
	assert_int_equal(test_billed(profile, "left_out_places"), 17);
	assert_int_equal(test_billed(profile, "left_out_names_time"), 1);
	assert_int_equal(test_billed(profile, "left_out_names_unanswered"), 1);
	assert_int_equal(test_billed(profile, "left_out_file_/their/program"), 1);
	assert_int_equal(test_billed(profile, "left_out_file_/their/other"), -1);
	/* The next epoch begins with none of it. */
	assert_true(share->left_ns[SHARE_GATHERING] > 0);
	assert_int_equal(share->refused[SHARE_PLACES], 0);
	assert_false(unread.sampled);
	tally_translation_release(&translation);
	profile_free(profile);
	free_session(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_paid_for_once),
		cmocka_unit_test(stacks_are_kept_up_to_the_limit),
		cmocka_unit_test(copies_of_mappings_count),
		cmocka_unit_test(whoever_was_charged_gets_mappings_back),
		cmocka_unit_test(who_has_no_room_for_mappings_is_seen_to_end),
		cmocka_unit_test(a_sample_is_unknown_for_one_cause),
		cmocka_unit_test(who_changes_his_user_without_a_program_is_asked),
		cmocka_unit_test(without_a_stash_what_was_left_out_is_in_the_bill_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
