#include "collect/shares.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "image/writer.h"
#include "support/skip.h"

#define STRANGER 4242u

static void root_and_oneself_have_no_limits(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *own = shares_of_user(&shares, geteuid());
	assert_ptr_equal(shares_of_user(&shares, 0), own);
	assert_false(own->strange);
	assert_true(share_take(&shares, own, SHARE_FILES, UINT64_MAX));
	assert_true(share_take(&shares, own, SHARE_FILES, UINT64_MAX));
	assert_int_equal(share_gathering_left_ns(&shares, own, SHARE_GATHERING), UINT64_MAX);
	/* What others may write is nobody's that is trusted. */
	assert_true(shares_of_file(&shares, writer_of(WRITER_ANYBODY, 0))->strange);
	assert_ptr_equal(shares_of_file(&shares, 0), own);
	assert_ptr_equal(shares_of_file(&shares, writer_of(WRITER_USER, STRANGER)),
			 shares_of_user(&shares, STRANGER));
	/* Its owner says nothing where somebody else serves it. */
	assert_ptr_equal(shares_of_file(&shares, writer_of(WRITER_MOUNTER, 0)),
			 shares_of_user(&shares, SHARE_USER_UNKNOWN));
	shares_release(&shares);
}

static void one_stranger_leaves_room_for_another(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *greedy = shares_of_user(&shares, STRANGER);
	struct share *other = shares_of_user(&shares, STRANGER + 1);
	uint64_t taken = 0;
	while (share_take(&shares, greedy, SHARE_MAPPINGS, 1))
		taken++;
	assert_true(taken >= 65536);
	assert_false(share_has_room(&shares, greedy, SHARE_MAPPINGS));
	assert_true(share_take(&shares, other, SHARE_MAPPINGS, taken / 4));
	assert_true(share_take(&shares, greedy, SHARE_FILES, 1));
	/* What is given back is there for it again. */
	share_give_back(&shares, greedy, SHARE_MAPPINGS, 2);
	assert_true(share_take(&shares, greedy, SHARE_MAPPINGS, 2));
	uint64_t refused[SHARE_KINDS];
	shares_take_refused(&shares, refused);
	assert_int_equal(refused[SHARE_MAPPINGS], 1);
	shares_take_refused(&shares, refused);
	assert_int_equal(refused[SHARE_MAPPINGS], 0);
	shares_release(&shares);
}

/* What users from that one on can have of it, as parts of what one can. */
static double taken_by_many(uint32_t first)
{
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	uint64_t one = 0, all = 0;
	while (share_take(&shares, shares_of_user(&shares, first), SHARE_PLACES, 1))
		one++;
	all = one;
	for (uint32_t user = first + 1; user < first + 3000; user++)
		while (all < 8 * one &&
		       share_take(&shares, shares_of_user(&shares, user), SHARE_PLACES, 1))
			all++;
	shares_release(&shares);
	return (double)all / (double)one;
}

static void many_users_have_little_more_than_one(void **state)
{
	(void)state;
	/* Accounts of people and of services: half as much again, and their floors. */
	assert_in_range(taken_by_many(STRANGER) * 100, 150, 350);
	/* Subordinate ids, of which one person has thousands. */
	assert_in_range(taken_by_many(100000) * 100, 150, 200);
}

/* All of each kind, as one user's programs may take, and what it is in the recorder's memory. */
static uint64_t take_all(struct shares *shares, struct share *share)
{
	for (int kind = 0; kind < SHARE_KINDS; kind++)
		while (share_take(shares, share, (enum share_of)kind, 1))
			;
	return share->held[SHARE_STACKS] * 240 + share->held[SHARE_PLACES] * 440 +
	       share->held[SHARE_EDGES] * 280 + share->held[SHARE_JIT_BYTES] +
	       share->held[SHARE_FILES] * 1200 + share->held[SHARE_CONTEXTS] * 400 +
	       share->held[SHARE_MAPPINGS] * 40;
}

