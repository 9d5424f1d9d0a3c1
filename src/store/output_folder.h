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

/* After its last slash. */
const char *output_base_name(const char *path);

/* The folder of `path`, open for reading: a descriptor, or a negative errno value with *err. */
int output_folder_open(const char *path, struct error *err);

/*
 * Where a file of that name really lies: as `path`, with links in its last
 * component followed, but only the caller's own and root's (-ELOOP for others').
 * Links of /proc stay: they are no paths. Also of a name that is not there.
 * Returns 0 and a path that the caller frees, or a negative errno value with *err.
 */
int output_path_resolve(const char *path, char **out, struct error *err);

/* Whether the name `found` in the folder `folder` can be removed or replaced by us: in a sticky
 * folder others' cannot. */
bool output_may_replace(const struct stat *folder, const struct stat *found);

/* Everybody may make files there. */
bool output_is_public(const struct stat *folder);

/* `name` in `folder` is what `fd` has open. */
bool output_is_named(int folder, const char *name, int fd);
