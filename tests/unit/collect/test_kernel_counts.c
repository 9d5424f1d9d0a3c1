#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/session.h"
#include "made_up_session.h"

#define PID	 77u
#define START_NS UINT64_C(5000000000)
#define TEXT	 UINT64_C(0x400000)

/* A table whose next drain hands these out. */
static struct {
	struct sample_table_count counts[8];
	size_t count;
	struct counted_news news[8];
	size_t news_count;
	uint64_t lost;
	bool fills, new_files, renewed;
	struct sample_table_image_key kept;
	enum sample_table_contexts contexts;
} made_up;

int __wrap_sample_table_new(const struct sample_table_options *options, struct sample_table **out,
			    struct error *err);
int __wrap_sample_table_new(const struct sample_table_options *options, struct sample_table **out,
			    struct error *err)
{
	(void)err;
	made_up.contexts = options->contexts;
	*out = (struct sample_table *)&made_up;
	return 0;
}

void __wrap_sample_table_free(struct sample_table *table);
void __wrap_sample_table_free(struct sample_table *table)
{
	assert_true(!table || table == (struct sample_table *)&made_up);
}

uint32_t __wrap_sample_table_cpus(const struct sample_table *table);
uint32_t __wrap_sample_table_cpus(const struct sample_table *table)
{
	(void)table;
	return 8;
}

bool __wrap_sample_table_has_new_files(const struct sample_table *table);
bool __wrap_sample_table_has_new_files(const struct sample_table *table)
{
	(void)table;
	return made_up.new_files;
}

bool __wrap_sample_table_fills(const struct sample_table *table);
bool __wrap_sample_table_fills(const struct sample_table *table)
{
	(void)table;
	return made_up.fills;
}

bool __wrap_sample_table_renewed(const struct sample_table *table);
bool __wrap_sample_table_renewed(const struct sample_table *table)
{
	(void)table;
	return made_up.renewed;
}

struct sample_table_sums __wrap_sample_table_sums(const struct sample_table *table, int cpu,
						  unsigned event);
struct sample_table_sums __wrap_sample_table_sums(const struct sample_table *table, int cpu,
						  unsigned event)
{
	(void)table;
	return (struct sample_table_sums){ .lost = cpu == 3 && event == 0 ? made_up.lost : 0 };
}

int __wrap_sample_table_keep_addresses(struct sample_table *table,
				       const struct sample_table_image_key *key);
int __wrap_sample_table_keep_addresses(struct sample_table *table,
				       const struct sample_table_image_key *key)
{
	(void)table;
	made_up.kept = *key;
	return 0;
}

int __wrap_sample_table_drain(struct sample_table *table, const struct sample_table_visit *visit);
int __wrap_sample_table_drain(struct sample_table *table, const struct sample_table_visit *visit)
{
	int ret = 0;
	(void)table;
	for (size_t i = 0; i < made_up.news_count && ret == 0; i++) {
		const struct counted_news *news = &made_up.news[i];
		ret = news->image.number
			      ? visit->image(visit->context, &news->image_key, &news->image)
			      : visit->named(visit->context, &news->context_key, &news->context);
	}
	for (size_t i = 0; i < made_up.count && ret == 0; i++)
		ret = visit->count(visit->context, &made_up.counts[i]);
	made_up.count = made_up.news_count = 0;
	return ret;
}

static void add_count(uint32_t cpu, uint32_t context, uint32_t image, uint64_t offset,
		      uint64_t samples)
{
	made_up.counts[made_up.count++] = (struct sample_table_count){ .cpu = cpu,
								       .context = context,
								       .image = image,
								       .offset = offset,
								       .samples = samples };
}

static void add_context(uint32_t number, enum sample_table_contexts kind, uint32_t pid,
			uint64_t execs, const char *name)
{
	struct counted_news *news = &made_up.news[made_up.news_count++];
	*news = (struct counted_news){ .context = { number, pid } };
	news->context_key.kind = kind;
	strncpy(news->context_key.name, name, sizeof(news->context_key.name));
	if (kind != SAMPLE_TABLE_BY_NAME) {
		news->context_key.pid = pid;
		news->context_key.start_ns = START_NS + 3000000;
		news->context_key.execs = execs;
	}
}