static void all_kinds_together_fit_in_one_memory(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ .stacks = true });
	struct share *greedy = shares_of_user(&shares, STRANGER);
	uint64_t bytes = take_all(&shares, greedy);
	assert_in_range(bytes, SHARE_KEPT_BYTES - 2000, SHARE_KEPT_BYTES);
	assert_int_equal(greedy->held_bytes, bytes);
	/* One kind had no room because of another one, and says so. */
	assert_true(greedy->held[SHARE_PLACES] < 65536);
	assert_true(greedy->refused[SHARE_PLACES] > 0);
	/* A second one has half as much again, all others their floors: about as much as one. */
	bytes += take_all(&shares, shares_of_user(&shares, STRANGER + 1));
	assert_in_range(bytes, SHARE_KEPT_BYTES * 3 / 2, SHARE_KEPT_BYTES * 13 / 8);
	for (uint32_t user = 100000; user < 100100; user++)
		bytes += take_all(&shares, shares_of_user(&shares, user));
	assert_in_range(bytes, SHARE_KEPT_BYTES * 3 / 2, SHARE_KEPT_BYTES * 2);
	/* What is given back is room for any other kind. */
	share_give_back(&shares, greedy, SHARE_MAPPINGS, 20000);
	assert_true(share_take(&shares, greedy, SHARE_PLACES, 1000));
	shares_release(&shares);
}

/* What passed while all was taken brings nothing back: a slow machine takes seconds for that. */
static void stop_the_clock(struct shares *shares, struct share *share)
{
	shares->together.refilled_ns = share->refilled_ns = clock_monotonic_ns();
}

static void two_users_cannot_take_all_from_a_third(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	for (int kind = 0; kind < SHARE_KINDS; kind++)
		for (uint32_t user = STRANGER; user < STRANGER + 2; user++)
			while (share_take(&shares, shares_of_user(&shares, user),
					  (enum share_of)kind, 1))
				;
	for (uint32_t user = STRANGER; user < STRANGER + 2; user++)
		for (int i = 0; i < SHARE_PURPOSES; i++)
			share_spend(&shares, shares_of_user(&shares, user), (enum share_purpose)i,
				    SHARE_READ_NS);
	struct share *third = shares_of_user(&shares, STRANGER + 2);
	assert_true(share_take(&shares, third, SHARE_CONTEXTS, 512));
	assert_false(share_take(&shares, third, SHARE_CONTEXTS, 1));
	share_give_back(&shares, third, SHARE_CONTEXTS, 1);
	assert_true(share_take(&shares, third, SHARE_CONTEXTS, 1));
	assert_true(share_take(&shares, third, SHARE_FILES, 256));
	assert_true(share_gathering_left_ns(&shares, third, SHARE_GATHERING) >= SHARE_LEAST_NS);
	stop_the_clock(&shares, third);
	shares_charge(&shares, third, SHARE_READING, 0, NULL);
	assert_true(shares_time_left_ns(&shares) >= SHARE_LEAST_NS);
	shares_settle(&shares, NULL);
	/* That is spent, too, and comes back. */
	share_spend(&shares, third, SHARE_READING, SHARE_READ_NS / 10);
	share_spend(&shares, third, SHARE_GATHERING, SHARE_READ_NS / 10);
	stop_the_clock(&shares, third);
	assert_true(share_reading_left_ns(&shares, third) < SHARE_LEAST_NS);
	assert_int_equal(share_gathering_left_ns(&shares, third, SHARE_GATHERING), 0);
	third->refilled_ns -= SHARE_READ_PART * SHARE_READ_NS;
	assert_true(share_reading_left_ns(&shares, third) >= SHARE_LEAST_NS);
	shares_begin_epoch(&shares);
	assert_int_equal(share_gathering_left_ns(&shares, third, SHARE_GATHERING), SHARE_TIME_NS);
	shares_release(&shares);
}

