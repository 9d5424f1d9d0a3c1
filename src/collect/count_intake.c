#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "collect/session.h"
#include "profile/cgroup_names.h"

#define SIDEBAND_LATE_NS 500000u   /* a record of another CPU may still be on its way that long */
#define START_SLACK_NS	 20000000u /* /proc tells starts by ticks of 10 ms */
#define DEVICE_BITS	 20	   /* of the minor number, in the kernel */

static struct counted_half *half_of(const struct session *session, size_t sampler, size_t slot)
{
	return &session->counted.halves[sampler * session->counters.cpu_count + slot];
}

int session_start_counts(struct session *session)
{
	struct kernel_counts *counts = &session->counted;
	const struct counters *counters = &session->counters;
	if (!counts->table)
		return 0;
	uint32_t cpus = sample_table_cpus(counts->table);
	counts->halves = calloc(counters->sampler_count * counters->cpu_count + 1,
				sizeof(*counts->halves));
	counts->slots = calloc(cpus + 1, sizeof(*counts->slots));
	if (!counts->halves || !counts->slots)
		return -ENOMEM;
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		if ((uint32_t)counters->cpus[slot] < cpus)
			counts->slots[counters->cpus[slot]] = (uint32_t)slot + 1;
		for (size_t i = 0; i < counters->sampler_count; i++)
			half_of(session, i, slot)->period = counters->samplers[i].mean_period;
	}
	counts->collected_ns = clock_monotonic_ns();
	return 0;
}

/* ---- Collecting */

/* What the half was written with is what it counts for; with new periods the next one begins. */
static void begin_half(struct session *session, struct random_state *random)
{
	const struct counters *counters = &session->counters;
	if (random)
		counters_redraw(&session->counters, random);
	for (size_t i = 0; i < counters->sampler_count; i++)
		for (size_t slot = 0; slot < counters->cpu_count; slot++) {
			struct counted_half *half = half_of(session, i, slot);
			const struct period_log *log = &counters_lane(counters, i, slot)->periods;
			uint64_t period = period_log_current(log);
			half->collected_period = half->period;
			half->collected_owed = half->owed;
			half->samples = 0;
			half->owed = period && period != half->period ? period_log_owed(log) : 0;
			half->period = period ? period : half->period;
		}
}

static void sleep_until(uint64_t end_ns)
{
	const struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000),
				      .tv_nsec = (long)(end_ns % 1000000000) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

int session_collect_counts(struct session *session, struct random_state *random, uint64_t *until_ns)
{
	struct kernel_counts *counts = &session->counted;
	begin_half(session, random);
	uint64_t before_ns = counts->collected_ns;
	int ret = kernel_counts_take(counts);
	counts->collected_ns = clock_monotonic_ns();
	counts->half_ns = counts->collected_ns - before_ns;
	/* All its samples came before. */
	*until_ns = counts->collected_ns;
	sleep_until(*until_ns + SIDEBAND_LATE_NS);
	return ret;
}

/* ---- Who and where */

/* Finds the process of that pid, if it is the one that a key is of. */
static int find_process(struct session *session, const struct sample_table_context_key *key,
			uint32_t pid, struct process **found)
{
	int ret = session_find_process(session, pid, found);
	if (ret < 0 || !*found || key->kind == SAMPLE_TABLE_BY_NAME)
		return ret;
	uint64_t start_ns = (*found)->start_ns;
	uint64_t apart = start_ns > key->start_ns ? start_ns - key->start_ns
						  : key->start_ns - start_ns;
	if (start_ns && apart > START_SLACK_NS)
		*found = NULL;
	return 0;
}

static char *copy_text(struct span text)
{
	return strndup(text.size ? text.data : "", text.size);
}

