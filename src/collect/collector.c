#include "collect/collector_private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/user_stack.h"
#include "collect/own_cost.h"
#include "collect/perf_limits.h"
#include "collect/stacks.h"
#include "machine/event.h"
#include "machine/haste.h"
#include "machine/pid_namespace.h"
#include "profile/profile.h"
#include "symbol/reader.h"

#define SERVICE_NS 100000000u /* rings are emptied ten times a second */

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	struct session *session = &collector->session;
	ring_keeper_stop(&session->keeper);
	turns_free(&collector->turns);
	counters_release(&session->counters);
	process_table_release(&session->processes);
	kept_processes_release(&session->kept);
	file_table_release(&session->files);
	kernel_map_release(&session->kernel);
	kernel_code_release(&session->kernel_code);
	sample_memory_close(&session->sample_memory);
	user_stack_free(session->walker);
	kernel_counts_release(&session->counted);
	read_window_release(&session->reads);
	frame_tables_release(&session->frames);
	frame_store_release(&session->frame_store);
	jit_table_release(&session->jits);
	edges_release(&session->edges);
	left_out_release(&session->unread);
	shares_release(&session->shares); /* after all that gives back to them */
	groups_release(&session->groups);
	tally_release(&session->tally);
	chain_release(&session->chain);
	bursts_release(&session->bursts);
	profile_free(session->profile);
	/* While their priority is still raised they end sooner. */
	reader_free(session->reader);
	urgency_end(&session->urgency, NULL);
	free(session->last_exit);
	free(session->owed.list);
	free(session->named.list);
	targets_release(&collector->targets);
	ledger_release(&collector->ledger);
	hotplug_release(&collector->hotplug);
	free(collector->calm);
	free(collector->looks);
	source_free(collector->source);
	if (collector->timer_fd >= 0)
		close(collector->timer_fd);
	if (collector->resume_fd >= 0)
		close(collector->resume_fd);
	if (collector->poll_fd >= 0)
		close(collector->poll_fd);
	free(collector);
}

static void collector_freep(struct collector **collector)
{
	collector_free(*collector);
}

/* Whether another sampler has the stacks of this one's event. */
static bool has_stacks_apart(const struct counters *counters, const struct sampler *sampler)
{
	for (size_t i = 0; i < counters->sampler_count; i++) {
		const struct sampler *other = &counters->samplers[i];
		if (other->apart && other->stacks && &counters->samplers[other->beside] == sampler)
			return true;
	}
	return false;
}

static int add_event(struct session *session, struct sampler *sampler, bool sampled_by_clock)
{
	const struct perf_event_attr *attr = &sampler->attr;
	const struct event *event = sampler->event;
	const struct sampler *reader = &session->counters.samplers[sampler->sampled_by];
	struct profile_event row = {
		.name = span_of_text(sampler->name),
		.unit = span_of_text(event->unit ? event->unit : "events"),
		.pmu = span_of_text(event->pmu ? event->pmu : ""),
		.core_type = event->core_type ? span_of_text(event->core_type)
					      : (struct span){ NULL, 0 },
		.type = attr->type,
		.config = attr->config,
		.config1 = attr->config1,
		.config2 = attr->config2,
		.clock = sampled_by_clock ? EVENT_CLOCK : EVENT_COUNTED,
		.policy = sampler->sampled ? sampler->policy : PERIOD_NONE,
		.period = !sampler->sampled			? 0
			  : sampler->policy == PERIOD_FREQUENCY ? (uint64_t)sampler->frequency_hz
								: sampler->mean_period,
		.precise = attr->precise_ip,
		.exclude = (attr->exclude_user ? EXCLUDE_USER : 0u) |
			   (attr->exclude_kernel ? EXCLUDE_KERNEL : 0u) |
			   (attr->exclude_hv ? EXCLUDE_HV : 0u) |
			   (attr->exclude_idle ? EXCLUDE_IDLE : 0u) |
			   (attr->exclude_host ? EXCLUDE_HOST : 0u) |
			   (attr->exclude_guest ? EXCLUDE_GUEST : 0u),
		.origin = ORIGIN_MEASURED,
		.sampled = sampler->sampled,
		.leader = sampler->sampled ? (struct span){ NULL, 0 } : span_of_text(reader->name),
		.apart = has_stacks_apart(&session->counters, sampler),
	};
	return profile_add_event(session->profile, &row, &sampler->id);
}

static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int64_t boot_offset_ns(void)
{
	struct timespec boot;
	uint64_t monotonic = clock_monotonic_ns();
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)((uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec - monotonic);
}