static void add_image(uint32_t number, uint32_t pid, uint64_t start, uint64_t inode)
{
	made_up.news[made_up.news_count++] = (struct counted_news){
		.image_key = { .inode = inode, .device = 8u << 20 | 1, .generation = 5 },
		.image = { number, pid, start, start + 0x1000, 0x2000 },
	};
}

/* Two CPUs, 0 and 3, with a clock of a given period. */
static struct session *begin(uint64_t period, unsigned identity, bool follow)
{
	struct session *session = made_up_session_new();
	struct counters *counters = &session->counters;
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .sampled = 1 };
	memset(&made_up, 0, sizeof(made_up));
	counters->sampler_count = 1;
	counters->cpu_count = 2;
	counters->samplers = calloc(1, sizeof(*counters->samplers));
	counters->cpus = calloc(2, sizeof(*counters->cpus));
	counters->lanes = calloc(2, sizeof(*counters->lanes));
	assert_true(counters->samplers && counters->cpus && counters->lanes);
	counters->cpus[1] = 3;
	counters->samplers[0] = (struct sampler){ .group_size = 1,
						  .clock = true,
						  .sampled = true,
						  .policy = PERIOD_FIXED,
						  .mean_period = period };
	assert_int_equal(profile_add_event(session->profile, &event, &counters->samplers[0].id), 0);
	/* the kernel's code fills its half of the addresses */
	const struct profile_image image = { .kind = IMAGE_KERNEL,
					     .name = span_of_text("[kernel]") };
	struct kernel_range *all = calloc(1, sizeof(*all));
	assert_non_null(all);
	*all = (struct kernel_range){ .end = UINT64_MAX, .what = KERNEL_CORE };
	assert_int_equal(profile_add_image(session->profile, &image, &all->image), 0);
	session->kernel = (struct kernel_map){
		.ranges = all, .count = 1, .capacity = 1, .session = session->profile
	};
	session->identity = identity;
	session->follow = follow;
	assert_int_equal(file_table_init(&session->files, session->profile, NULL, &session->shares),
			 0);
	assert_int_equal(kernel_counts_open(&session->counted, identity, follow, NULL), 0);
	assert_int_equal(session_start_counts(session), 0);
	return session;
}

static struct process *add_process(struct session *session, uint32_t pid, bool followed)
{
	struct process *process = process_need(&session->processes, pid);
	assert_non_null(process);
	process->known = process->asked = process->share_asked = true;
	process->share = &session->shares.own;
	process->share_asked_ns = UINT64_MAX;
	process->start_ns = START_NS;
	process->followed = followed;
	return process;
}

static uint32_t add_mapping(struct session *session, uint32_t pid, uint64_t start, const char *path)
{
	const struct file_hint hint = { .share = &session->shares.own,
					.payer = &session->shares.own,
					.pid = pid,
					.start = start,
					.end = start + 0x1000,
					.major = 8,
					.minor = 1,
					.inode = start,
					.path = span_of_text(path) };
	struct mapping mapping = { .start = start, .end = start + 0x1000, .offset = 0x2000 };
	assert_int_equal(file_table_find(&session->files, &hint, &mapping.file), 0);
	assert_int_equal(process_map(&session->processes, pid, &mapping), 0);
	return mapping.file;
}

static uint64_t written_ns; /* how long each half was: 0 is not known, and all of it was busy */

static void serve(struct session *session)
{
	uint64_t until = 0;
	assert_int_equal(session_collect_counts(session, NULL, &until), 0);
	assert_true(until > 0 && session->counted.half_ns > 0);
	session->counted.half_ns = written_ns;
	assert_int_equal(session_add_counts(session), 0);
}

