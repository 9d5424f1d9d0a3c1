/*
 * database_lock - who may write in a database, between processes of one machine. Locks end with
 * their process, however that ends. Where a file system has none, each function says what follows.
 */
#pragma once

#include <stdint.h>

struct error;

/*
 * The lock on DB/images. Whoever closes an epoch holds it with others, from looking at which
 * records the packs have until the epoch's file is there: so whoever holds it alone can tell which
 * packs no epoch needs.
 */
enum database_lock { DATABASE_LOCK_SHARED, DATABASE_LOCK_ALONE };
/*
 * Returns a descriptor that holds it until it is closed; -EBUSY when another holds it for longer
 * than `patience_ns`; -ENOENT when there is no stash; -ENOTSUP where there are no locks; or another
 * negative errno value. Without a message.
 */
int database_lock_images(const char *database, enum database_lock how, uint64_t patience_ns);

/*
 * A claim: that one process alone records this host into this database, as a daemon does, or
 * `record` of the whole machine: a second one is refused, and nothing is counted twice. Others may
 * read, prune and copy meanwhile. Who makes no claim is not kept out, as a recording of one
 * process, which is another recording beside it.
 *
 * It is a lock on the file DB/HOST/.claim, which stays and says which process had it last; folders
 * are made as needed. A file system without locks is an error, as it is for recording. Returns a
 * descriptor that holds the claim until it is closed; -EBUSY when another process has it, which
 * *err names; or another negative errno value with *err.
 */
int database_claim(const char *database, const char *host, struct error *err);
