/*
 * edge_scene - this process as the collector sees one, whose samples are interpreted: code of its
 * own whose branches are known (own_mappings.h), its files, and a user who pays.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "collect/edges.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/address_space.h"
#include "machine/perf_record.h"
#include "own_mappings.h"
#include "profile/profile.h"
#include "symbol/reader.h"

struct edge_scene {
	struct profile *profile;
	struct reader *reader;
	struct file_table files;
	struct address_space *space;
	struct shares shares;
	struct helper_watch watch;
	struct edges edges;
	uint64_t registers[EDGE_REGISTERS];
	struct perf_sample sample;
	struct span blocks;
	struct share *share;
	unsigned looks;
};

/* An allowance that leaves nothing out, in ns. */
#define GENEROUS 1e9
#ifdef __x86_64__
#define BRANCH (own_branch + 4) /* behind the comparison */
#define BEHIND (own_branch + 6)
#else
#define BRANCH own_branch
#define BEHIND (own_branch + 4)
#endif

/* Of samples at own_branch; fails the test where it cannot be had. */
struct edge_scene *edge_scene_new(void);
void edge_scene_free(struct edge_scene *scene);
/* Makes the address space anew, of what this process has mapped, as records and samples tell of it.
 */
void edge_scene_map_all(struct edge_scene *scene);
/* Adds a sample with that first argument. */
void edge_scene_take(struct edge_scene *scene, uint64_t argument, double allowance_ns);
void edge_scene_serve(struct edge_scene *scene, enum edges_patience patience);
/* How often the branch at `from` went to `to`. */
uint64_t edge_scene_seen(const struct edge_scene *scene, const char *from, const char *to);
