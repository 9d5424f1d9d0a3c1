#include "collect/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "bpf/sample_memory.h"
#include "bpf/sample_table.h"
#include "bpf/user_stack.h"
#include "collect/edge_helper.h"
#include "collect/plan_private.h"
#include "collect/stacks.h"
#include "collect/turns.h"
#include "machine/event.h"
#include "machine/machine_root.h"
#include "unwind/stack_walk.h"

#define SAMPLE_PAGES	128 /* 512 KiB: 0.1 s of 50000 samples a second, twice over */
#define STACK_PAGES	512
#define EDGE_PAGES	512 /* with registers a sample is 270 bytes instead of 40 */
#define SIDEBAND_PAGES	128
#define USER_PAGES	64 /* perf_event_mlock_kb allows an ordinary user 516 KiB a CPU */

void plan_release(struct plan *plan)
{
	free(plan->samplers);
	plan->samplers = NULL;
}

static int choose_cpus(struct plan *plan, const struct collect_options *options, struct error *err)
{
	struct machine_root root;
	struct cpu_set online = { 0 };
	int ret = machine_root_open("/", &root, err);
	if (ret < 0)
		return ret;
	ret = root_read_cpus(&root, "sys/devices/system/cpu/online", &online);
	machine_root_close(&root);
	if (ret < 0 || cpu_set_empty(&online)) {
		long count = sysconf(_SC_NPROCESSORS_ONLN);
		for (long cpu = 0; cpu < count; cpu++)
			cpu_set_add(&online, (size_t)cpu);
	}
	plan->cpus = online;
	if (!options->cpus)
		return 0;
	struct cpu_set wanted;
	ret = cpu_set_parse(options->cpus, &wanted, err);
	if (ret < 0)
		return ret;
	if (cpu_set_empty(&wanted))
		return error_set(err, -EINVAL, "no CPU is named in '%s'", options->cpus);
	for (size_t cpu = cpu_set_next(&wanted, 0); cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(&wanted, cpu + 1))
		if (!cpu_set_has(&online, cpu))
			return error_set(err, -ENODEV, "CPU %zu is not online", cpu);
	plan->cpus = wanted;
	return 0;
}

static bool usual_edges(const struct plan *plan, const struct sampler *sampler,
			const struct collect_options *options)
{
	return sampler->clock && plan->engine == COLLECT_ENGINE_RING &&
	       (options->target == COLLECT_COMMAND || options->target == COLLECT_TASKS);
}

/* Whether its samples come through rings, which have room for more than a place. */
static bool comes_whole(const struct plan *plan, const struct sampler *sampler)
{
	return sampler->sampled && (plan->engine == COLLECT_ENGINE_RING || sampler->apart);
}

/* Chooses the samplers whose samples are interpreted. */
static int choose_edges(struct plan *plan, const struct collect_options *options, struct error *err)
{
	plan->counters.edge_registers = edge_registers();
	if (options->edges == COLLECT_EDGES_ALL && !plan->counters.edge_registers)
		return error_set(err, -EOPNOTSUPP,
				 "samples of this machine's instruction set cannot be interpreted");
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct sampler *sampler = &plan->samplers[i];
		sampler->edges = plan->counters.edge_registers && comes_whole(plan, sampler) &&
				 !sampler->attr.exclude_user &&
				 (options->edges == COLLECT_EDGES_ALL ||
				  (options->edges == COLLECT_EDGES_USUAL &&
				   usual_edges(plan, sampler, options)));
		plan->edges = plan->edges || sampler->edges;
	}
	if (plan->edges && !options->ring_pages && plan->counters.sample_pages == SAMPLE_PAGES)
		plan->counters.sample_pages = EDGE_PAGES;
	return 0;
}

/*
 * Chooses the samplers whose samples come with the memory that their registers point to, which a
 * BPF program reads. The kernel drops a sample with a program, and does not count it as lost, when
 * it interrupts another BPF program: so events that sample the kernel's code too come without,
 * unless interpreting them was asked for; and so do those whose stacks the same may walk, as an
 * event runs one program. Before Linux 6.0 (no PERF_FORMAT_LOST) a record of memory
 * that found no room would count as a lost sample.
 */
