/*
 * sum_check - whether the counts of a profile can be added up in 64 bits. Where the
 * sum of all rows can, no sum over some of them passes 64 bits; shares of a total that
 * stopped at 2^64 - 1 would mean nothing.
 */
#pragma once

struct error;
struct profile;

/*
 * Adds up the estimates of each event name, and each other column of sums over its
 * table; not the bill, whose readers report that themselves. Finds a count that
 * saturated when merging (base/sum.h) too. Returns 0, -EOVERFLOW with a sentence that says
 * what passes 64 bits (the caller puts the profile's name before it), or -ENOMEM.
 */
int profile_check_sums(const struct profile *profile, struct error *err);
