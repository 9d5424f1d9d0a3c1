#include "collect/counters_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

int counters_init(struct counters *counters, struct sampler *samplers, size_t sampler_count,
		  const struct counters_options *options, struct error *err)
{
	*counters = (struct counters){ .options = *options,
				       .samplers = samplers,
				       .sampler_count = sampler_count,
				       .watch = RING_WATCH_NONE,
				       .sideband_watch = RING_WATCH_NONE,
				       .reads_lost = options->features->format_lost == FACT_YES,
				       .patience = { options->watch, TASK_PATIENCE_NS } };
	counters->cpu_count = cpu_set_count(options->cpus);
	counters->cpus = calloc(counters->cpu_count + 1, sizeof(*counters->cpus));
	counters->rings = calloc(2 * counters->cpu_count + 1, sizeof(*counters->rings));
	counters->lanes = calloc(sampler_count * counters->cpu_count + 1, sizeof(*counters->lanes));
	counters->output_fds = calloc(counters->cpu_count + 1, sizeof(*counters->output_fds));
	counters->absences = calloc(counters->cpu_count + 1, sizeof(*counters->absences));
	if (!counters->absences || !counters->cpus || !counters->rings || !counters->lanes ||
	    !counters->output_fds)
		return error_set(err, -ENOMEM, "out of memory opening events");
	size_t slot = 0;
	for (size_t cpu = cpu_set_next(options->cpus, 0); cpu < CPU_SET_LIMIT;
	     cpu = cpu_set_next(options->cpus, cpu + 1)) {
		counters->cpus[slot] = (int)cpu;
		counters->output_fds[slot] = -1;
		counters->rings[2 * slot] = (struct ring){ .fd = -1, .cpu_slot = slot };
		counters->rings[2 * slot + 1] =
			(struct ring){ .fd = -1, .cpu_slot = slot, .sideband = true };
		slot++;
	}
	int ret = ring_watch_open(&counters->watch, counters->cpu_count);
	if (ret == 0)
		ret = ring_watch_open(&counters->sideband_watch, counters->cpu_count);
	if (ret < 0)
		return error_set(err, ret, "cannot make an epoll descriptor: %s", strerror(-ret));
	for (size_t i = 0; i < sampler_count; i++)
		counters_prepare_sampler(counters, &counters->samplers[i], i);
	return 0;
}

void counters_release(struct counters *counters)
{
	for (size_t i = 0; i < 2 * counters->cpu_count && counters->rings; i++) {
		if (counters->rings[i].fd_orphaned)
			close(counters->rings[i].fd);
		ring_release(&counters->rings[i]);
	}
	for (size_t i = 0; i < counters->link_count; i++)
		close(counters->links[i]);
	for (size_t i = 0; i < counters->count; i++)
		close(counters->list[i].fd);
	for (size_t i = 0; i < counters->sideband_count; i++)
		close(counters->sideband_fds[i]);
	for (size_t slot = 0; slot < counters->cpu_count && counters->output_fds; slot++)
		if (counters->output_fds[slot] >= 0)
			close(counters->output_fds[slot]);
	for (size_t i = 0; i < counters->sampler_count * counters->cpu_count && counters->lanes;
	     i++)
		weight_release(&counters->lanes[i].weight);
	ring_watch_close(&counters->watch);
	ring_watch_close(&counters->sideband_watch);
	number_map_release(&counters->by_id);
	free(counters->samplers);
	free(counters->cpus);
	free(counters->lanes);
	free(counters->list);
	free(counters->rings);
	free(counters->sideband_fds);
	free(counters->output_fds);
	free(counters->links);
	free(counters->absences);
	*counters =
		(struct counters){ .watch = RING_WATCH_NONE, .sideband_watch = RING_WATCH_NONE };
}

static int enable(struct counters *counters, struct counter *counter, struct error *err)
{
	const struct sampler *sampler = &counters->samplers[counter->sampler];
	struct lane *lane = counters_lane(counters, counter->sampler, counter->slot);
	if (sampler->sampled && !lane->periods.count)
		period_log_add(&lane->periods, clock_monotonic_ns(), sampler->mean_period);
	if (sampler->leader != counter->sampler || counters->options.enable_on_exec ||
	    sampler->resting)
		return 0;
	/* of one that takes turns, enabled time does not tell when its CPU left */
	counter->began_ns = sampler->turn_sets ? 0 : clock_monotonic_ns();
	if (ioctl(counter->fd, PERF_EVENT_IOC_ENABLE, 0))
		return error_set(err, -errno, "cannot start '%s' on CPU %d: %s", sampler->name,
				 counters->cpus[counter->slot], strerror(errno));
	return 0;
}

int counters_enable(struct counters *counters, struct error *err)
{
	int ret = 0;
	for (size_t i = 0; i < counters->count && ret == 0; i++)
		ret = enable(counters, &counters->list[i], err);
	return ret;
}

void counters_disable(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		if (counters->samplers[counters->list[i].sampler].leader ==
		    counters->list[i].sampler)
			ioctl(counters->list[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void counters_lose_cpu(struct counters *counters, size_t slot, uint64_t now_ns)
{
	struct cpu_absence *absence = &counters->absences[slot];
	if (counters->options.inherit || absence->away)
		return;
	*absence = (struct cpu_absence){ .away = true, .since_ns = now_ns };
	for (size_t i = 0; i < counters->count; i++) {
		struct counter *counter = &counters->list[i];
		if (counter->slot != slot || counter->gone)
			continue;
		if (counters->samplers[counter->sampler].leader == counter->sampler)
			counters_read_one(counters, counter);
		if (counter->gone)
			continue; /* nothing more could be read */
		/* Enabled time ends when the CPU leaves; but a control group's also stands still
		 * while the group does not run. */
		uint64_t end_ns = counter->began_ns + counter->enabled;
		if (counter->began_ns && !(counters->watched_flags & PERF_FLAG_PID_CGROUP) &&
		    end_ns < absence->since_ns)
			absence->since_ns = end_ns;
		counter->gone = true;
	}
}

int counters_return_cpu(struct counters *counters, size_t slot, uint64_t *from_ns, uint64_t *to_ns,
			struct error *err)
{
	struct cpu_absence *absence = &counters->absences[slot];
	if (counters->output_fds[slot] >= 0) {
		close(counters->output_fds[slot]);
		counters->output_fds[slot] = -1;
	}
	int ret =
		counters_open_slot(counters, slot, counters->watched, counters->watched_flags, err);
	uint64_t now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < counters->count && ret == 0; i++) {
		struct counter *counter = &counters->list[i];
		if (counter->slot != slot || counter->gone)
			continue;
		struct lane *lane = counters_lane(counters, counter->sampler, slot);
		period_log_skip(&lane->periods, absence->since_ns, now_ns);
		if (lane->drawn_calm && now_ns > absence->since_ns)
			lane->calm_before.ns -= (double)(now_ns - absence->since_ns);
		lane->calm = false;
		lane->turn.since_ns += now_ns > absence->since_ns ? now_ns - absence->since_ns : 0;
		if (lane->periods.count)
			lane_note_period(lane, now_ns,
					 counters->samplers[counter->sampler].attr.sample_period);
		ret = enable(counters, counter, err);
	}
	if (ret < 0) {
		/* the next try replaces what was opened */
		for (size_t i = 0; i < counters->count; i++)
			counters->list[i].gone |= counters->list[i].slot == slot;
		return ret;
	}
	*from_ns = absence->since_ns;
	*to_ns = now_ns > absence->since_ns ? now_ns : absence->since_ns;
	absence->away = absence->billed = false;
	return 0;
}
