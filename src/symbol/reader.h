/*
 * reader - reads other people's executables without trusting them. Two kinds of helper
 * processes do the work: one opens files (to read them, with what rights of ours
 * that takes; it parses nothing), one parses (without capabilities, files or
 * rights, with limits on memory and time). There are two of each where strangers' files are read
 * apart (reader_options.strange_bytes): a process that hangs or dies of a stranger's file does not
 * hold up other files. The parser asks us for further files that DWARF names (.dwo, dwz): it gets
 * regular ELF files with the usual names of debug information, and if we are root only those that
 * everybody may read. Both answer within a deadline or are killed and started anew: a FUSE mount
 * that never answers or a file made to crash a parser costs one message "could not be read: cause",
 * never the recording.
 *
 * Make it early, while the process is small and has no threads: helpers are
 * forks, and a wait() for any child would see them. They ignore the terminal's
 * signals and end with the reader. One thread at a time. A call costs 20 to 40 us
 * plus the work.
 *
 * Failures are about one file; the reader stays usable. -ETIMEDOUT: the deadline; or, for a
 * strange account, READER_STUCK_MOST processes wait already for file systems of its user that do
 * not answer. -EIO: the helper died. -EBUSY: a request to open a file was not received by a helper
 * until its deadline, twice, which says nothing about the file. -EDQUOT: the account has no time
 * left. Other codes are the cause itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"
#include "image/identity.h"
#include "symbol/gather_request.h"
#include "symbol/helper_process.h"
#include "symbol/reader_message.h"
#include "symbol/record.h"
#include "symbol/safe_open.h"

struct buffer;
struct error;
struct reader;

/*
 * An account pays for what is read: the time of requests is taken from it, and they end when it has
 * none left (-EDQUOT; further ones fail at once). So strangers cannot make a reader wait as long as
 * they like.
 */
struct reader_account {
	bool strange;	     /* its files are opened and read by helpers of their own */
	uint32_t user;	     /* whose it is, where it is strange */
	uint64_t left_ns;    /* of waiting; requests lower it */
	uint64_t request_ns; /* the most for one request; 0: all that is left */
	bool bounded;	     /* left_bytes counts although it is not strange */
	uint64_t left_bytes; /* of gathered records; requests lower it. Counts where strange or
				bounded */
};

/* How many processes of the reader may wait for one user's file systems in a way that only an
 * answer ends; after that nothing more of that user is opened. */
#define READER_STUCK_MOST 4u

struct reader_options {
	uint32_t open_timeout_ms;   /* 0: 2000; also for identities */
	uint32_t gather_timeout_ms; /* 0: 20000 */
	uint64_t max_file_bytes;    /* 0: 8 GiB */
	/* Memory, its own and of files, of the helper that reads strange accounts' files; 0: they
	 * are opened and read by the helpers of all others, which have 4 GiB of their own. */
	uint64_t strange_bytes;
	/* Called while an answer is waited for, and may end the request; borrowed; NULL: none. */
	const struct helper_watch *watch;
};

int reader_new(const struct reader_options *options, struct reader **out, struct error *err);
/* Begins to end the reader's processes, so that they end while the caller does something else;
 * those that read strangers' files are killed. Only reader_free() may follow. NULL does nothing. */
void reader_dismiss(struct reader *reader);
void reader_free(struct reader *reader);
void reader_freep(struct reader **reader); /* for CLEANUP() */
/* A set of enum confinement_layer: the layers that its helpers lack, as their answers said so far.
 */
uint32_t reader_layers_missing(const struct reader *reader);

/* Whether the processes that read, but for those of reader_begin_gather(), are scheduled before
 * usual ones, as helper_set_hasty() has it. */
void reader_set_hasty(struct reader *reader, enum helper_haste haste);
/* How long those of them that run now were ready and had no CPU, together, or HASTE_UNKNOWN. */
uint64_t reader_waited_ns(const struct reader *reader);
/* CPU time of its processes, so far. */
uint64_t reader_cpu_ns(const struct reader *reader);

