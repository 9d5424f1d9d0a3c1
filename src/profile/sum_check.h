/*
 * sum_check - whether what a profile counted can be added up in 64 bits. Where it
 * can, no sum over some of its rows passes them, whoever adds: shares of a whole
 * that stopped at 2^64 - 1 would be shares of nothing.
 */
#pragma once

struct error;
struct profile;

/*
 * The estimates of each event, by its name, and all other counts of each table
 * together; the bill aside, whose readers tell. A sum that merging stopped before
 * (base/sum.h) is found as well. Returns 0, -EOVERFLOW with a sentence that says
 * what passes 64 bits (the caller puts the profile's name before it), or -ENOMEM.
 */
int profile_check_sums(const struct profile *profile, struct error *err);