static int take_context(struct session *session, const struct counted_news *news)
{
	struct kernel_counts *counts = &session->counted;
	const struct sample_table_context_key *key = &news->context_key;
	struct process *process = NULL;
	int ret = find_process(session, key, news->context.pid, &process);
	if (ret == 0 && process)
		ret = session_ask_group(session, process);
	if (ret < 0)
		return ret;
	struct counted_context *made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->key = *key;
	made->key.name[sizeof(made->key.name) - 1] = '\0';
	made->start_ns = process && process->start_ns ? process->start_ns : key->start_ns;
	made->share = process ? session_share(session, process)
			      : shares_of_user(&session->shares, key->user);
	made->kernel = process && process->kernel;
	made->followed = process && process->followed;
	made->cgroup = copy_text(process ? groups_path(&session->groups, process->group)
					 : (struct span){ NULL, 0 });
	made->thread = copy_text(
		process && key->kind == SAMPLE_TABLE_BY_THREAD
			? span_of_text(process_thread_comm(&session->processes, process, key->tid))
			: (struct span){ NULL, 0 });
	struct number_map *contexts = &counts->numbers.contexts;
	struct counted_context *before = number_map_find(contexts, news->context.number);
	ret = made->cgroup && made->thread
		      ? number_map_put(contexts, news->context.number, made)
		      : -ENOMEM;
	if (ret == 0)
		counted_context_free(before);
	if (ret < 0) {
		counted_context_free(made);
		return ret;
	}
	/* News come in the order of time: this is the latest program of that pid. */
	if (key->kind != SAMPLE_TABLE_BY_NAME)
		ret = number_map_put(&counts->numbers.programs, key->pid,
				     (void *)((uintptr_t)key->execs + 1));
	return ret;
}

/* Whether a mapping is the one that an image was seen in: of the same file; or, where the file has
 * another device, as an overlay's has for the kernel's own inode, at the same place. */
static bool is_seen_in(const struct session *session, const struct counted_news *news,
		       const struct mapping *mapping)
{
	const struct file *file = mapping ? file_table_get(&session->files, mapping->file) : NULL;
	const struct sample_table_image_key *key = &news->image_key;
	if (!file)
		return false;
	if (file->major == key->device >> DEVICE_BITS &&
	    file->minor == (key->device & ((1u << DEVICE_BITS) - 1)))
		return file->inode == key->inode &&
		       (!file->generation_known || file->generation == key->generation);
	return mapping->start == news->image.start && mapping->end == news->image.end &&
	       mapping->offset == news->image.offset;
}

/* The file that the process has mapped there, or had before an exec; 0: none is known. */
static uint32_t mapped_file(const struct session *session, const struct counted_news *news,
			    const struct process *process)
{
	struct address_space *const spaces[] = { process->space, process->former };
	for (size_t i = 0; i < COUNT_OF(spaces); i++) {
		const struct mapping *mapping =
			spaces[i] ? address_space_find(spaces[i], news->image.start) : NULL;
		if (is_seen_in(session, news, mapping))
			return mapping->file;
	}
	return 0;
}

/* The file of that inode, which another process may have mapped under its name. */
static int find_by_inode(struct session *session, const struct counted_news *news,
			 struct process *process, uint32_t *file)
{
	struct share *share = process ? session_share(session, process) : &session->shares.ended;
	unsigned major = news->image_key.device >> DEVICE_BITS;
	unsigned minor = news->image_key.device & ((1u << DEVICE_BITS) - 1);
	char name[64];
	snprintf(name, sizeof(name), "inode %" PRIu64 " of device %u:%u", news->image_key.inode,
		 major, minor);
	const struct file_hint hint = {
		.share = share,
		.payer = process ? session_payer(session, process) : share,
		.pid = news->image.pid,
		.start = news->image.start,
		.end = news->image.end,
		.major = major,
		.minor = minor,
		.inode = news->image_key.inode,
		.generation = news->image_key.generation,
		.generation_known = true,
		.path = span_of_text(name),
	};
	return file_table_find(&session->files, &hint, file);
}

static int take_image(struct session *session, const struct counted_news *news)
{
	struct process *process;
	const struct mapping *mapping;
	uint32_t file = 0;
	/* Both read /proc where a record was lost, or the scan at the start had no time for it. */
	int ret = session_find_process(session, news->image.pid, &process);
	if (ret == 0 && process)
		ret = session_find_mapping(session, process, news->image.start, &mapping);
	if (ret == 0 && process)
		file = mapped_file(session, news, process);
	if (ret == 0 && !file)
		ret = find_by_inode(session, news, process, &file);
	if (ret == 0)
		ret = number_map_put(&session->counted.numbers.files, news->image.number,
				     (void *)(uintptr_t)file);
	/* Code that a process made is its own, though it is in a file. */
	if (ret == 0 && file_is_runtime_code(file_table_get(&session->files, file)))
		sample_table_keep_addresses(session->counted.table, &news->image_key);
	return ret;
}

static int take_news(struct session *session)
{
	struct kernel_counts *counts = &session->counted;
	int ret = 0;
	for (size_t i = 0; i < counts->news_count && ret == 0; i++)
		ret = counts->news[i].image.number ? take_image(session, &counts->news[i])
						   : take_context(session, &counts->news[i]);
	return ret;
}