static void one_who_always_reads_leaves_time_that_comes_back(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *greedy = shares_of_user(&shares, STRANGER);
	struct share *other = shares_of_user(&shares, STRANGER + 1);
	uint64_t second_ns = 1000000000, got_ns = 0;
	for (int i = 0; i < 100; i++) {
		greedy->refilled_ns -= second_ns;
		other->refilled_ns -= second_ns;
		shares.together.refilled_ns -= second_ns;
		share_spend(&shares, greedy, SHARE_READING, share_reading_left_ns(&shares, greedy));
		uint64_t left_ns = share_reading_left_ns(&shares, other);
		share_spend(&shares, other, SHARE_READING, left_ns);
		got_ns += left_ns;
	}
	assert_true(got_ns > 25 * second_ns / 10);
	shares_release(&shares);
}

static void time_is_used_up_and_comes_back_with_an_epoch(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ .time_ns = 40000000 });
	struct share *greedy = shares_of_user(&shares, STRANGER);
	struct share *other = shares_of_user(&shares, STRANGER + 1);
	share_spend(&shares, greedy, SHARE_GATHERING, 39000000);
	assert_int_equal(share_gathering_left_ns(&shares, greedy, SHARE_GATHERING), 1000000);
	share_spend(&shares, greedy, SHARE_GATHERING, 9000000000);
	assert_int_equal(share_gathering_left_ns(&shares, greedy, SHARE_GATHERING), 0);
	shares_charge(&shares, greedy, SHARE_GATHERING, 0, NULL);
	assert_int_equal(shares_time_left_ns(&shares), 0);
	assert_int_equal(shares.account.left_ns, 0);
	shares_settle(&shares, NULL);
	/* The half more than one's own that all have is what is left of it for others,
	 * and their floor. */
	shares_begin_epoch(&shares);
	share_spend(&shares, greedy, SHARE_GATHERING, 40000000);
	assert_int_equal(share_gathering_left_ns(&shares, greedy, SHARE_GATHERING), 0);
	assert_int_equal(share_gathering_left_ns(&shares, other, SHARE_GATHERING), 24000000);
	shares_release(&shares);
}

static void without_limits_all_are_trusted(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ .unlimited = true });
	assert_false(shares_of_user(&shares, STRANGER)->strange);
	assert_false(shares_of_file(&shares, writer_of(WRITER_ANYBODY, STRANGER))->strange);
	shares_release(&shares);
}

static void who_is_visited_pays_for_that_alone(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *stranger = shares_of_user(&shares, STRANGER);
	shares_charge(&shares, &shares.own, SHARE_GATHERING, 0, NULL);
	assert_int_equal(shares_time_left_ns(&shares), UINT64_MAX);
	struct share_visit visit = shares_begin_visit(&shares, stranger, NULL);
	assert_true(shares_time_left_ns(&shares) <= SHARE_TIME_NS);
	shares_end_visit(&shares, &visit, NULL);
	assert_true(stranger->left_ns[SHARE_GATHERING] < SHARE_TIME_NS);
	assert_int_equal(shares_time_left_ns(&shares), UINT64_MAX);
	shares_settle(&shares, NULL);

	/* One who reads his own, or somebody else's, pays anyhow. */
	struct share *other = shares_of_user(&shares, STRANGER + 1);
	shares_charge(&shares, other, SHARE_GATHERING, 0, NULL);
	visit = shares_begin_visit(&shares, stranger, NULL);
	assert_ptr_equal(shares.payer, other);
	shares_end_visit(&shares, &visit, NULL);
	assert_ptr_equal(shares.payer, other);
	shares_settle(&shares, NULL);
	shares_release(&shares);
}

