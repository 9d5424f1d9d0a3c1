/*
 * reader_private - what the files of the reader share: its processes, who pays for a request, and
 * what is being gathered.
 */
#pragma once

#include "base/error.h"
#include "symbol/reader.h"
#include "symbol/reader_message.h"

/* A request and what it takes of its account. */
struct payment {
	uint64_t begin_ns; /* what came before is paid for */
	uint64_t end_ns;   /* its deadline */
	uint32_t timeout_ms;
};

/* What was asked of a process that parses, and what came of it so far. */
struct reader_call {
	struct helper *helper; /* NULL: nothing is under way */
	bool answered;	       /* nothing more comes: `result` */
	bool in_step;	       /* somebody takes what came of it */
	int result;
	struct error err;
	struct reader_account account; /* of who was charged when it began */
	bool charged;
	struct payment payment;
	struct record_set *out;
	unsigned int done;
	struct gather_counts counts;
	uint64_t total_bytes;
	uint64_t busy_ns; /* it was at work still, as far as anybody looked */
	uint64_t unnoticed_ns;
};

struct reader {
	struct reader_options options;
	struct helper_watch watch; /* of those processes: reader_look() */
	struct helper opener;
	struct helper parser;
	struct helper strange_opener, strange_parser; /* of strange accounts' files */
	struct reader_account *account;
	uint64_t unanswered_ns; /* waited for processes that did not answer, at nobody's expense */
	struct reader_call calls[READER_LANES];
	struct helper gatherers[READER_GATHERS]; /* a ring; started when first needed */
	size_t gather_first, gather_count;	 /* begun and not ended */
};

enum reader_lane reader_lane_of(const struct reader *reader);
struct helper *reader_parser_of(struct reader *reader);

/* What is under way with the helper comes first, or its answer would be taken for the next one's.
 */
void reader_wait_for_turn(struct reader *reader, const struct helper *helper);

/* 0, or -EDQUOT when there is nothing left to pay with. */
int reader_begin_payment(const struct reader_account *account, uint32_t timeout_ms,
			 struct payment *payment, struct error *err);
uint32_t reader_time_left_ms(const struct payment *payment);
/* For the time since it began or was paid last. */
void reader_pay(struct reader_account *account, struct payment *payment);

/*
 * Asks who opens files. One that broke the deadline with its last request is gone, and closed what
 * may block before it answered the one before; so a request that was not taken up has nobody but
 * the machine to blame, and is made once more.
 */
int reader_ask_opener(struct reader *reader, struct message *request, uint32_t timeout_ms,
		      struct message *answer, struct error *err);

/* The path is looked for as debug information is, for the account. */
int reader_open_debug_at(struct reader *reader, const struct debug_search *search, const char *path,
			 struct safe_file *file, struct error *err);

/* Takes all that comes of the call. */
void reader_complete_call(struct reader *reader, struct reader_call *call);
/* A helper_watch's, while one of them is waited for: what the others answer is taken, and they are
 * held to their limits. Tells what the owner says. */
int reader_look(void *reader);
