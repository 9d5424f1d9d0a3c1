/*
 * edges_private - what the parts of edges share: which samples are taken and when helpers are
 * served (edges.c), what a helper is given (edges_ask.c) and what is read in its answer
 * (edges_answer.c).
 */
#pragma once

#include "collect/edges.h"

#define EDGES_TIMEOUT_MS 2000u /* a batch takes 160 ms at most, a file that is mapped less */
/* A stranger's batch is not waited for until recording ends; then for what is left of his time. */
#define EDGES_STRANGE_TIMEOUT_MS 1000u

/* Gives the worker's helper what has been gathered, if anything; starts it first when it is gone.
 * What cannot be interpreted is counted, as lost or as thinned. 0 or -ENOMEM. */
int edges_ask(struct edges *edges, struct edge_worker *worker);
/* Waits for the answer to what is under way and adds it up. 0 or -ENOMEM; another failure costs
 * the batch, or brings it back to what is gathered (edges_fail()). */
int edges_receive(struct edges *edges, struct edge_worker *worker);

/* Counts all samples of the batch as lost and empties it. */
void edges_lose(struct edges *edges, struct edge_batch *batch);
/* The worker's next helper knows no files and has seen nobody's samples. */
void edges_forget_helper(struct edge_worker *worker);
/*
 * To be called when the helper is gone, for the reason in *err. The next request starts another
 * one; the trusted worker ends after some failures. A stranger's share pays for the time. The batch
 * under way is lost, unless this helper had samples of another stranger before, whose fault it may
 * be: then the batch waits again, for a new helper of its own. 0 or -ENOMEM.
 */
int edges_fail(struct edges *edges, struct edge_worker *worker, const struct error *err);