/* The account that pays for requests from now on; borrowed. NULL: none, as at the beginning. */
void reader_charge(struct reader *reader, struct reader_account *account);

/*
 * As safe_open_path() and so on. A link as the last part of the path is followed for pid 0, but not
 * with OWNER_PROCESS, since somebody else may have made the link. A descriptor on which calls, even
 * close(), may wait for somebody (symbol/file_mount.h: FUSE, networks, an overlay over these) never
 * reaches this process: the helper that opens it copies the file into memory (up to 512 MB, else
 * -EFBIG) and hands over the copy.
 */
int reader_open_path(struct reader *reader, pid_t pid, const char *path, enum safe_owner owner,
		     struct safe_file *file, struct error *err);
int reader_open_of_user(struct reader *reader, pid_t pid, const char *path, enum safe_owner owner,
			uint32_t user, struct safe_file *file, struct error *err);
/* `root` is absolute. */
int reader_open_below(struct reader *reader, const char *root, const char *path,
		      struct safe_file *file, struct error *err);
int reader_open_executable(struct reader *reader, pid_t pid, struct safe_file *file,
			   struct error *err);
int reader_open_mapping(struct reader *reader, pid_t pid, uint64_t start, uint64_t end,
			struct safe_file *file, struct error *err);
/* A copy of the whole file in memory, whose fd the caller closes; -EFBIG when it has more than
 * `limit_bytes`. Only fd, size_bytes and `copied` of *copy are filled. */
int reader_copy(struct reader *reader, int fd, uint64_t limit_bytes, struct safe_file *copy,
		struct error *err);
/*
 * Appends a file of /proc about a process (or, with `tid`, about that thread of it), up to
 * `limit_bytes`. For these files the kernel takes locks that the process can hold as long as it
 * likes (in execve(), or by its memory), so they are read in a helper. What takes too long is cut
 * off. -ETIMEDOUT: nothing came within half a second; or within 50 ms where no account pays and
 * READER_SILENCE_MS were already spent on processes that did not answer.
 */
#define READER_SILENCE_MS 1000u
int reader_read_process(struct reader *reader, pid_t pid, pid_t tid, enum reader_process what,
			uint64_t limit_bytes, struct buffer *out, struct error *err);
/*
 * The separate debug file of an image, as `pid` sees it (0: as we do): by build-id below `root`
 * (NULL: /usr/lib/debug), then by .gnu_debuglink beside the image, in .debug there, and below
 * `root`. `path` is where the image lies, or NULL. Or the code of the last one that was tried,
 * -ENOENT when nothing names one. Since the image names it, only a file
 * is used that everybody may read or that belongs to `user`, who owns the image (OWNER_PUBLIC), and
 * that nobody can write who cannot write the image as well (writer_may_speak_for() of
 * image/writer.h for `writer`): its build-id is a claim, too.
 */
struct debug_search {
	pid_t pid;
	uint32_t user;
	uint64_t writer; /* READER_ANY_WRITER: none is passed over, for the user named the folder */
	const char *root;
};
#define READER_ANY_WRITER UINT64_MAX
int reader_open_debug(struct reader *reader, const struct debug_search *search,
		      const struct identity *identity, const char *path, struct safe_file *file,
		      struct error *err);

/* Where the file's segments lie, and the build-id that it claims. Quick, for when a mapping is
 * first seen. */
int reader_identify(struct reader *reader, int fd, struct identity *identity, struct error *err);
/* Likewise, with the hash of its content of that kind and `unique` (image/content_hash.h): up to
 * 64 MiB are read. */
int reader_identify_content(struct reader *reader, int fd, enum content_kind content,
			    struct span unique, struct identity *identity, struct error *err);
