#include "collect/own_cost.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "collect/session.h"
#include "symbol/reader.h"

uint64_t own_cpu_ns(const struct session *session)
{
	struct rusage usage;
	uint64_t ns = session->edges.cpu_ns;
	if (session->reader)
		ns += reader_cpu_ns(session->reader);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		ns += clock_timeval_ns(&usage.ru_utime) + clock_timeval_ns(&usage.ru_stime);
	return ns;
}

double own_interrupts(const struct session *session, uint64_t now_ns)
{
	const struct counters *counters = &session->counters;
	double sum = 0;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		const struct sampler *sampler = &counters->samplers[i];
		if (!sampler->sampled)
			continue;
		for (size_t slot = 0; slot < counters->cpu_count; slot++) {
			const struct lane *lane = counters_lane(counters, i, slot);
			sum += sampler->clock && !session->inherit
				       ? period_log_interrupts(&lane->periods, now_ns)
				       : (double)(lane->runs_billed + lane_runs(&lane->sums));
		}
	}
	return sum;
}

double own_spent_ns(const struct session *session, uint64_t now_ns)
{
	return own_interrupts(session, now_ns) * session->overhead.sample_ns +
	       (double)own_cpu_ns(session);
}
