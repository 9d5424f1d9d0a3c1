#include "collect/edges_private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/added.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/address_space.h"
#include "machine/perf_record.h"
#include "profile/bill.h"
#include "profile/profile.h"

/* Each batch starts with cold caches in the helper: it should be worth that. */
#define BATCH_WORTH	 512u
#define BATCH_WAIT_NS	 1000000000u
#define SPACE_MAPPINGS	 4096u	    /* executable ones; no ordinary process has more */
#define FAILURES_MOST	 8u	    /* then the trusted users' helper is not started again */
#define FAILURE_LEAST_NS 100000000u /* a stranger pays for the start of a new helper, too */
#define ANSWER_MOST_BYTES                                                                          \
	(sizeof(struct edge_answer) +                                                              \
	 EDGE_BATCH_SAMPLES *                                                                      \
		 (sizeof(struct edge_path) + EDGE_INSTRUCTIONS * sizeof(struct edge_found)))
/* Of the pace: the first files are read and decoded before anything can be saved up. */
#define FIRST_NS      10e6
#define LIMIT_NS      50e6
#define COST_GUESS_NS 10e3

static int worker_init(struct edges *edges, struct edge_worker *worker, bool start,
		       struct error *err)
{
	worker->helper = (struct helper){ .run = edge_helper_run,
					  .watch = edges->watch,
					  .most_answer_bytes = ANSWER_MOST_BYTES };
	worker->answered_ns = worker->asked_ns = clock_monotonic_ns();
	pace_init(&worker->pace, FIRST_NS, LIMIT_NS, COST_GUESS_NS);
	int ret = start ? helper_start(&worker->helper, err) : 0;
	worker->on = ret == 0;
	return ret;
}

int edges_init(struct edges *edges, const struct edges_options *options, struct error *err)
{
	*edges = (struct edges){ .files = options->files,
				 .shares = options->shares,
				 .watch = options->watch,
				 .registers = edge_registers(),
				 .sums = calloc(options->sampler_count + 1, sizeof(*edges->sums)),
				 .sampler_count = options->sampler_count };
	if (!edges->sums)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = worker_init(edges, &edges->own, true, err);
	if (ret < 0)
		return ret;
	bool limited = edges->shares && !edges->shares->limits.unlimited;
	ret = worker_init(edges, &edges->strange, limited, err);
	edges->strange.strange = true;
	edges->strange.helper.most_resident_bytes = SHARE_HELPER_BYTES;
	return ret;
}

static void worker_release(struct edges *edges, struct edge_worker *worker)
{
	edge_batch_release(&worker->gathering, edges->shares);
	edge_batch_release(&worker->under_way, edges->shares);
	edge_batch_release(&worker->spare, edges->shares);
	helper_kill(&worker->helper); /* it keeps nothing that an orderly end would save */
	helper_stop(&worker->helper); /* frees what is known of earlier ones */
	free(worker->file_states);
}

void edges_release(struct edges *edges)
{
	worker_release(edges, &edges->own);
	worker_release(edges, &edges->strange);
	edge_tally_release(&edges->tally);
	free(edges->sums);
	*edges = (struct edges){ 0 };
}

static struct edge_worker *worker_of(struct edges *edges, const struct share *share)
{
	return edges->shares && share && share->strange ? &edges->strange : &edges->own;
}

static bool is_fit(const struct edges *edges, const struct perf_sample *sample,
		   struct address_space *space)
{
	if (!space || space->count > SPACE_MAPPINGS ||
	    sample->user_abi != PERF_SAMPLE_REGS_ABI_64 ||
	    sample->user_registers.count > EDGE_REGISTERS ||
	    sample->user_registers.count != (uint64_t)__builtin_popcountll(edges->registers))
		return false;
	const struct mapping *mapping = address_space_find(space, sample->ip);
	const struct file *file = mapping ? file_table_get(edges->files, mapping->file) : NULL;
	return file && file_may_stay_open(file);
}

int edges_add_sample(struct edges *edges, const struct edge_waiting *waiting,
		     const struct perf_sample *sample, struct span blocks,
		     struct address_space *space, double allowance_ns)
{
	struct edge_sums *sums = &edges->sums[waiting->sampler];
	struct edge_worker *worker = worker_of(edges, waiting->share);
	if (!worker->on) {
		sums->lost++;
		return 0;
	}
	if (!is_fit(edges, sample, space)) {
		sums->unfit++;
		return 0;
	}
	double set_aside = pace_admit(&worker->pace, allowance_ns);
	int ret = set_aside > 0 ? edge_batch_add(&worker->gathering, waiting, sample, blocks, space)
				: -E2BIG;
	/* pace_settle() gives it back where nothing was interpreted. */
	worker->gathering.set_aside_ns += set_aside;
	if (ret != -E2BIG)
		return ret;
	sums->thinned++;
	return 0;
}

struct span edges_blocks(struct span attached, const struct perf_layout *layout,
			 const struct perf_record *record)
{
	struct span raw = added_to(record, attached, layout);
	raw.size -= raw.size % sizeof(struct sample_memory_block);
	return raw.size ? raw : (struct span){ 0 };
}

void edges_lose(struct edges *edges, struct edge_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		edges->sums[batch->waiting[i].sampler].lost++;
	edge_batch_clear(batch, edges->shares);
}

void edges_forget_helper(struct edge_worker *worker)
{
	for (size_t i = 0; i < worker->file_state_capacity; i++)
		if (worker->file_states[i] == EDGE_FILE_SENT)
			worker->file_states[i] = EDGE_FILE_UNSENT;
	worker->files_sent = 0;
	worker->outdated = false;
	worker->first = NULL;
	worker->mixed = false;
}