static void choose_memory(struct plan *plan, const struct collect_options *options,
			  struct sample_memory *memory)
{
	bool asked = options->edges == COLLECT_EDGES_ALL;
	bool walks = options->stacks == COLLECT_STACKS_RULES && !options->stack_bytes;
	bool wanted = false;
	struct error err;
	int ret;
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct sampler *sampler = &plan->samplers[i];
		sampler->memory = sampler->edges && options->edge_memory &&
				  ((sampler->attr.exclude_kernel && !walks) || asked);
		wanted = wanted || sampler->memory;
	}
	if (!wanted)
		return;
	if (plan->features.format_lost == FACT_YES)
		ret = sample_memory_open(memory, &err);
	else
		ret = error_set(&err, -EOPNOTSUPP,
				"memory at a sample's registers takes Linux 6.0");
	if (ret == 0) {
		plan->counters.memory = &memory->extra;
		return;
	}
	for (size_t i = 0; i < plan->sampler_count; i++)
		plan->samplers[i].memory = false;
	if (asked) {
		char sentence[sizeof(err.text) + 64];
		snprintf(sentence, sizeof(sentence), "%s: samples are interpreted without it",
			 err.text);
		collect_note(options, COLLECT_NOTE, sentence);
	}
}

/* Has stacks walked in the kernel, where that may be and the user did not ask for copies. */
static void choose_walker(struct plan *plan, const struct collect_options *options,
			  struct user_stack **walker)
{
	struct error err;
	if (options->stack_bytes || plan->counters.user_sideband)
		return;
	if (user_stack_new(walker, &err) < 0) {
		char sentence[sizeof(err.text) + 64];
		snprintf(sentence, sizeof(sentence), "%s: samples bring copies of the stack",
			 err.text);
		collect_note(options, COLLECT_NOTE, sentence);
		return;
	}
	plan->counters.walker = user_stack_extra(*walker);
	bool copies = false;
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct sampler *sampler = &plan->samplers[i];
		sampler->walked = sampler->stacks && !sampler->memory;
		copies |= sampler->stacks && sampler->memory;
	}
	if (copies)
		collect_note(options, COLLECT_NOTE,
			     "the kernel cannot walk stacks beside what --edges asks of samples: "
			     "they bring copies of the stack");
}

/* Whether the CPU can keep the calls, as the kernel says of each event. */
static int choose_branches(struct plan *plan, struct error *err)
{
	int cpu = (int)cpu_set_next(&plan->cpus, 0);
	for (size_t i = 0; i < plan->sampler_count; i++) {
		const struct sampler *sampler = &plan->samplers[i];
		struct perf_event_attr attr = sampler->attr;
		if (!sampler->stacks)
			continue;
		attr.disabled = 1;
		attr.freq = 0;
		attr.sample_period = 1000000000;
		counters_ask_for_branches(&attr);
		int ret = probe_open(&attr, plan->inherit ? -1 : cpu);
		/* Rights are told of where it is opened. */
		if (ret < 0 && ret != -EACCES && ret != -EPERM)
			return error_set(
				err, ret,
				"'%s' cannot be sampled with the calls that the CPU keeps "
				"(--call-graph lbr): that takes an event of a PMU with branch "
				"records (Intel's since Haswell; few virtual machines have "
				"them); --call-graph eh takes none",
				sampler->event->name);
		unsigned depth = probe_branch_depth(sampler->event->pmu);
		if (depth > plan->counters.call_depth)
			plan->counters.call_depth = depth;
	}
	return 0;
}

/* Chooses how the callers of user code come to be known. */
static int choose_stacks(struct plan *plan, const struct collect_options *options,
			 struct user_stack **walker, struct error *err)
{
	struct counters_options *counters = &plan->counters;
	for (size_t i = 0; i < plan->sampler_count; i++)
		plan->samplers[i].stacks = options->stacks && comes_whole(plan, &plan->samplers[i]);
	if (options->stacks == COLLECT_STACKS_BRANCHES)
		return choose_branches(plan, err);
	if (options->stacks != COLLECT_STACKS_RULES)
		return 0;
	if (!WALK_MACHINE)
		return error_set(err, -EOPNOTSUPP,
				 "stacks of this machine are followed by frame pointers alone "
				 "(--call-graph fp)");
	counters->user_registers = WALK_MASK | (plan->edges ? counters->edge_registers : 0);
	counters->stack_bytes = options->stack_bytes ? options->stack_bytes : STACKS_COPIED_BYTES;
	choose_walker(plan, options, walker);
	return 0;
}

static void apply_scope(struct perf_event_attr *attr, const struct collect_options *options)
{
	if (options->user_only)
		attr->exclude_kernel = attr->exclude_hv = 1;
	if (options->kernel_only)
		attr->exclude_user = 1;
}

static int place_in_group(const struct event_list *events, size_t at, struct sampler *sampler,
			  struct error *err)
{
	sampler->leader = events->events[at].leader;
	int ret = event_list_sampled(events, sampler->leader, &sampler->sampled_by, err);
	if (ret < 0)
		return ret;
	sampler->sampled = sampler->sampled_by == at;
	sampler->group_size = sampler->sampled || sampler->leader == at
				      ? event_list_group_size(events, sampler->leader)
				      : 1;
	return 0;
}

