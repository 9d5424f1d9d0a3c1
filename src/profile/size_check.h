/*
 * size_check - whether a profile that was made of a stranger's file is within its
 * budget (base/budget.h) where memory does not say so: a stack's nodes are shared, so
 * a small file can describe stacks that take for ever to walk and to write.
 */
#pragma once

struct error;
struct profile;

/* Depth of each stack, frames of all of them, length of names. Nothing without an open budget.
 * Returns 0, -EFBIG (refused) or -ENOMEM. */
int profile_check_budget(const struct profile *profile, struct error *err);