/* Of files that are trusted what he alone has samples in is paid apart, and read like ours. */
static void what_is_run_is_paid_apart(void **state)
{
	(void)state;
	struct shares shares;
	const struct timespec pause = { .tv_nsec = 30000000 };
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *runs = shares_of_user(&shares, STRANGER);
	struct share *visited = shares_of_user(&shares, STRANGER + 1);
	share_spend(&shares, runs, SHARE_GATHERING, SHARE_TIME_NS);
	assert_int_equal(share_gathering_left_ns(&shares, runs, SHARE_RUNNING), SHARE_TIME_NS);
	shares_charge(&shares, runs, SHARE_RUNNING, 0, NULL);
	assert_false(shares.account.strange);
	assert_true(shares.account.bounded);
	assert_int_equal(shares.account.left_bytes, SHARE_STASH_BYTES);
	/* In whose mounts it is looked for, he pays, and his helper looks. */
	struct share_visit visit = shares_begin_visit(&shares, visited, NULL);
	assert_true(shares.account.strange);
	nanosleep(&pause, NULL);
	shares_end_visit(&shares, &visit, NULL);
	assert_false(shares.account.strange);
	assert_ptr_equal(shares.payer, runs);
	shares_settle(&shares, NULL);
	assert_true(visited->left_ns[SHARE_GATHERING] <= SHARE_TIME_NS - 30000000);
	assert_int_equal(visited->left_ns[SHARE_RUNNING], SHARE_TIME_NS);
	assert_true(runs->left_ns[SHARE_RUNNING] > SHARE_TIME_NS - 30000000);
	share_spend(&shares, runs, SHARE_RUNNING, SHARE_TIME_NS);
	assert_int_equal(share_gathering_left_ns(&shares, runs, SHARE_RUNNING), 0);
	shares_begin_epoch(&shares);
	assert_int_equal(share_gathering_left_ns(&shares, runs, SHARE_RUNNING), SHARE_TIME_NS);
	assert_int_equal(share_asker(runs), STRANGER);
	assert_int_equal(share_asker(&shares.own), 0);
	shares_release(&shares);
}

static uint64_t spent_ns(const struct share *share)
{
	return SHARE_TIME_NS - share->left_ns[SHARE_GATHERING];
}

static void who_waits_for_his_file_pays_while_others_do(void **state)
{
	(void)state;
	struct shares shares;
	struct share_payment payment;
	const struct timespec pause = { .tv_nsec = 30000000 };
	shares_init(&shares, &(struct share_limits){ 0 });
	struct share *stranger = shares_of_user(&shares, STRANGER);
	struct share *other = shares_of_user(&shares, STRANGER + 1);
	shares_charge(&shares, stranger, SHARE_GATHERING, 0, NULL);
	uint64_t had_bytes = shares.account.left_bytes;
	shares.account.left_bytes -= 100;
	shares_leave(&shares, &payment, NULL);
	assert_int_equal(shares_time_left_ns(&shares), UINT64_MAX);
	/* What others are charged meanwhile is theirs. */
	shares_charge(&shares, &shares.own, SHARE_GATHERING, 0, NULL);
	struct share_visit visit = shares_begin_visit(&shares, other, NULL);
	nanosleep(&pause, NULL);
	shares_end_visit(&shares, &visit, NULL);
	shares_settle(&shares, NULL);
	assert_int_equal(spent_ns(stranger), 0);
	assert_true(spent_ns(other) >= 30000000);
	uint64_t other_spent_ns = spent_ns(other);
	shares_return(&shares, &payment, 0, NULL);
	assert_int_equal(shares.account.left_bytes, had_bytes - 100);
	shares_settle(&shares, NULL);
	assert_true(spent_ns(stranger) >= 30000000);
	assert_int_equal(spent_ns(other), other_spent_ns);
	assert_int_equal(stranger->stash_bytes, SHARE_STASH_BYTES - 100);
	/* But for what nobody noticed. */
	uint64_t stranger_spent_ns = spent_ns(stranger);
	shares_charge(&shares, stranger, SHARE_GATHERING, 0, NULL);
	shares_leave(&shares, &payment, NULL);
	uint64_t begin_ns = clock_monotonic_ns();
	nanosleep(&pause, NULL);
	uint64_t passed_ns = clock_monotonic_ns() - begin_ns;
	shares_return(&shares, &payment, passed_ns, NULL);
	shares_settle(&shares, NULL);
	assert_true(spent_ns(stranger) - stranger_spent_ns <
		    clock_monotonic_ns() - begin_ns - passed_ns + 1000000);
	shares_release(&shares);
}