static int make_samplers(struct plan *plan, const struct collect_options *options,
			 struct error *err)
{
	const struct event_list *events = options->events;
	if (!events->count)
		return error_set(err, -EINVAL, "no event to sample");
	plan->samplers = calloc(events->count, sizeof(*plan->samplers));
	if (!plan->samplers)
		return error_set(err, -ENOMEM, "out of memory");
	plan->sampler_count = events->count;
	for (size_t i = 0; i < events->count; i++) {
		const struct event *event = &events->events[i];
		struct sampler *sampler = &plan->samplers[i];
		sampler->event = event;
		sampler->attr = event->attr;
		sampler->clock = event->clock;
		int ret = place_in_group(events, i, sampler, err);
		if (ret < 0)
			return ret;
		snprintf(sampler->name, sizeof(sampler->name), "%s", event->name);
		apply_scope(&sampler->attr, options);
		if (event->uncore)
			return error_set(
				err, -EOPNOTSUPP,
				"'%s' counts for a whole socket and cannot be sampled, only "
				"counted",
				event->name);
		if (sampler->attr.exclude_user && sampler->attr.exclude_kernel)
			return error_set(
				err, -EINVAL,
				"'%s' leaves nothing to sample: both user and kernel code are "
				"excluded",
				event->name);
	}
	return 0;
}

/* Is watching whole CPUs allowed? Tried with each event that samples. */
static bool may_watch_cpus(const struct plan *plan)
{
	int cpu = (int)cpu_set_next(&plan->cpus, 0);
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct perf_event_attr attr = plan->samplers[i].attr;
		if (!plan->samplers[i].sampled)
			continue;
		attr.disabled = 1;
		attr.freq = 0;
		attr.sample_period = 1000000000;
		int ret = probe_open(&attr, cpu);
		if (ret == -EACCES || ret == -EPERM)
			return false;
	}
	return true;
}

/* Groups that are read with each sample could not be inherited before Linux 6.12. */
static bool cannot_inherit(const struct plan *plan)
{
	for (size_t i = 0; i < plan->sampler_count; i++)
		if (plan->samplers[i].sampled && plan->samplers[i].group_size > 1)
			return plan->features.inherit_read_tid != FACT_YES;
	return false;
}

static void choose_mode(struct plan *plan, const struct collect_options *options)
{
	bool allowed = may_watch_cpus(plan);
	plan->inherit = options->target == COLLECT_TASKS;
	if (options->target == COLLECT_COMMAND) {
		plan->follow = allowed && (!options->fixed_period || cannot_inherit(plan) ||
					   options->engine == COLLECT_ENGINE_BPF);
		plan->inherit = !plan->follow;
		if (!allowed && !options->fixed_period)
			collect_note(options, COLLECT_NOTE,
				     "no right to watch whole CPUs: the command's tasks inherit "
				     "one fixed period instead of random ones");
	}
	plan->counters = (struct counters_options){
		.sample_pages = options->ring_pages ? options->ring_pages
				: !allowed	    ? USER_PAGES
				: options->stacks   ? STACK_PAGES
						    : SAMPLE_PAGES,
		.sideband_pages = allowed ? SIDEBAND_PAGES : USER_PAGES / 2,
		.inherit = plan->inherit,
		.enable_on_exec =
			plan->inherit && options->target == COLLECT_COMMAND && !options->delayed,
		.stacks = options->stacks,
		.user_sideband = !allowed,
	};
}

/* What is sampled is so without the rest of its group. */
static void drop_members(struct plan *plan)
{
	size_t kept = 0;
	for (size_t i = 0; i < plan->sampler_count; i++) {
		if (!plan->samplers[i].sampled)
			continue;
		plan->samplers[kept] = plan->samplers[i];
		plan->samplers[kept].leader = plan->samplers[kept].sampled_by = kept;
		plan->samplers[kept++].group_size = 1;
	}
	plan->sampler_count = kept;
}

static int check_groups(struct plan *plan, const struct collect_options *options, struct error *err)
{
	if (!plan->inherit || !cannot_inherit(plan))
		return 0;
	if (options->default_events) {
		char sentence[512];
		drop_members(plan);
		snprintf(sentence, sizeof(sentence),
			 "this kernel cannot read a group with the samples of tasks that are "
			 "followed by inheritance (Linux 6.12 can): '%s' is sampled alone",
			 plan->samplers[0].name);
		collect_note(options, COLLECT_NOTE, sentence);
		return 0;
	}
	return error_set(
		err, -EOPNOTSUPP,
		"this kernel cannot read a group with the samples of tasks that are followed "
		"by inheritance (Linux 6.12 can); sample the whole machine (--all-cpus), or "
		"the events apart");
}