static void end(struct session *session)
{
	struct counters *counters = &session->counters;
	for (size_t i = 0; i < 2; i++)
		weight_release(&counters->lanes[i].weight);
	free(counters->samplers);
	free(counters->cpus);
	free(counters->lanes);
	kernel_counts_release(&session->counted);
	kernel_map_release(&session->kernel);
	process_table_release(&session->processes);
	file_table_release(&session->files);
	groups_release(&session->groups);
	kept_processes_release(&session->kept);
	made_up_session_free(session);
}

static struct cell sum_of(const struct session *session)
{
	struct cell sum = { 0 };
	for (size_t i = 0; i < session->tally.count; i++) {
		sum.samples += session->tally.places[i].cell.samples;
		sum.estimate += session->tally.places[i].cell.estimate;
		sum.squares += session->tally.places[i].cell.squares;
	}
	return sum;
}

static void samples_weigh_the_period_of_their_half(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 3);
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xeff, 5);
	add_count(3, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 2);
	serve(session);
	struct cell sum = sum_of(session);
	assert_int_equal(sum.samples, 10);
	assert_int_equal(sum.estimate, 10000);
	assert_true(sum.squares == 10 * 1000000);
	assert_int_equal(session->counters.lanes[0].sums.stored, 8);
	assert_int_equal(session->counters.lanes[1].sums.stored, 2);
	/* A change of period: what is written before it is still of the old one, */
	struct lane *lane = &session->counters.lanes[0];
	period_log_add(&lane->periods, 1, 1000);
	period_log_add(&lane->periods, 2, 1600);
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_int_equal(sum_of(session).estimate, 11000);
	/* and after it one sample stands for half of the old one, too; the other CPU has none */
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 3);
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xeff, 1);
	add_count(3, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	sum = sum_of(session);
	assert_int_equal(sum.estimate, 11000 + 4 * 1600 + 500 + 1000);
	assert_true(sum.squares ==
		    11 * 1000000 + 3 * 1600 * 1600 + 2100 * 2100 + 1000000);
	assert_true(lane->weighed_ns == 9000 + 4 * 1600 + 500);
	/* once */
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_int_equal(sum_of(session).estimate, 11000 + 5 * 1600 + 500 + 1000);
	end(session);
}

static uint64_t skipped_of(struct session *session, uint64_t counted, uint64_t samples)
{
	struct lane *lane = &session->counters.lanes[0];
	uint64_t before = lane->sums.lost_skipped;
	lane->unadded = counted;
	if (samples)
		add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, (uint32_t)samples);
	serve(session);
	return lane->sums.lost_skipped - before;
}

/* What an event counted says how many samples were due. */
static void samples_that_never_came_are_counted(void **state)
{
	(void)state;
	struct session *session = begin(1000, 0, false);
	session->counters.samplers[0].clock = false;
	struct lane *lane = &session->counters.lanes[0];
	period_log_add(&lane->periods, 1, 1000);
	/* As many as were due, with what is left of a period carried on; and a reading that is a
	 * little early now, and a little late then. */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(skipped_of(session, 10500, 10 + i % 2), 0);
		assert_int_equal(skipped_of(session, 9700, 10), 0);
		assert_int_equal(skipped_of(session, 10300, 10), 0);
		assert_int_equal(skipped_of(session, 0, 0), 0);
	}
	assert_true(lane->due < 10 && lane->due > -60);
	lane->due = lane->due_variance = 0;
	/* A tenth of them is missing. */
	uint64_t skipped = 0;
	for (int i = 0; i < 100; i++)
		skipped += skipped_of(session, 100000, 90);
	assert_in_range(skipped, 990, 1000);
	/* A period that changes begins anew: nothing of the old one is due. */
	lane->due = lane->due_variance = lane->begun = 0;
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t next = i % 2 ? 1000 : 1600;
		uint64_t now = session->counted.halves[0].period;
		period_log_add(&lane->periods, i + 2, next);
		assert_int_equal(skipped_of(session, 10 * now + now - 1, 10), 0);
	}
	assert_true(lane->due == 0);
	end(session);
}