static void what_ended_before_it_was_asked_pays_apart_from_all_others(void **state)
{
	(void)state;
	struct shares shares;
	shares_init(&shares, &(struct share_limits){ 0 });
	share_spend(&shares, &shares.ended, SHARE_READING, SHARE_READ_NS / 2);
	assert_true(share_reading_left_ns(&shares, shares_of_user(&shares, STRANGER)) ==
		    SHARE_READ_NS);
	/* Strangers who use up all that they have together leave it what it has. */
	for (uint32_t user = STRANGER; user < STRANGER + 4; user++)
		share_spend(&shares, shares_of_user(&shares, user), SHARE_READING, SHARE_READ_NS);
	assert_in_range(share_reading_left_ns(&shares, shares_of_user(&shares, STRANGER + 5)), 0,
			SHARE_READ_NS / 4);
	assert_in_range(share_reading_left_ns(&shares, &shares.ended), SHARE_READ_NS / 2,
			SHARE_READ_NS);
	shares_charge(&shares, &shares.ended, SHARE_READING, 0, NULL);
	assert_true(shares_time_left_ns(&shares) > SHARE_READ_NS / 4);
	shares_settle(&shares, NULL);
	/* It is no more trusted than they are. */
	share_spend(&shares, &shares.ended, SHARE_READING, SHARE_READ_NS);
	assert_in_range(share_reading_left_ns(&shares, &shares.ended), 0, SHARE_READ_NS / 4);
	shares_release(&shares);
}

static void what_took_longer_than_was_left_is_owed(void **state)
{
	(void)state;
	struct shares shares;
	struct share_limits limits = { 0 };
	shares_init(&shares, &limits);
	struct share *share = shares_of_user(&shares, STRANGER);
	share_spend(&shares, share, SHARE_READING, SHARE_READ_NS + SHARE_READ_NS / 2);
	/* A fifth of what is owed comes back: nothing is there yet. */
	share->refilled_ns -= SHARE_READ_PART * (SHARE_READ_NS / 10);
	shares.together.refilled_ns -= SHARE_READ_PART * (SHARE_READ_NS / 10);
	assert_int_equal(share_reading_left_ns(&shares, share), 0);
	share->refilled_ns -= SHARE_READ_PART * (SHARE_READ_NS / 2);
	shares.together.refilled_ns -= SHARE_READ_PART * (SHARE_READ_NS / 2);
	assert_in_range(share_reading_left_ns(&shares, share), SHARE_READ_NS / 20,
			SHARE_READ_NS / 5);
	/* With little left nothing is begun, which would only be broken off. */
	share_spend(&shares, share, SHARE_READING,
		    share_reading_left_ns(&shares, share) - SHARE_LEAST_NS / 2);
	shares_charge(&shares, share, SHARE_READING, 0, NULL);
	assert_int_equal(shares_time_left_ns(&shares), 0);
	shares_settle(&shares, NULL);
	shares_release(&shares);
}

/* Else what takes long enough is had for less than one part in so many of the time. */
static void it_is_owed_whole_however_long_it_took(void **state)
{
	(void)state;
	struct shares shares;
	struct share_limits limits = { 0 };
	shares_init(&shares, &limits);
	struct share *share = shares_of_user(&shares, STRANGER);
	share_spend(&shares, share, SHARE_READING, 10 * SHARE_READ_NS);
	share->refilled_ns -= SHARE_READ_PART * 8 * SHARE_READ_NS;
	shares.together.refilled_ns -= SHARE_READ_PART * 8 * SHARE_READ_NS;
	assert_int_equal(share_reading_left_ns(&shares, share), 0);
	share->refilled_ns -= SHARE_READ_PART * 2 * SHARE_READ_NS;
	shares.together.refilled_ns -= SHARE_READ_PART * 2 * SHARE_READ_NS;
	assert_int_equal(share_reading_left_ns(&shares, share), SHARE_READ_NS);
	shares_release(&shares);
}