/* Samples each event of a group by itself: the kernel counts places, and reads nothing with them.
 */
static void sample_members(struct plan *plan)
{
	for (size_t i = 0; i < plan->sampler_count; i++) {
		struct sampler *sampler = &plan->samplers[i];
		sampler->leader = sampler->sampled_by = i;
		sampler->group_size = 1;
		sampler->sampled = true;
	}
}

/* Why samples cannot be counted in the kernel: these have to be of CPUs, and nothing else may be
 * made of them. NULL: they can, as far as we know. */
static const char *against_counting(const struct plan *plan, const struct collect_options *options)
{
	if (plan->inherit)
		return "what is watched is tasks, not CPUs, or has no right to these";
	if (options->stepper)
		return "bursts need the samples one by one";
	for (size_t i = 0; i < plan->sampler_count; i++)
		if (plan->samplers[i].group_size > 1 || !plan->samplers[i].sampled)
			return "groups are read with samples that come through rings";
	if (plan->sampler_count > SAMPLE_TABLE_EVENTS)
		return "there are more events than the table tells apart";
	return NULL;
}

/* Whether counting them in the kernel is usual: clocks, of which nothing but their place is wanted.
 * Of other events the overflows that the kernel skips are only estimated there (count_intake.c). */
static bool usually_counted(const struct plan *plan, const struct collect_options *options)
{
	for (size_t i = 0; i < plan->sampler_count; i++)
		if (!plan->samplers[i].clock)
			return false;
	return options->target == COLLECT_SYSTEM && (!options->stacks || options->stacks_apart) &&
	       options->edges != COLLECT_EDGES_ALL && !options->ring_pages;
}

static int choose_engine(struct plan *plan, const struct collect_options *options,
			 struct error *err)
{
	bool usual = options->engine == COLLECT_ENGINE_USUAL;
	plan->engine = COLLECT_ENGINE_RING;
	if (options->engine == COLLECT_ENGINE_RING || (usual && !usually_counted(plan, options)))
		return 0;
	if (!usual && options->default_events)
		sample_members(plan);
	const char *against = against_counting(plan, options);
	if (!against)
		plan->engine = COLLECT_ENGINE_BPF;
	else if (!usual)
		return error_set(err, -EOPNOTSUPP, "samples cannot be counted in the kernel: %s",
				 against);
	return 0;
}

/* Where samples are counted in the kernel, adds samplers for those that are to come whole. */
static int add_apart(struct plan *plan, const struct collect_options *options, struct error *err)
{
	size_t count = plan->sampler_count;
	if (plan->engine != COLLECT_ENGINE_BPF ||
	    (!options->stacks && options->edges != COLLECT_EDGES_ALL))
		return 0;
	struct sampler *samplers = realloc(plan->samplers, 2 * count * sizeof(*samplers));
	if (!samplers)
		return error_set(err, -ENOMEM, "out of memory");
	plan->samplers = samplers;
	for (size_t i = 0; i < count; i++) {
		struct sampler *added = &samplers[plan->sampler_count];
		*added = samplers[i];
		added->leader = added->sampled_by = plan->sampler_count++;
		added->apart = true;
		added->beside = i;
	}
	return 0;
}

/* Where tasks are followed by inheritance the kernel has events take turns. */
static void choose_turns(struct plan *plan, const struct collect_options *options)
{
	if (plan->inherit || options->turn_ns == TURNS_BY_KERNEL ||
	    !turns_choose(plan->samplers, plan->sampler_count))
		return;
	plan->turn_ns = options->turn_ns ? options->turn_ns : TURNS_USUAL_NS;
}

int plan_make(struct plan *plan, const struct collect_options *options,
	      struct sample_memory *memory, struct user_stack **walker, struct error *err)
{
	perf_features_probe(&plan->features);
	int ret = choose_cpus(plan, options, err);
	if (ret == 0)
		ret = make_samplers(plan, options, err);
	if (ret < 0)
		return ret;
	if (options->ring_pages & (options->ring_pages - 1))
		return error_set(err, -EINVAL, "%zu ring pages are no power of two",
				 options->ring_pages);
	choose_mode(plan, options);
	ret = check_groups(plan, options, err);
	if (ret == 0)
		ret = choose_engine(plan, options, err);
	if (ret == 0)
		ret = add_apart(plan, options, err);
	if (ret == 0)
		ret = choose_edges(plan, options, err);
	if (ret < 0)
		return ret;
	choose_memory(plan, options, memory);
	ret = choose_stacks(plan, options, walker, err);
	if (ret < 0)
		return ret;
	choose_turns(plan, options);
	plan_choose_rates(plan, options);
	return 0;
}