static int make_poll_fd(struct collector *collector, struct error *err)
{
	const struct counters *counters = &collector->session.counters;
	struct epoll_event event = { .events = EPOLLIN };
	collector->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	collector->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	collector->resume_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int fds[7] = { collector->timer_fd, collector->resume_fd, counters->watch.fd,
		       counters->sideband_watch.fd };
	size_t count = bursts_fds(&collector->session.bursts, &fds[4]) ? 6 : 4;
	if (collector->session.walker)
		fds[count++] = user_stack_bell_fd(collector->session.walker);
	for (size_t i = 0; i < count; i++)
		if (collector->poll_fd < 0 || fds[i] < 0 ||
		    epoll_ctl(collector->poll_fd, EPOLL_CTL_ADD, fds[i], &event))
			return error_set(err, -errno, "cannot make descriptors to wait with: %s",
					 strerror(errno));
	return 0;
}

/* Helpers are forks: they start while this process is small. Without the reader or the interpreters
 * less is known, which a note says; without the decoder of bursts recording fails. */
static int start_helpers(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	const struct collect_options *options = &collector->options;
	struct error cause;
	char text[1200];
	const struct reader_options reading = {
		.strange_bytes = options->gather_unlimited ? 0 : SHARE_HELPER_BYTES,
		.watch = &session->watch,
	};
	const struct edges_options interpreting = { .files = &session->files,
						    .shares = &session->shares,
						    .watch = &session->watch,
						    .sampler_count =
							    collector->plan.sampler_count };
	session->watch = (struct helper_watch){ .wake_fd = options->wish ? options->wish_fd : -1,
						.look = session_look,
						.context = session };
	if (reader_new(&reading, &session->reader, &cause) < 0) {
		snprintf(text, sizeof(text), "%s: files are known by their path alone", cause.text);
		collector_note(collector, COLLECT_WARNING, text);
	}
	if (collector->plan.edges && edges_init(&session->edges, &interpreting, &cause) < 0) {
		snprintf(text, sizeof(text), "%s: samples are not interpreted", cause.text);
		collector_note(collector, COLLECT_WARNING, text);
	}
	if (options->stepper && bursts_init(&session->bursts, options->stepper,
					    options->burst_percent, &session->watch, &cause) < 0)
		return error_set(err, cause.code, "no bursts: %s", cause.text);
	return 0;
}

