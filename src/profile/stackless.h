/*
 * stackless - a profile without its stacks, for who looks at the code alone that samples fell into
 * (table "flat") and would carry who called it along.
 */
#pragma once

struct profile;

/* Takes the stacks out, and the nodes where nothing else refers to them. 0; or -ENOMEM, and the
 * profile stays as it is. */
int profile_drop_stacks(struct profile *profile);