/* Any of the samples may be the one that pays: each place does in proportion. */
static void what_a_half_owes_is_paid_by_any_of_its_samples(void **state)
{
	struct session *session = begin(1000, 0, false);
	struct lane *lane = &session->counters.lanes[0];
	unsigned paid = 0;
	const unsigned rounds = 2000;
	(void)state;
	session->counted.random = random_seed(7);
	for (unsigned i = 0; i < rounds; i++) {
		session->counted.halves[0].owed = 500;
		add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
		add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xeff, 3);
		uint64_t before = session->tally.count ? session->tally.places[0].cell.estimate : 0;
		serve(session);
		paid += session->tally.places[0].cell.estimate - before == 1500;
	}
	assert_true(lane->weighed_ns == rounds * 4500.0);
	assert_in_range(paid, rounds / 4 - 80, rounds / 4 + 80); /* 4 sd */
	end(session);
}

/* An idle CPU's change of period has cost idle time, which nobody has to pay. */
static void what_an_idle_half_owes_is_paid_as_far_as_it_was_busy(void **state)
{
	struct session *session = begin(1000, 0, false);
	struct lane *lane = &session->counters.lanes[0];
	const unsigned rounds = 4000;
	(void)state;
	session->counted.random = random_seed(7);
	written_ns = 8000; /* one sample of 1000: busy for an eighth */
	for (unsigned i = 0; i < rounds; i++) {
		session->counted.halves[0].owed = 500;
		add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
		serve(session);
	}
	written_ns = 0;
	double paid = (lane->weighed_ns - rounds * 1000.0) / 500;
	assert_in_range((unsigned)paid, rounds / 8 - 84, rounds / 8 + 84); /* 4 sd */
	assert_true(sum_of(session).estimate == (uint64_t)lane->weighed_ns);
	end(session);
}

/* A reading between two times that samples are added is of samples that come with the next. */
static void samples_weigh_what_was_counted_when_they_were(void **state)
{
	(void)state;
	struct session *session = begin(1000, 0, false);
	struct counters *counters = &session->counters;
	counters->samplers[0].clock = false;
	counters->options.table = session->counted.table;
	struct lane *lane = &counters->lanes[0];
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 40);
	serve(session);
	lane->advanced = 40000 + 30000;
	assert_int_equal(session_settle(session, SETTLE_RINGS), 0);
	assert_int_equal(sum_of(session).estimate, 0);
	lane->advanced += 10000;
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xeff, 40);
	serve(session);
	assert_int_equal(session_settle(session, SETTLE_ALL), 0);
	assert_int_equal(sum_of(session).estimate, 80000);
	/* A window that is not full waits. */
	lane->advanced = 20000;
	add_count(0, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xeff, 20);
	serve(session);
	assert_int_equal(session_settle(session, SETTLE_ALL), 0);
	assert_int_equal(sum_of(session).estimate, 80000);
	assert_int_equal(session_settle(session, SETTLE_REST), 0);
	struct cell sum = sum_of(session);
	assert_int_equal(sum.estimate, 100000);
	assert_true(sum.squares == (unsigned __int128)100 * 1000 * 1000);
	end(session);
}

static struct profile_context context_of(const struct session *session, size_t place)
{
	return profile_context(session->profile, session->tally.places[place].context);
}

