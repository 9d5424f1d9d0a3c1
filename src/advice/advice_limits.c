#include <stdio.h>
#include <string.h>

#include "advice/advice_parts.h"

/* The kernel's default of perf_event_mlock_kb: a ring of 512 KiB and its head page. */
#define MLOCK_KB_ENOUGH	   516
#define SAMPLE_RATE_ENOUGH 10000
#define STACK_ENOUGH	   127

static void advise_ring_memory(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	bool unbound = rights->has[RIGHT_IPC_LOCK] == FACT_YES || rights->paranoid < 0;
	char memlock[32];
	if (rights->paranoid == RIGHTS_UNKNOWN)
		unbound = rights->has[RIGHT_IPC_LOCK] == FACT_YES;
	if (rights->mlock_kb == RIGHTS_UNKNOWN) {
		advising_add(advising, "ring-memory", FINDING_UNKNOWN,
			     "perf_event_mlock_kb cannot be read", "", "");
		return;
	}
	if (rights->memlock_bytes == INT64_MAX)
		snprintf(memlock, sizeof(memlock), "unlimited");
	else if (rights->memlock_bytes == RIGHTS_UNKNOWN)
		snprintf(memlock, sizeof(memlock), "unknown");
	else
		snprintf(memlock, sizeof(memlock), "%lld KiB",
			 (long long)rights->memlock_bytes / 1024);
	bool enough = unbound || rights->mlock_kb >= MLOCK_KB_ENOUGH ||
		      rights->memlock_bytes == INT64_MAX;
	advising_add(advising, "ring-memory", enough ? FINDING_OK : FINDING_LIMIT,
		     advising_text(advising,
				   "ring memory: %lld KiB a CPU for each user, then memlock (%s)%s",
				   (long long)rights->mlock_kb, memlock,
				   unbound ? "; neither binds you" : ""),
		     enough ? "" : "rings are smaller, so bursts of samples get lost",
		     enough ? "" : advising_sysctl(advising, "kernel.perf_event_mlock_kb=516"));
}

static void advise_descriptors(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	/* On every CPU a group of three, the event for records about processes, and a ring; 64 for
	 * all else. */
	int64_t needed = (int64_t)cpu_set_count(&advising->facts->cpu->online) * 5 + 64;
	if (rights->open_files == RIGHTS_UNKNOWN)
		return;
	bool enough = rights->open_files >= needed;
	advising_add(advising, "open-files", enough ? FINDING_OK : FINDING_LIMIT,
		     rights->open_files == INT64_MAX ? "any number of open files"
						     : advising_text(advising, "%lld open files",
								     (long long)rights->open_files),
		     enough ? "" : "too few to watch every CPU (-a)",
		     enough ? "" : advising_text(advising, "ulimit -n %lld", (long long)needed));
}

static void advise_rates(struct advising *advising)
{
	const struct rights *rights = advising->facts->rights;
	if (rights->max_sample_rate == RIGHTS_UNKNOWN) {
		advising_add(advising, "sample-rate", FINDING_UNKNOWN,
			     "perf_event_max_sample_rate cannot be read", "", "");
	} else {
		bool enough = rights->max_sample_rate >= SAMPLE_RATE_ENOUGH;
		bool adapts =
			rights->cpu_time_max_percent > 0 && rights->cpu_time_max_percent < 100;
		char lowers[96] = "";
		if (adapts)
			snprintf(lowers, sizeof(lowers),
				 "; lowered when sampling takes above %lld %%",
				 (long long)rights->cpu_time_max_percent);
		advising_add(
			advising, "sample-rate", enough ? FINDING_OK : FINDING_LIMIT,
			advising_text(advising, "at most %lld samples a second and CPU%s",
				      (long long)rights->max_sample_rate, lowers),
			enough ? ""
			       : "above it the kernel stops events, and their counts with them",
			enough ? ""
			       : advising_sysctl(advising,
						 "kernel.perf_event_max_sample_rate=100000"));
	}
	if (rights->max_stack == RIGHTS_UNKNOWN) {
		advising_add(advising, "stack-depth", FINDING_UNKNOWN,
			     "perf_event_max_stack cannot be read", "", "");
		return;
	}
	bool deep = rights->max_stack >= STACK_ENOUGH;
	advising_add(advising, "stack-depth", deep ? FINDING_OK : FINDING_LIMIT,
		     advising_text(advising, "stacks of at most %lld frames",
				   (long long)rights->max_stack),
		     deep ? "" : "deeper stacks lose their outermost callers",
		     deep ? "" : advising_sysctl(advising, "kernel.perf_event_max_stack=127"));
}

