/*
 * size_check - whether a profile made from a stranger's file is within its budget
 * (base/budget.h) of what memory does not bound: stacks share nodes, so a small file can
 * describe stacks that take for ever to walk and to write.
 */
#pragma once

struct error;
struct profile;

/* Checks the depth of each stack, the frames of all stacks, and the length of names. Without an
 * open budget there is nothing to check. Returns 0, -EFBIG (refused) or -ENOMEM. */
int profile_check_budget(const struct profile *profile, struct error *err);
