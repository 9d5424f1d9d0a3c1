/*
 * burst_evidence - what the steps of a stretch (collect/bursts.h) show: which branches were taken
 * and which instructions ran one after another. A helper process decodes the steps, their addresses
 * are looked up in what the stepped process has mapped, and the edges and ranges are added up in
 * bursts->found until the next profile is handed out.
 */
#pragma once

#include <stdint.h>

struct bursts;
struct session;
struct tally_translation;

/* Adds up the stretch that was answered last, if it ended by `limit_ns`: up to then all records
 * have been handled, so that what was mapped is known. Steps that cannot be decoded are counted and
 * left out. 0 or -ENOMEM. */
int burst_evidence_add(struct session *session, uint64_t limit_ns);
/* Moves what was added up, and the bill of the bursts, into translation->to. 0 or -ENOMEM. */
int burst_evidence_flush(struct bursts *bursts, struct tally_translation *translation);
