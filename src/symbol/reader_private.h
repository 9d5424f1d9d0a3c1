/*
 * reader_private - what the files of the reader share: its processes, the payment for a request,
 * and what is being gathered.
 */
#pragma once

#include "base/error.h"
#include "symbol/reader.h"
#include "symbol/reader_message.h"

/* The time of a request, which is taken from its account. */
struct payment {
	uint64_t begin_ns; /* the time before is paid for */
	uint64_t end_ns;   /* its deadline */
	uint32_t timeout_ms;
};

/* A file of a lane that is being gathered, and what has come of it so far. */
struct reader_call {
	struct helper *helper; /* NULL: nothing is under way */
	bool answered;	       /* it is done, with `result` */
	bool in_step;	       /* a part of its answer is being taken: not to be entered again */
	int result;
	struct error err;
	struct reader_account account; /* of who was charged when it began */
	bool charged;
	struct payment payment;
	struct record_set *out;
	unsigned int done;
	struct gather_counts counts;
	uint64_t total_bytes;
	uint64_t busy_ns; /* when it was last seen at work */
	uint64_t unnoticed_ns;
};

struct reader {
	struct reader_options options;
	struct helper_watch watch; /* of those processes: reader_look() */
	struct helper opener;
	struct helper parser;
	struct helper strange_opener, strange_parser; /* of strange accounts' files */
	struct reader_account *account;
	uint64_t unanswered_ns; /* spent on processes that did not answer, where no account paid */
	struct reader_call calls[READER_LANES];
	struct helper gatherers[READER_GATHERS]; /* a ring; started when first needed */
	size_t gather_first, gather_count;	 /* begun and not ended */
};

enum reader_lane reader_lane_of(const struct reader *reader);
struct helper *reader_parser_of(struct reader *reader);

/* Completes the call that is under way with the helper, if there is one, so that its answer is not
 * taken for that of the next request. */
void reader_wait_for_turn(struct reader *reader, const struct helper *helper);

/* 0, or -EDQUOT when there is nothing left to pay with. */
int reader_begin_payment(const struct reader_account *account, uint32_t timeout_ms,
			 struct payment *payment, struct error *err);
uint32_t reader_time_left_ms(const struct payment *payment);
/* Takes the time since the request began, or was paid last, from the account. */
void reader_pay(struct reader_account *account, struct payment *payment);

/*
 * Asks the helper that opens files. A helper that broke its deadline is gone, and one that answered
 * has closed what may block before; so when a request was not received until its deadline, the
 * machine was too busy, and it is made once more.
 */
int reader_ask_opener(struct reader *reader, struct message *request, uint32_t timeout_ms,
		      struct message *answer, struct error *err);

/* Opens `path` by the rules of reader_open_debug(), at the expense of the account. */
int reader_open_debug_at(struct reader *reader, const struct debug_search *search, const char *path,
			 struct safe_file *file, struct error *err);

/* Waits for all parts of the call's answer, and takes them. */
void reader_complete_call(struct reader *reader, struct reader_call *call);
/* The `look` of the reader's own helper_watch: while one helper is waited for it takes the answers
 * of the others and holds them to their limits. Returns what the owner's watch returns. */
int reader_look(void *reader);
