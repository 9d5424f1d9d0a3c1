/*
 * names_here - names of code that is being sampled on this machine, part by part: each address is
 * looked for in this machine's files once, when it is first seen, and what is found is kept as
 * records of that part's stash. Where a report made again and again would read all files each time,
 * this reads those with new code.
 */
#pragma once

struct error;
struct names_here;
struct profile;
struct resolver_options;

/* NULL: out of memory. The options are copied, but for their texts, which are borrowed; names alone
 * are looked for. */
struct names_here *names_here_new(const struct resolver_options *options);
void names_here_free(struct names_here *names); /* NULL does nothing */
/*
 * Adds to the stash of a part the functions of its addresses that no part before had functions of,
 * and which were not looked for before. What cannot be read stays unnamed. 0, or -ENOMEM with *err.
 */
int names_here_add(struct names_here *names, struct profile *part, struct error *err);