static int init_session(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	const struct collect_options *options = &collector->options;
	session->profile = profile_new();
	if (!session->profile)
		return error_set(err, -ENOMEM, "out of memory");
	if (tally_init(&session->tally, session->profile) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	session->world = session_world(session);
	session->options = options;
	session->processes.forget_space = session_forget_space;
	session->processes.forget_context = session;
	session->identity = options->identity;
	if (kept_processes_init(&session->kept, options->kept, options->kept_count, err) < 0)
		return err->code;
	session->stacks = options->stacks;
	session->stack_registers = collector->plan.counters.user_registers;
	session->call_depth = collector->plan.counters.call_depth;
	session->inherit = collector->plan.inherit;
	session->edge_ratio = collector->plan.edge_ratio;
	session->overhead = collector->plan.overhead;
	session->follow = collector->plan.follow;
	session->boot_offset_ns = boot_offset_ns();
	session->max_stack = perf_limit_stack();
	collector->source = source_new();
	if (!collector->source)
		return error_set(err, -ENOMEM, "out of memory");
	snprintf(session->boot_id, sizeof(session->boot_id), "%s",
		 source_boot_id(collector->source));
	shares_init(&session->shares,
		    &(struct share_limits){ .unlimited = options->gather_unlimited,
					    .time_ns = options->gather_time_ns,
					    .stacks = options->stacks });
	int ret = start_helpers(collector, err);
	if (ret < 0)
		return ret;
	urgency_begin(&session->urgency, session->reader);
	ret = file_table_init(&session->files, session->profile, session->reader, &session->shares);
	frame_store_init(&session->frame_store, options->frame_folder);
	session->files.frame_store = &session->frame_store;
	frame_tables_init(&session->frames, &session->files, session->walker);
	jit_table_init(&session->jits, session->reader, &session->files, &session->shares);
	session->ask = (struct proc_ask){ session->reader, &session->shares, &session->unread,
					  &session->watch, &session->silent };
	session->jits.watch = &session->watch;
	if (ret == 0)
		ret = kernel_map_init(&session->kernel, session->profile);
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	return 0;
}

static int open_counters(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	struct plan *plan = &collector->plan;
	struct counters_options options = plan->counters;
	options.features = &plan->features;
	options.cpus = &plan->cpus;
	options.watch = &session->watch;
	options.table = session->counted.table;
	struct sampler *samplers = plan->samplers;
	plan->samplers = NULL; /* the counters' from here on */
	int ret = counters_init(&session->counters, samplers, plan->sampler_count, &options, err);
	if (ret < 0)
		return ret;
	collector->turns.mean_ns = plan->turn_ns;
	collector->turns.seed = random_u64(&collector->random);
	session->last_exit = calloc(session->counters.cpu_count + 1, sizeof(uint32_t));
	if (!session->last_exit)
		return error_set(err, -ENOMEM, "out of memory");
	return targets_open(&collector->targets, session, &collector->options, plan, err);
}

/* Says what the kernel has refused, if it has. `format` has a place for its reason. */
static void note_refusal(const struct collector *collector, enum collect_note_kind kind,
			 int refusal, const char *format)
{
	char text[256];
	if (!refusal)
		return;
	snprintf(text, sizeof(text), format, strerror(-refusal));
	collector_note(collector, kind, text);
}

/* Adds the events to the profile, once they are open: where the kernel refused to sample its own
 * code, their names say so. */
static int name_events(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	bool samples_kernel = false;
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		struct sampler *sampler = &session->counters.samplers[i];
		if (sampler->attr.exclude_kernel && !sampler->event->attr.exclude_kernel &&
		    !collector->options.user_only) {
			size_t length = strlen(sampler->name);
			snprintf(sampler->name + length, sizeof(sampler->name) - length, "%s",
				 strchr(sampler->name, ':') ? "u" : ":u");
		}
	}
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		struct sampler *sampler = &session->counters.samplers[i];
		samples_kernel = samples_kernel || !sampler->attr.exclude_kernel;
		if (sampler->apart)
			sampler->id = session->counters.samplers[sampler->beside].id;
		else if (add_event(session, sampler, sampler->clock) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if (session->kernel.hidden && samples_kernel)
		collector_note(collector, COLLECT_WARNING,
			       "the kernel hides its addresses (kptr_restrict, or no CAP_SYSLOG): "
			       "samples in "
			       "the kernel stay without names");
	if (collector->options.edges == COLLECT_EDGES_ALL)
		note_refusal(collector, COLLECT_NOTE, session->counters.memory_refusal,
			     "memory at a sample's registers cannot be read (%s): samples are "
			     "interpreted without it");
	note_refusal(
		collector, COLLECT_WARNING, session->counters.walker_refusal,
		"stacks cannot be walked in the kernel (%s): callers of user code are missing");
	if (session->counters.kernel_dropped)
		collector_note(
			collector, COLLECT_WARNING,
			"no right to sample the kernel: user code only; 'culprit doctor' lists the "
			"ways to allow it");
	return 0;
}

/* Where the user did not ask for either, what the kernel refuses to count comes through rings. Too
 * few files are no refusal: whatever is opened later would want for them, too. */
static int open_engine(struct collector *collector, struct error *err)
{
	if (collector->plan.engine != COLLECT_ENGINE_BPF)
		return 0;
	/* Whoever is to be kept apart is chosen here: the kernel counts all by process then. */
	unsigned identity = collector->options.identity |
			    (collector->options.kept_count ? COLLECT_PER_PROCESS : 0u);
	int ret = kernel_counts_open(&collector->session.counted, identity, collector->plan.follow,
				     err);
	bool lacks_files = ret == -EMFILE || ret == -ENFILE;
	if (ret == 0 || lacks_files || collector->options.engine != COLLECT_ENGINE_USUAL)
		return ret;
	char text[sizeof(err->text) + 80];
	snprintf(text, sizeof(text),
		 "each sample comes through a ring, which takes more CPU time: %s", err->text);
	collector_note(collector, COLLECT_NOTE, text);
	return 0;
}

int collector_new(const struct collect_options *options, struct collector **out, struct error *err)
{
	CLEANUP(collector_freep) struct collector *collector = calloc(1, sizeof(*collector));
	if (!collector)
		return error_set(err, -ENOMEM, "out of memory");
	collector->options = *options;
	collector->poll_fd = collector->timer_fd = collector->resume_fd = -1;
	collector->hotplug = HOTPLUG_NONE;
	collector->session.counters.watch = RING_WATCH_NONE;
	collector->session.counters.sideband_watch = RING_WATCH_NONE;
	collector->random = random_seed(clock_realtime_ns() ^ (uint64_t)getpid());
	collector->session.sample_memory = SAMPLE_MEMORY_CLOSED;
	raise_file_limit();
	haste_prefer();
	int ret = plan_make(&collector->plan, options, &collector->session.sample_memory,
			    &collector->session.walker, err);
	if (ret == 0)
		ret = init_session(collector, err);
	if (ret == 0)
		ret = open_engine(collector, err);
	if (ret == 0 && !options->user_only && !options->redact)
		kernel_code_open(&collector->session.kernel_code);
	if (ret == 0)
		ret = open_counters(collector, err);
	if (ret == 0)
		ret = name_events(collector, err);
	if (ret == 0)
		ret = make_poll_fd(collector, err);
	plan_release(&collector->plan);
	urgency_end(&collector->session.urgency, collector->session.reader);
	if (ret < 0)
		return ret;
	*out = collector;
	collector = NULL; /* the caller's from here on */
	return 0;
}

void collector_set_timer(const struct collector *collector, uint64_t first_ns)
{
	struct itimerspec timer = { { .tv_nsec = SERVICE_NS }, { .tv_nsec = (long)first_ns } };
	timerfd_settime(collector->timer_fd, 0, &timer, NULL);
}

/* Of what runs beside a command that is followed no file is read. */
static void begin_walking(const struct collector *collector)
{
	const struct session *session = &collector->session;
	size_t ring_bytes = session->counters.options.sample_pages * (size_t)sysconf(_SC_PAGESIZE);
	bool below = session->follow && pid_namespace_is_first();
	if (session->walker)
		user_stack_begin(session->walker, ring_bytes,
				 below ? (uint32_t)collector->options.command_pid : 0);
}

/* Where a budget chose the rate for the whole machine, idle CPUs are left in peace. 0 or -ENOMEM.
 */
static int watch_for_calm(struct collector *collector)
{
	const struct counters *counters = &collector->session.counters;
	bool wanted = false;
	for (size_t i = 0; i < counters->sampler_count; i++)
		wanted = wanted || (counters->samplers[i].clock &&
				    counters->samplers[i].policy == PERIOD_RANDOM);
	if (!wanted || collector->options.target != COLLECT_SYSTEM ||
	    !(collector->session.overhead.budget_ratio > 0))
		return 0;
	collector->calm = calloc(counters->cpu_count + 1, sizeof(*collector->calm));
	collector->looks = calloc(counters->cpu_count + 1, sizeof(*collector->looks));
	return collector->calm && collector->looks ? 0 : -ENOMEM;
}

int collector_start(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	begin_walking(collector);
	if (ledger_init(&collector->ledger, session, collector_samples_all(collector)) < 0 ||
	    session_start_counts(session) < 0 || watch_for_calm(collector) < 0 ||
	    targets_start(&collector->targets, &session->ask, collector->options.children) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	ring_keeper_start(&session->keeper, session->counters.rings,
			  2 * session->counters.cpu_count, &session->counters.samplers[0].layout);
	if (session->stacks == COLLECT_STACKS_RULES &&
	    collector->options.target != COLLECT_COMMAND &&
	    stacks_prepare(session, collector->options.pids, collector->options.pid_count) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	ledger_begin(&collector->ledger, session);
	collector->epoch_begin_ns = clock_monotonic_ns();
	collector->epoch_start_real_ns = clock_realtime_ns();
	hotplug_start(&collector->hotplug, &session->counters, collector->epoch_begin_ns);
	int ret = turns_start(&collector->turns, &session->counters, collector->epoch_begin_ns);
	if (ret < 0)
		return error_set(err, ret, "cannot start the thread that has events take turns: %s",
				 strerror(-ret));
	ret = counters_enable(&session->counters, err);
	turns_release(&collector->turns, &session->counters);
	if (ret < 0)
		return ret;
	uint64_t now_ns = clock_monotonic_ns();
	overhead_begin(&session->overhead, now_ns, own_spent_ns(session, now_ns));
	collector_set_timer(collector, SERVICE_NS);
	bursts_start(&session->bursts);
	return 0;
}

int collector_poll_fd(const struct collector *collector)
{
	return collector->poll_fd;
}

const struct proc_ask *collector_proc_ask(const struct collector *collector)
{
	return &collector->session.ask;
}

enum collect_engine collector_engine(const struct collector *collector)
{
	return collector->session.counted.table ? COLLECT_ENGINE_BPF : COLLECT_ENGINE_RING;
}

bool collector_alive(struct collector *collector)
{
	return targets_alive(&collector->targets);
}

void collector_describe_missing(const struct collector *collector, uint64_t samples, char *text,
				size_t size)
{
	const struct session *session = &collector->session;
	guarded_describe(&session->guarded,
			 session->counters.options.user_sideband ? GUARDED_BE_ROOT
								 : GUARDED_WHOLE_MACHINE,
			 text, size);
	if (!text[0])
		targets_describe_below(&collector->targets, &session->ask, samples, text, size);
}