int edges_fail(struct edges *edges, struct edge_worker *worker, const struct error *err)
{
	bool mixed = worker->mixed;
	edges_forget_helper(worker);
	if (err->code == -ECANCELED) { /* it was not asked, and knows files still */
		helper_kill(&worker->helper);
		edges_lose(edges, &worker->under_way);
		return 0;
	}
	edges->failures++;
	worker->failures++;
	snprintf(edges->failure, sizeof(edges->failure), "%.200s", err->text);
	worker->on = worker->strange || worker->failures < FAILURES_MOST;
	if (mixed) {
		int ret = edge_batch_append(&worker->under_way, &worker->gathering, edges->shares);
		if (ret == 0)
			worker->again = worker->payer;
		if (ret != -E2BIG)
			return ret;
	} else if (worker->strange) {
		uint64_t cost_ns = clock_monotonic_ns() - worker->asked_ns;
		cost_ns = cost_ns > FAILURE_LEAST_NS ? cost_ns : FAILURE_LEAST_NS;
		if (cost_ns > worker->paid_ns)
			share_spend(edges->shares, worker->payer, SHARE_READING,
				    cost_ns - worker->paid_ns);
	}
	edges_lose(edges, &worker->under_way);
	return 0;
}

static bool is_unwanted(const struct edges *edges)
{
	const struct helper_watch *watch = edges->watch;
	return watch && watch->look && watch->look(watch->context) < 0;
}

static void lose_all(struct edges *edges, struct edge_worker *worker)
{
	if (worker->asked) {
		helper_kill(&worker->helper);
		edges_forget_helper(worker);
	}
	worker->asked = false;
	edges_lose(edges, &worker->under_way);
	edges_lose(edges, &worker->gathering);
}

static int go_on(struct edges *edges, struct edge_worker *worker)
{
	int ret = 0;
	uint64_t passed_ns = clock_monotonic_ns() - worker->asked_ns;
	if (worker->asked) {
		uint64_t most_ms = worker->strange ? EDGES_STRANGE_TIMEOUT_MS : EDGES_TIMEOUT_MS;
		if (passed_ns <= most_ms * 1000000 && !helper_answers(&worker->helper))
			return 0;
		ret = edges_receive(edges, worker);
	}
	if (ret == 0 && (worker->gathering.count >= BATCH_WORTH || passed_ns >= BATCH_WAIT_NS))
		ret = edges_ask(edges, worker);
	return ret;
}

static int finish(struct edges *edges, struct edge_worker *worker)
{
	int ret = 0;
	while (ret == 0 && (worker->asked || worker->gathering.count)) {
		if (is_unwanted(edges))
			lose_all(edges, worker);
		else
			ret = worker->asked ? edges_receive(edges, worker)
					    : edges_ask(edges, worker);
	}
	return ret;
}

int edges_service(struct edges *edges, enum edges_patience patience)
{
	/* Recording is about to end: an answer would come too late. */
	if (patience != EDGES_WAIT && is_unwanted(edges))
		return 0;
	int (*const serve)(struct edges * edges, struct edge_worker * worker) =
		patience == EDGES_WAIT ? finish : go_on;
	int ret = serve(edges, &edges->own);
	return ret < 0 ? ret : serve(edges, &edges->strange);
}

struct edge_batch *edges_batch(struct edges *edges, size_t position)
{
	struct edge_batch *batches[] = { &edges->own.gathering,	    &edges->own.under_way,
					 &edges->own.spare,	    &edges->strange.gathering,
					 &edges->strange.under_way, &edges->strange.spare };
	return position < sizeof(batches) / sizeof(batches[0]) ? batches[position] : NULL;
}

static void forget_files(struct edge_worker *worker, const bool *in_use)
{
	for (size_t number = 1; number < worker->file_state_capacity; number++) {
		if (worker->file_states[number] == EDGE_FILE_UNSENT || in_use[number])
			continue;
		worker->outdated |= worker->file_states[number] == EDGE_FILE_SENT;
		worker->file_states[number] = EDGE_FILE_UNSENT;
	}
}

void edges_forget_files(struct edges *edges, const bool *in_use)
{
	forget_files(&edges->own, in_use);
	forget_files(&edges->strange, in_use);
}

static int write_ends(const struct edge_sums *sums, uint32_t event, struct profile *profile)
{
	int ret = 0;
	for (int end = 0; end < INTERPRET_ENDS && ret == 0; end++) {
		char item[96];
		if (!sums->ends[end])
			continue;
		snprintf(item, sizeof(item), BILL_INTERPRET_END_PREFIX "%s",
			 interpret_end_name((enum interpret_end)end));
		for (char *at = item; *at; at++)
			if (*at == ' ')
				*at = '_';
		ret = profile_add_bill(profile, event, OPTIONAL_ABSENT, item, sums->ends[end]);
	}
	return ret;
}

int edges_write_bill(struct edges *edges, size_t sampler, uint32_t event, struct profile *profile)
{
	struct edge_sums *sums = &edges->sums[sampler];
	const struct {
		const char *item;
		uint64_t amount;
	} lines[] = {
		{ BILL_INTERPRETED, sums->interpreted },
		{ BILL_INTERPRET_THINNED, sums->thinned },
		{ BILL_INTERPRET_UNFIT, sums->unfit },
		{ BILL_INTERPRET_LOST, sums->lost },
		{ BILL_INTERPRET_SILENT, sums->silent },
		{ BILL_INTERPRET_OUTCOMES, sums->outcomes },
	};
	int ret = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && ret == 0; i++)
		ret = profile_add_bill(profile, event, OPTIONAL_ABSENT, lines[i].item,
				       lines[i].amount);
	if (ret == 0)
		ret = write_ends(sums, event, profile);
	if (ret == 0)
		*sums = (struct edge_sums){ 0 };
	return ret;
}
