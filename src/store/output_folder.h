/*
 * output_folder - the folder that a file is to be written into, reached without
 * following a link that a stranger may have planted. Everything that is written
 * goes through the descriptor, so that nothing that happens to the path
 * afterwards matters.
 *
 * A link on the way is followed when it is the caller's, root's, or that of the
 * owner of the folder it lies in, unless that folder is sticky and everybody may
 * write into it: the rule of fs.protected_symlinks, for every component and
 * whatever the sysctl says.
 */
#pragma once

#include <stdbool.h>

struct error;
struct stat;

/* The part of `path` after its last slash. */
const char *output_base_name(const char *path);

/* Opens the folder that `path` lies in: a descriptor for reading, or a negative errno value with
 * *err.
 */
int output_folder_open(const char *path, struct error *err);

/*
 * Follows links in the last component of `path`, but only the caller's own and root's
 * (-ELOOP for others'); links of /proc stay, for they are no paths. Stores in *out the path
 * that results, which the caller frees; nothing need be there. Returns 0 or a negative
 * errno value with *err.
 */
int output_path_resolve(const char *path, char **out, struct error *err);

/* Whether the name `found` in the folder `folder` can be removed or replaced by us: in a sticky
 * folder others' cannot. */
bool output_may_replace(const struct stat *folder, const struct stat *found);

/* Whether everybody may make files there. */
bool output_is_public(const struct stat *folder);

/* Whether `name` in `folder` is the file that `fd` has open. */
bool output_is_named(int folder, const char *name, int fd);