/* A process of these users, real and effective, which lives until it is killed. */
static pid_t start_as(uid_t real, uid_t effective)
{
	int ready[2];
	char byte = 0;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setresuid(real, effective, 0) == 0 && write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static struct share *share_of(struct shares *shares, uid_t real, uid_t effective)
{
	pid_t pid = start_as(real, effective);
	struct share *share = shares_of_process(shares, (uint32_t)pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return share;
}

static void who_starts_a_program_with_rights_of_another_pays_for_it(void **state)
{
	(void)state;
	struct shares shares;
	if (geteuid() != 0)
		SKIP("needs root");
	shares_init(&shares, &(struct share_limits){ 0 });
	assert_ptr_equal(share_of(&shares, 0, 0), &shares.own);
	assert_int_equal(share_of(&shares, 1001, 0)->user, 1001);
	assert_int_equal(share_of(&shares, 0, 1001)->user, 1001);
	assert_int_equal(share_of(&shares, 1001, 1002)->user, 1001);
	assert_null(shares_of_process(&shares, INT32_MAX));
	shares_release(&shares);
}

static void the_trusted_have_a_limit_for_names_of_commands_alone(void **state)
{
	(void)state;
	struct shares shares;
	uint64_t refused[SHARE_KINDS];
	shares_init(&shares, &(struct share_limits){ 0 });
	assert_true(share_take(&shares, &shares.own, SHARE_FILES, UINT32_MAX));
	assert_true(share_take(&shares, &shares.own, SHARE_FILES, UINT32_MAX));
	assert_true(share_take(&shares, &shares.own, SHARE_CONTEXTS, 262144));
	assert_false(share_has_room(&shares, &shares.own, SHARE_CONTEXTS));
	assert_false(share_take(&shares, &shares.own, SHARE_CONTEXTS, 3));
	shares_take_refused(&shares, refused);
	assert_int_equal(refused[SHARE_CONTEXTS], 3);
	struct share *other = shares_of_user(&shares, 1001);
	assert_true(share_take(&shares, other, SHARE_CONTEXTS, 8192));
	share_give_back(&shares, &shares.own, SHARE_CONTEXTS, 1);
	assert_true(share_has_room(&shares, &shares.own, SHARE_CONTEXTS));
	shares_release(&shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_oneself_have_no_limits),
		cmocka_unit_test(one_stranger_leaves_room_for_another),
		cmocka_unit_test(many_users_have_little_more_than_one),
		cmocka_unit_test(all_kinds_together_fit_in_one_memory),
		cmocka_unit_test(two_users_cannot_take_all_from_a_third),
		cmocka_unit_test(one_who_always_reads_leaves_time_that_comes_back),
		cmocka_unit_test(time_is_used_up_and_comes_back_with_an_epoch),
		cmocka_unit_test(without_limits_all_are_trusted),
		cmocka_unit_test(who_is_visited_pays_for_that_alone),
		cmocka_unit_test(what_is_run_is_paid_apart),
		cmocka_unit_test(who_waits_for_his_file_pays_while_others_do),
		cmocka_unit_test(what_ended_before_it_was_asked_pays_apart_from_all_others),
		cmocka_unit_test(what_took_longer_than_was_left_is_owed),
		cmocka_unit_test(it_is_owed_whole_however_long_it_took),
		cmocka_unit_test(who_starts_a_program_with_rights_of_another_pays_for_it),
		cmocka_unit_test(the_trusted_have_a_limit_for_names_of_commands_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