/* For content_hash(), bytes that the owner of a large file cannot choose: device, inode and time of
 * its last change. Where the file system may make these up they are random, so that no other file
 * has the same. */
#define READER_UNIQUE_BYTES 24
void reader_unique(const struct safe_file *file, uint8_t unique[READER_UNIQUE_BYTES]);

/*
 * Appends to `out` the records of the functions that hold `vaddrs` (rising, of
 * the file's own space). debug_fd is the separate debug file, or -1. `counts` may
 * be NULL. Records are checked: what a parser sends that a stranger's file took over
 * is trusted as little as the file. Same file, same vaddrs: same records. Names come first, then
 * code and flow, then lines: when it fails, `out` has what was complete by then.
 */
int reader_gather(struct reader *reader, int fd, int debug_fd, const uint64_t *vaddrs, size_t count,
		  unsigned int what, struct record_set *out, struct gather_counts *counts,
		  struct error *err);

/* Likewise; *done becomes the set of GATHER_* that is complete: all of wanted->what when 0 is
 * returned. */
int reader_gather_parts(struct reader *reader, const struct gather_request *wanted,
			struct record_set *out, unsigned int *done, struct gather_counts *counts,
			struct error *err);

/* Appends the table of unwind rules of an ELF file (unwind/frame_table.h), which is to be checked
 * before it is used; one of another machine has no rules. */
int reader_frame_table(struct reader *reader, int fd, struct buffer *out, struct error *err);

/*
 * The two halves of reader_gather_parts(), so that the process that reads strangers' files and the
 * one that reads all others work at the same time: one file of each lane may be under way. The
 * account that is charged decides the lane; it must be charged again when the file is ended. What
 * the request names is the caller's again once it has begun; `out` must stay until it is ended, or
 * the reader freed. Other calls may come between; one that needs the same process waits for the
 * file first. When beginning fails there is nothing to end.
 */
enum reader_lane { READER_OWN, READER_STRANGE, READER_LANES };
int reader_begin_parts(struct reader *reader, const struct gather_request *wanted,
		       struct record_set *out, struct error *err);
int reader_end_parts(struct reader *reader, enum reader_lane lane, unsigned int *done,
		     struct gather_counts *counts, struct error *err);
/* Returns a lane whose file has been read, so that ending it does not wait; READER_LANES: none is
 * under way. With READER_LOOK it does not wait, and returns -EAGAIN when none has been read yet. */
enum reader_patience { READER_LOOK, READER_WAIT };
int reader_await(struct reader *reader, enum reader_patience patience);
/* How long the lane's file may have been ready before anybody looked, while the caller did
 * something else. Its account does not pay for that time. */
uint64_t reader_unnoticed_ns(const struct reader *reader, enum reader_lane lane);

/*
 * The two halves of reader_gather(), so that files are read at the same time, each
 * by a process of its own: up to READER_GATHERS may have begun, and are ended in the
 * order in which they began. Other calls may come between. fds and vaddrs are the
 * caller's again once it has begun. When beginning fails there is nothing to end.
 */
#define READER_GATHERS 4u
int reader_begin_gather(struct reader *reader, int fd, int debug_fd, const uint64_t *vaddrs,
			size_t count, unsigned int what, struct error *err);
int reader_end_gather(struct reader *reader, struct record_set *out, struct gather_counts *counts,
		      struct error *err);

/* As reader_gather(), from bytes in our memory (the vdso). */
int reader_gather_bytes(struct reader *reader, struct span bytes, const uint64_t *vaddrs,
			size_t count, unsigned int what, struct record_set *out,
			struct gather_counts *counts, struct error *err);

/* Appends up to `limit_bytes` of a file (a perf map) from `offset` on to `out`; -EFBIG when it
 * holds more, and then `out` holds the first part. */
int reader_read(struct reader *reader, int fd, uint64_t offset, uint64_t limit_bytes,
		struct buffer *out, struct error *err);