/*
 * Sees whether the process has mapped by now what it is kept for; what was counted before it was
 * known stays where it is. A name that is no longer the process's may be that of the program before
 * an exec. 0 or -ENOMEM.
 */
static int see_what_is_mapped(struct session *session, struct counted_context *context)
{
	struct process *process = NULL;
	if (!session->kept.images || context->kept || context->kernel)
		return 0;
	int ret = find_process(session, &context->key, context->key.pid, &process);
	if (ret < 0 || !process)
		return ret;
	context->kept = process->kept ||
			(process->kept_before && strcmp(context->key.name, process->comm) != 0);
	if (context->kept)
		context->id = 0;
	return 0;
}

/* Stores the context's number in the session's profile. */
static int context_id(struct session *session, struct counted_context *context, size_t slot,
		      uint32_t *id)
{
	bool per_cpu = session->identity & COLLECT_PER_CPU;
	int ret = see_what_is_mapped(session, context);
	if (ret < 0)
		return ret;
	*id = context->id;
	if (context->id && context->dictionaries == session->dictionaries && !per_cpu)
		return 0;
	struct profile_context made = {
		.comm = session_comm(context->key.name, context->kernel),
		.cgroup = span_of_text(context->cgroup),
		.container = cgroup_container(span_of_text(context->cgroup)),
	};
	if (session_keeps_process(session, &made, context->kept)) {
		made.pid = optional_of(context->key.pid);
		made.start_ns = optional_of(context->start_ns);
	}
	if (session->identity & COLLECT_PER_THREAD) {
		made.tid = optional_of(context->key.tid);
		made.thread = span_of_text(context->thread);
	}
	if (per_cpu)
		made.cpu = optional_of((uint64_t)session->counters.cpus[slot]);
	ret = session_add_context(session, context->share, &made, &context->id);
	context->dictionaries = session->dictionaries;
	*id = context->id;
	return ret;
}

/* An address of a process: by its mappings now, unless it runs another program by now. */
static int locate_address(struct session *session, const struct counted_context *context,
			  uint64_t address, struct located *leaf)
{
	struct process *process = NULL;
	int ret = context ? find_process(session, &context->key, context->key.pid, &process) : 0;
	if (ret < 0)
		return ret;
	if (process &&
	    kernel_counts_program(&session->counted, context->key.pid) != context->key.execs + 1)
		return session_unknown(session, UNKNOWN_NO_MAPPING, leaf);
	return session_locate(session, process, CODE_USER, address, FRAME_IP, leaf);
}

static int locate(struct session *session, const struct sample_table_count *count,
		  const struct counted_context *context, struct located *leaf)
{
	*leaf = (struct located){ 0 };
	if (count->image == SAMPLE_TABLE_KERNEL)
		return session_locate(session, NULL, CODE_KERNEL, count->offset, FRAME_IP, leaf);
	if (count->image == SAMPLE_TABLE_ADDRESS)
		return locate_address(session, context, count->offset, leaf);
	return session_locate_file(session, kernel_counts_file(&session->counted, count->image),
				   count->offset, leaf);
}

/* ---- Adding */

/* Gives that many samples of a half their weight. */
static int weigh(struct session *session, const struct sampler *sampler, struct lane *lane,
		 struct counted_half *half, uint64_t samples, uint32_t target)
{
	if (!sampler->clock) {
		int ret = 0;
		for (uint64_t i = 0; i < samples && ret == 0; i++)
			ret = weight_sample(&lane->weight, target);
		return ret;
	}
	/* One of the half's samples, any of them, pays what it owes. */
	bool pays = half->chosen < samples;
	uint64_t each = half->collected_period, owed = pays ? half->collected_owed : 0;
	half->chosen -=
		samples; /* is far beyond all others once it has come, or when there is none */
	lane->weighed_ns += (double)(each * samples + owed);
	if (target == SESSION_FILTERED_TARGET)
		return 0;
	const struct cell cell = { samples, each * samples + owed,
				   (unsigned __int128)each * each * (samples - 1) +
					   (unsigned __int128)(each + owed) * (each + owed) };
	return tally_add(&session->tally, target, &cell);
}