static void contexts_have_the_names_that_the_kernel_saw(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	assert_int_equal(made_up.contexts, SAMPLE_TABLE_BY_NAME);
	add_process(session, PID, false);
	add_process(session, 2, false)->kernel = true;
	add_context(1, SAMPLE_TABLE_BY_NAME, PID, 0, "worker");
	add_context(2, SAMPLE_TABLE_BY_NAME, 2, 0, "kworker/3:1");
	for (uint32_t context = 0; context < 3; context++)
		add_count(0, context, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_int_equal(session->tally.count, 3);
	assert_int_equal(session->tally.places[0].context, 0); /* unknown */
	assert_true(span_equal(context_of(session, 1).comm, span_of_text("worker")));
	assert_true(span_equal(context_of(session, 2).comm, span_of_text("kworker")));
	assert_int_equal(context_of(session, 1).pid, OPTIONAL_ABSENT);
	/* a number that is given again stands for the new name */
	add_context(1, SAMPLE_TABLE_BY_NAME, PID, 0, "another");
	add_count(0, 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_true(span_equal(context_of(session, 3).comm, span_of_text("another")));
	end(session);
}

static void processes_and_cpus_may_be_kept_apart(void **state)
{
	struct session *session = begin(1000, COLLECT_PER_PROCESS | COLLECT_PER_CPU, false);
	(void)state;
	assert_int_equal(made_up.contexts, SAMPLE_TABLE_BY_PROCESS);
	add_process(session, PID, false);
	add_context(1, SAMPLE_TABLE_BY_PROCESS, PID, 1, "one");
	add_count(0, 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	add_count(3, 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_int_equal(session->tally.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(context_of(session, i).pid, optional_of(PID));
		assert_int_equal(context_of(session, i).start_ns, optional_of(START_NS));
		assert_int_equal(context_of(session, i).cpu, optional_of(i ? 3 : 0));
	}
	end(session);
}

static const char *const chosen[] = { "serv*", "cgroup:/chosen", "image:/made/up" };

static uint64_t pid_of(const struct session *session, size_t place)
{
	return context_of(session, place).pid;
}

static void only_chosen_processes_are_kept_apart(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	assert_int_equal(kept_processes_init(&session->kept, chosen, 3, NULL), 0);
	struct process *grouped = add_process(session, PID + 4, false);
	assert_int_equal(groups_add(&session->groups, &session->shares, &session->shares.own,
				    span_of_text("/chosen/below"), &grouped->group),
			 0);
	for (uint32_t i = 0; i < 5; i++) {
		if (i < 4)
			add_process(session, PID + i, false);
		add_context(i + 1, SAMPLE_TABLE_BY_PROCESS, PID + i, 1, i < 2 ? "server" : "cc");
		add_count(0, i + 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 10 + i);
	}
	serve(session);
	/* two servers, all the compilers at once, and the one in the group */
	assert_int_equal(session->tally.count, 4);
	assert_int_equal(pid_of(session, 0), optional_of(PID));
	assert_int_equal(pid_of(session, 1), optional_of(PID + 1));
	assert_int_equal(pid_of(session, 2), OPTIONAL_ABSENT);
	assert_int_equal(context_of(session, 2).start_ns, OPTIONAL_ABSENT);
	assert_int_equal(pid_of(session, 3), optional_of(PID + 4));
	assert_int_equal(context_of(session, 3).start_ns, optional_of(START_NS));
	assert_int_equal(session->tally.places[2].cell.samples, 12 + 13);
	assert_int_equal(sum_of(session).samples, 10 + 11 + 12 + 13 + 14);
	assert_int_equal(sum_of(session).estimate, 60 * 1000);
	end(session);
}

static void a_process_is_kept_once_it_has_mapped_an_image(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	assert_int_equal(kept_processes_init(&session->kept, chosen, 3, NULL), 0);
	struct process *process = add_process(session, PID, false);
	add_process(session, PID + 1, false);
	for (uint32_t i = 0; i < 2; i++)
		add_context(i + 1, SAMPLE_TABLE_BY_PROCESS, PID + i, 1, "same");
	for (int round = 0; round < 3; round++) {
		if (round == 1)
			assert_true(kept_processes_map(&session->kept, process,
						       span_of_text("/made/up")));
		/* It may call exec before it is looked at: what it is called then is another. */
		if (round == 2)
			assert_int_equal(process_comm(&session->processes, PID, PID,
						      span_of_text("next"), true, 0),
					 0);
		for (uint32_t i = 0; i < 2; i++)
			add_count(0, i + 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
		serve(session);
		assert_int_equal(session->tally.count, round ? 2 : 1);
	}
	assert_int_equal(pid_of(session, 0), OPTIONAL_ABSENT);
	assert_int_equal(pid_of(session, 1), optional_of(PID));
	assert_int_equal(session->tally.places[0].cell.samples, 2 + 2);
	assert_int_equal(session->tally.places[1].cell.samples, 2);
	end(session);
}

/* Both the program before an exec, and the one after it, are sampled before either is looked at. */
static void the_program_before_an_exec_is_kept_too(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	assert_int_equal(kept_processes_init(&session->kept, chosen, 3, NULL), 0);
	struct process *process = add_process(session, PID, false);
	assert_true(kept_processes_map(&session->kept, process, span_of_text("/made/up")));
	assert_int_equal(process_comm(&session->processes, PID, PID, span_of_text("next"), true, 0),
			 0);
	add_context(1, SAMPLE_TABLE_BY_PROCESS, PID, 1, "first");
	add_context(2, SAMPLE_TABLE_BY_PROCESS, PID, 2, "next");
	for (uint32_t i = 0; i < 2; i++)
		add_count(0, i + 1, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 1);
	serve(session);
	assert_int_equal(session->tally.count, 2);
	assert_int_equal(pid_of(session, 0), optional_of(PID));
	assert_int_equal(pid_of(session, 1), OPTIONAL_ABSENT);
	end(session);
}

static void images_are_the_files_that_are_mapped_there(void **state)
{
	struct session *session = begin(1000, 0, false);
	struct profile_frame frame = { 0 };
	enum unknown_cause cause = UNKNOWN_NONE;
	(void)state;
	add_process(session, PID, false);
	uint32_t file = add_mapping(session, PID, TEXT, "/made/up");
	add_context(1, SAMPLE_TABLE_BY_NAME, PID, 0, "worker");
	add_image(2, PID, TEXT, TEXT);
	add_image(3, 4242, TEXT, 1234); /* nobody knows that process */
	add_count(0, 1, 2, 0x2345, 4);
	serve(session);
	assert_int_equal(kernel_counts_file(&session->counted, 2), file);
	uint32_t other = kernel_counts_file(&session->counted, 3);
	assert_true(other && other != file);
	assert_int_equal(file_table_get(&session->files, other)->inode, 1234);
	assert_int_equal(file_table_get(&session->files, other)->major, 8);
	assert_int_equal(file_table_get(&session->files, other)->minor, 1);
	assert_int_equal(file_table_locate(&session->files, file, 0x2345, &frame, &cause), 0);
	assert_int_equal(session->tally.places[0].image, frame.image);
	assert_int_equal(session->tally.places[0].vaddr, frame.vaddr);
	/* what it stands for is kept when an epoch ends */
	bool used[16] = { false };
	kernel_counts_mark_files(&session->counted, used);
	assert_true(used[file] && used[other]);
	/* a number without news is of nothing known */
	add_count(0, 1, 9, 0x2345, 6);
	serve(session);
	assert_int_equal(session->counters.lanes[0].sums.unknown[UNKNOWN_NO_MAPPING], 6);
	end(session);
}

/* The process called exec since: at the same address is another file, of that device; or it is the
 * same mapping, of an overlay, whose files have a device of their own. */
static void a_mapping_is_not_taken_for_that_of_another_program(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	add_process(session, PID, false);
	uint32_t after = add_mapping(session, PID, TEXT, "/made/up/after");
	struct file_hint hint = { .share = &session->shares.own,
				  .payer = &session->shares.own,
				  .pid = PID + 1,
				  .start = TEXT,
				  .end = TEXT + 0x1000,
				  .major = 8,
				  .minor = 1,
				  .inode = 31,
				  .generation = 5,
				  .generation_known = true,
				  .path = span_of_text("/made/up/before") };
	uint32_t before;
	assert_int_equal(file_table_find(&session->files, &hint, &before), 0);
	add_image(2, PID, TEXT, 31);
	add_image(3, PID, TEXT, TEXT);
	serve(session);
	assert_int_equal(kernel_counts_file(&session->counted, 2), before);
	assert_int_equal(kernel_counts_file(&session->counted, 3), after);
	/* an overlay's */
	add_image(4, PID, TEXT, 31);
	made_up.news[0].image_key.device = 9u << 20;
	add_image(5, PID, TEXT, 32); /* another part of a file is mapped there */
	made_up.news[1].image_key.device = 9u << 20;
	made_up.news[1].image.offset = 0x7000;
	serve(session);
	assert_int_equal(kernel_counts_file(&session->counted, 4), after);
	assert_int_not_equal(kernel_counts_file(&session->counted, 5), after);
	end(session);
}

static void files_that_hold_no_program_are_left_to_addresses(void **state)
{
	struct session *session = begin(1000, 0, false);
	struct mapping mapping = { .start = TEXT, .end = TEXT + 0x1000, .offset = 0x2000 };
	(void)state;
	add_process(session, PID, false);
	mapping.file = session->files.anonymous;
	assert_int_equal(process_map(&session->processes, PID, &mapping), 0);
	add_image(2, PID, TEXT, 31);
	serve(session);
	assert_int_equal(made_up.kept.inode, 31);
	end(session);
}

static void addresses_are_of_the_program_that_runs(void **state)
{
	struct session *session = begin(1000, COLLECT_PER_PROCESS, false);
	(void)state;
	add_process(session, PID, false);
	add_mapping(session, PID, TEXT, "/made/up");
	add_context(1, SAMPLE_TABLE_BY_PROCESS, PID, 1, "shell");
	add_count(0, 1, SAMPLE_TABLE_ADDRESS, TEXT + 16, 3);
	serve(session);
	const struct lane_sums *sums = &session->counters.lanes[0].sums;
	uint64_t before = sums->unknown[UNKNOWN_NO_MAPPING];
	assert_int_equal(before, 0);
	/* it has called exec since, so that the same address means something else */
	add_context(2, SAMPLE_TABLE_BY_PROCESS, PID, 2, "ls");
	add_count(0, 1, SAMPLE_TABLE_ADDRESS, TEXT + 16, 5);
	add_count(0, 2, SAMPLE_TABLE_ADDRESS, TEXT + 16, 7);
	serve(session);
	assert_int_equal(sums->unknown[UNKNOWN_NO_MAPPING], 5);
	assert_int_equal(sums->stored, 15);
	/* and a process that started at another time is another one */
	process_find(&session->processes, PID)->start_ns = START_NS + 60000000000;
	add_count(0, 2, SAMPLE_TABLE_ADDRESS, TEXT + 16, 2);
	serve(session);
	assert_int_equal(sums->unknown[UNKNOWN_NO_PROCESS], 2);
	end(session);
}

static void only_what_is_followed_counts(void **state)
{
	struct session *session = begin(1000, 0, true);
	(void)state;
	assert_int_equal(made_up.contexts, SAMPLE_TABLE_BY_PROCESS);
	add_process(session, PID, true);
	add_process(session, PID + 1, false);
	add_context(1, SAMPLE_TABLE_BY_PROCESS, PID, 1, "ours");
	add_context(2, SAMPLE_TABLE_BY_PROCESS, PID + 1, 1, "theirs");
	for (uint32_t context = 0; context < 3; context++)
		add_count(0, context, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 10 + context);
	serve(session);
	const struct lane *lane = &session->counters.lanes[0];
	assert_int_equal(lane->sums.stored, 11);
	assert_int_equal(lane->sums.filtered, 10 + 12);
	assert_int_equal(sum_of(session).samples, 11);
	assert_true(lane->weighed_ns == 33000); /* time passed for all of them */
	end(session);
}

static void what_is_lost_is_told_once(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	made_up.lost = 4;
	add_count(5, 0, SAMPLE_TABLE_KERNEL, UINT64_MAX - 0xfff, 9); /* a CPU that is not watched */
	serve(session);
	serve(session);
	assert_int_equal(session->counters.lanes[0].sums.lost_table, 0);
	assert_int_equal(session->counters.lanes[1].sums.lost_table, 4);
	assert_int_equal(session->damaged, 9);
	made_up.lost = 6;
	serve(session);
	assert_int_equal(session->counters.lanes[1].sums.lost_table, 6);
	end(session);
}

/* They are known in one more drain, so that a long recording does not gather all that ever ran. */
static void numbers_that_were_given_anew_are_forgotten(void **state)
{
	struct session *session = begin(1000, COLLECT_PER_PROCESS, false);
	(void)state;
	add_process(session, PID, false);
	add_mapping(session, PID, TEXT, "/made/up");
	add_context(1, SAMPLE_TABLE_BY_PROCESS, PID, 4, "before");
	add_image(2, PID, TEXT, 1);
	made_up.renewed = true;
	serve(session);
	made_up.renewed = false;
	add_context(7, SAMPLE_TABLE_BY_PROCESS, PID, 4, "before");
	add_count(0, 1, 2, 0x2345, 1);
	add_count(0, 7, SAMPLE_TABLE_ADDRESS, TEXT + 16, 1);
	serve(session);
	assert_int_equal(session->counters.lanes[0].sums.unknown[UNKNOWN_NO_MAPPING], 0);
	assert_non_null(kernel_counts_context(&session->counted, 1));
	made_up.renewed = true;
	serve(session);
	assert_null(kernel_counts_context(&session->counted, 1));
	assert_int_equal(kernel_counts_file(&session->counted, 2), 0);
	assert_non_null(kernel_counts_context(&session->counted, 7));
	assert_int_equal(kernel_counts_program(&session->counted, PID), 5);
	end(session);
}

static void it_is_due_each_second_and_when_it_fills(void **state)
{
	struct session *session = begin(1000, 0, false);
	(void)state;
	uint64_t last = session->counted.collected_ns;
	assert_false(kernel_counts_due(&session->counted, last + 999999999));
	assert_true(kernel_counts_due(&session->counted, last + 1000000000));
	made_up.new_files = true;
	assert_false(kernel_counts_due(&session->counted, last + 99999999));
	assert_true(kernel_counts_due(&session->counted, last + 100000000));
	made_up.fills = true;
	assert_true(kernel_counts_due(&session->counted, last + 1));
	assert_false(kernel_counts_due(&(struct kernel_counts){ 0 }, UINT64_MAX));
	end(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_weigh_the_period_of_their_half),
		cmocka_unit_test(samples_that_never_came_are_counted),
		cmocka_unit_test(samples_weigh_what_was_counted_when_they_were),
		cmocka_unit_test(what_a_half_owes_is_paid_by_any_of_its_samples),
		cmocka_unit_test(what_an_idle_half_owes_is_paid_as_far_as_it_was_busy),
		cmocka_unit_test(contexts_have_the_names_that_the_kernel_saw),
		cmocka_unit_test(processes_and_cpus_may_be_kept_apart),
		cmocka_unit_test(only_chosen_processes_are_kept_apart),
		cmocka_unit_test(a_process_is_kept_once_it_has_mapped_an_image),
		cmocka_unit_test(the_program_before_an_exec_is_kept_too),
		cmocka_unit_test(images_are_the_files_that_are_mapped_there),
		cmocka_unit_test(a_mapping_is_not_taken_for_that_of_another_program),
		cmocka_unit_test(files_that_hold_no_program_are_left_to_addresses),
		cmocka_unit_test(addresses_are_of_the_program_that_runs),
		cmocka_unit_test(only_what_is_followed_counts),
		cmocka_unit_test(what_is_lost_is_told_once),
		cmocka_unit_test(numbers_that_were_given_anew_are_forgotten),
		cmocka_unit_test(it_is_due_each_second_and_when_it_fills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