static void advise_kernel(struct advising *advising)
{
	const struct perf_features *features = advising->facts->features;
	const struct {
		enum fact has;
		const char *loses;
	} wanted[] = {
		{ features->format_lost, "losses are known as 'at least' (needs Linux 6.0)" },
		{ features->inherit_read_tid,
		  "groups are not read over fork and threads, except by -a (6.12)" },
		{ features->build_id,
		  "files gone before they are looked at lose their identity (5.12)" },
		{ features->text_poke, "kernel code that was patched meanwhile is not seen (5.8)" },
		{ features->ksymbol, "BPF programs stay without names (5.1)" },
	};
	char loses[512] = "";
	size_t unknown = 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t length = strlen(loses);
		unknown += wanted[i].has == FACT_UNKNOWN;
		if (wanted[i].has == FACT_NO)
			snprintf(loses + length, sizeof(loses) - length, "%s%s", length ? "; " : "",
				 wanted[i].loses);
	}
	const char *release = advising->facts->rights->kernel;
	const char *what = advising_text(advising, "Linux %s", release[0] ? release : "(unknown)");
	if (unknown)
		advising_add(advising, "kernel", FINDING_UNKNOWN, what,
			     "what its perf events can do is seen once they are allowed", "");
	else
		advising_add(advising, "kernel", loses[0] ? FINDING_LIMIT : FINDING_OK, what,
			     loses[0] ? advising_text(advising, "%s", loses) : "",
			     loses[0] ? "boot a newer kernel" : "");
}

static void format_ns(double ns, char *text, size_t size)
{
	if (ns < 1000)
		snprintf(text, size, "%.0f ns", ns);
	else
		snprintf(text, size, "%.1f us", ns / 1000);
}

/* A processor alone takes less for an interrupt: above this a hypervisor handles it too. */
#define DEAR_SAMPLE_NS 5000

static void advise_cost(struct advising *advising)
{
	const struct facts *facts = advising->facts;
	if (!facts->cost) {
		if (facts->cost_refusal)
			advising_add(advising, "sample-cost", FINDING_UNKNOWN,
				     advising_text(advising, "what one sample costs: %s",
						   facts->cost_refusal),
				     "", "");
		return;
	}
	char cost[32], low[32], high[32];
	format_ns(facts->cost->ns, cost, sizeof(cost));
	format_ns(facts->cost->low_ns, low, sizeof(low));
	format_ns(facts->cost->high_ns, high, sizeof(high));
	bool dear = facts->cost->ns > DEAR_SAMPLE_NS;
	const char *busy =
		facts->cost->busy_ratio > 0.1
			? advising_text(advising, "; others took %.0f %% of the CPU meanwhile",
					100 * facts->cost->busy_ratio)
			: "";
	advising_add(
		advising, "sample-cost", dear ? FINDING_LIMIT : FINDING_OK,
		advising_text(
			advising,
			"one sample costs %s (%s to %s in 80 %% of %llu)%s; 1 %% of a CPU buys "
			"%llu a second",
			cost, low, high, (unsigned long long)facts->cost->samples, busy,
			(unsigned long long)sample_cost_rate(facts->cost, 0.01)),
		!dear ? ""
		: facts->cpu->virtual_machine == FACT_YES
			? "its interrupt goes through the hypervisor; longer recordings instead of "
			  "higher rates"
			: "longer recordings instead of higher rates",
		"");
}

void advise_limits(struct advising *advising)
{
	advise_cost(advising);
	advise_rates(advising);
	advise_ring_memory(advising);
	advise_descriptors(advising);
	advise_kernel(advising);
}