static int add_count(struct session *session, const struct sample_table_count *count)
{
	struct kernel_counts *counts = &session->counted;
	uint32_t slot = counts->slots[count->cpu];
	if (!slot-- || count->event >= session->counters.sampler_count) {
		session->damaged += count->samples;
		return 0;
	}
	const struct sampler *sampler = &session->counters.samplers[count->event];
	struct lane *lane = counters_lane(&session->counters, count->event, slot);
	struct counted_half *half = half_of(session, count->event, slot);
	struct counted_context *context = kernel_counts_context(counts, count->context);
	if (session->follow && !(context && context->followed)) {
		lane->sums.filtered += count->samples;
		return weigh(session, sampler, lane, half, count->samples, SESSION_FILTERED_TARGET);
	}
	struct tally_place place = { .event = sampler->id };
	struct located leaf;
	uint32_t target;
	int ret = context ? context_id(session, context, slot, &place.context) : 0;
	if (ret == 0)
		ret = locate(session, count, context, &leaf);
	if (ret < 0)
		return ret;
	ret = session_place(session, context ? context->share : NULL, lane, count->samples, &leaf,
			    &place, &target);
	if (ret == 0)
		ret = weigh(session, sampler, lane, half, count->samples, target);
	lane->sums.stored += count->samples;
	return ret;
}

/*
 * Chooses, of each half, the sample that pays what it owes. What the change of period cost was busy
 * time only as far as the CPU was busy: taken for as much as the samples of the half stand for.
 */
static void choose(struct session *session)
{
	const struct counters *counters = &session->counters;
	for (size_t i = 0; i < counters->sampler_count * counters->cpu_count; i++) {
		struct counted_half *half = &session->counted.halves[i];
		struct random_state *random = &session->counted.random;
		uint64_t half_ns = session->counted.half_ns;
		uint64_t busy_ns = half->samples * half->collected_period;
		bool pays = half->samples &&
			    (busy_ns >= half_ns || random_below(random, half_ns) < busy_ns);
		half->chosen = pays ? random_below(random, half->samples) : UINT64_MAX;
	}
}

#define READING_VARIANCE                                                                           \
	(1.0 / 12) /* of overflows between a reading and the change of halves: below one */
#define SURE 4	   /* standard deviations */

/*
 * Counts the overflows that the kernel did not hand on: of samples that interrupt another BPF
 * program, or come late, in code that is not to be sampled. How many were due follows from what the
 * event counted: a period is one throughout a half, and begins anew when it changes. They count
 * once they are more than chance explains.
 */
static void count_skipped(struct lane *lane, const struct counted_half *half, uint64_t lost)
{
	uint64_t period = half->collected_period;
	double periods = period ? lane->begun + (double)lane->unadded / (double)period : 0;
	double due = floor(periods);
	lane->unadded = 0;
	lane->begun = half->period == period ? periods - due : 0;
	lane->due += due - (double)(half->samples + lost);
	lane->due_variance += READING_VARIANCE;
	if (lane->due <= 1 + SURE * sqrt(lane->due_variance))
		return;
	uint64_t skipped = (uint64_t)lane->due;
	lane->sums.lost_skipped += skipped;
	lane->due -= (double)skipped;
	lane->due_variance = 0;
}

static void add_losses(struct session *session)
{
	const struct counters *counters = &session->counters;
	for (size_t i = 0; i < counters->sampler_count; i++)
		for (size_t slot = 0; slot < counters->cpu_count && !counters->samplers[i].apart;
		     slot++) {
			struct counted_half *half = half_of(session, i, slot);
			uint64_t lost = sample_table_sums(session->counted.table,
							  counters->cpus[slot], (unsigned)i)
						.lost;
			struct lane *lane = counters_lane(counters, i, slot);
			lane->sums.lost_table += lost - half->lost;
			if (!counters->samplers[i].clock)
				count_skipped(lane, half, lost - half->lost);
			half->lost = lost;
		}
}

int session_add_counts(struct session *session)
{
	struct kernel_counts *counts = &session->counted;
	session->sample_ns = counts->collected_ns;
	int ret = take_news(session);
	for (size_t i = 0; i < counts->count; i++) {
		const struct sample_table_count *count = &counts->counts[i];
		uint32_t slot = counts->slots[count->cpu];
		if (slot && count->event < session->counters.sampler_count)
			half_of(session, count->event, slot - 1)->samples += count->samples;
	}
	choose(session);
	for (size_t i = 0; i < counts->count && ret == 0; i++)
		ret = add_count(session, &counts->counts[i]);
	add_losses(session);
	kernel_counts_renew(counts);
	counts->entries += counts->count;
	counts->count = counts->news_count = 0;
	return ret;
}
