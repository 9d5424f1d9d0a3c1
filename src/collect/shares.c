#include "collect/shares.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "image/writer.h"

#define TRUSTED_CONTEXTS 262144u /* 32 strangers' */
#define STATUS_BYTES	 1024	 /* of /proc/PID/status, which has users among the first lines */

#define FILE_PART     2u /* of a stranger's time one file may take one part in so many */
#define VISIT_MOST_NS UINT64_C(200000000) /* of a request */
#define SHARES_MOST   1024u		  /* users; user namespaces bring thousands */

#define FLOOR_PART	16u    /* of a share's limits, one part in so many */
#define FLOOR_TIME_PART 10u    /* of its time */
#define FLOORS_MOST	32u    /* users who have one: two shares more in all */
#define FLOORS_HIGH	8u     /* while fewer have one, a user with a high id gets one */
#define HIGH_USER	65536u /* subordinate ids lie above */

/*
 * What one stranger may have. Three halves of it for all together. No limit of one kind keeps the
 * recorder small, as somebody can reach all of them; so what is kept counts in bytes, too: of one
 * with what it becomes in the profile, in the indexes of both and while names are gathered, as
 * measured where nothing else is kept.
 */
static const struct {
	uint64_t most;
	uint64_t bytes;
} kinds[SHARE_KINDS] = {
	[SHARE_FILES] = { 4096, 1200 },	      [SHARE_MAPPINGS] = { 131072, 40 },
	[SHARE_CONTEXTS] = { 8192, 400 },     [SHARE_STACKS] = { 131072, 240 },
	[SHARE_PLACES] = { 131072, 240 },     [SHARE_EDGES] = { 65536, 280 },
	[SHARE_JIT_BYTES] = { 24u << 20, 1 },
};

#define STACK_BYTES 200u /* of a place, for the stack that leads to it */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t together(uint64_t one)
{
	return one + one / 2;
}

static uint64_t gather_time_ns(const struct shares *shares)
{
	return shares->limits.time_ns ? shares->limits.time_ns : SHARE_TIME_NS;
}

static uint64_t bytes_of(const struct shares *shares, enum share_of what, uint64_t amount)
{
	bool stacks = what == SHARE_PLACES && shares->limits.stacks;
	return amount * (kinds[what].bytes + (stacks ? STACK_BYTES : 0));
}

static void fill(const struct shares *shares, struct share *share, uint32_t user)
{
	*share = (struct share){ .user = user,
				 .strange = true,
				 .left_ns = { SHARE_READ_NS, gather_time_ns(shares),
					      gather_time_ns(shares) },
				 .stash_bytes = SHARE_STASH_BYTES,
				 .refilled_ns = clock_monotonic_ns() };
}

void shares_init(struct shares *shares, const struct share_limits *limits)
{
	*shares = (struct shares){ .limits = *limits };
	fill(shares, &shares->rest, SHARE_USER_UNKNOWN);
	fill(shares, &shares->together, SHARE_USER_UNKNOWN);
	fill(shares, &shares->ended, SHARE_USER_UNKNOWN);
	shares->ended.apart = true;
	shares->ended.strange = !limits->unlimited;
	shares->together.stash_bytes = together(SHARE_STASH_BYTES);
	for (int i = 0; i < SHARE_PURPOSES; i++)
		shares->together.left_ns[i] = together(shares->together.left_ns[i]);
	shares->own.user = geteuid();
}

void shares_release(struct shares *shares)
{
	size_t position = 0;
	for (struct share *share; (share = number_map_next(&shares->by_user, &position));)
		free(share);
	number_map_release(&shares->by_user);
}

static void fill_floor(const struct shares *shares, struct share *share)
{
	if (!share->floor)
		return;
	share->floor_ns[SHARE_GATHERING] = gather_time_ns(shares) / FLOOR_TIME_PART;
	share->floor_ns[SHARE_RUNNING] = share->floor_ns[SHARE_GATHERING];
	share->floor_bytes = SHARE_STASH_BYTES / FLOOR_PART;
}

static void give_floor(struct shares *shares, struct share *share)
{
	if (shares->floors >= (share->user < HIGH_USER ? FLOORS_MOST : FLOORS_HIGH))
		return;
	shares->floors++;
	share->floor = true;
	share->floor_ns[SHARE_READING] = SHARE_READ_NS / FLOOR_TIME_PART;
	fill_floor(shares, share);
}

struct share *shares_of_user(struct shares *shares, uint32_t user)
{
	if (shares->limits.unlimited || user == 0 || user == shares->own.user)
		return &shares->own;
	struct share *share = number_map_find(&shares->by_user, user);
	if (share)
		return share;
	if (shares->count >= SHARES_MOST)
		return &shares->rest;
	share = malloc(sizeof(*share));
	if (!share || number_map_put(&shares->by_user, user, share) < 0) {
		free(share);
		return &shares->rest;
	}
	fill(shares, share, user);
	give_floor(shares, share);
	shares->count++;
	return share;
}

struct share *shares_of_file(struct shares *shares, uint64_t writer)
{
	switch (writer_kind(writer)) {
	case WRITER_NOBODY:
		return &shares->own;
	case WRITER_USER:
		return shares_of_user(shares, (uint32_t)writer);
	default:
		return shares_of_user(shares, SHARE_USER_UNKNOWN);
	}
}

/* Real and effective user: "Uid:\t1000\t0\t0\t0". The name, which stands before, has no newline. */
static bool read_users(uint32_t pid, uint32_t users[2])
{
	char text[STATUS_BYTES];
	snprintf(text, sizeof(text), "/proc/%" PRIu32 "/status", pid);
	CLEANUP(close_fd) int fd = open(text, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (size <= 0)
		return false;
	text[size] = 0;
	const char *line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %" SCNu32 " %" SCNu32, &users[0], &users[1]) == 2;
}

struct share *shares_of_process(struct shares *shares, uint32_t pid)
{
	uint32_t users[2];
	if (shares->limits.unlimited)
		return &shares->own;
	if (!read_users(pid, users))
		return NULL;
	struct share *real = shares_of_user(shares, users[0]);
	return real->strange ? real : shares_of_user(shares, users[1]);
}

static bool fits(uint64_t held, uint64_t amount, uint64_t limit)
{
	return amount <= limit && held <= limit - amount;
}

/* What of it counts for all together. */
static uint64_t above_floor(const struct share *share, uint64_t held, uint64_t limit)
{
	uint64_t floor = share->floor ? limit / FLOOR_PART : 0;
	return held > floor ? held - floor : 0;
}

/* Whether a share that holds so much of what all together hold so much of has room. */
static bool has_room(const struct share *share, uint64_t held, uint64_t held_together,
		     uint64_t amount, uint64_t limit)
{
	if (!fits(held, amount, limit))
		return false;
	uint64_t more = above_floor(share, held + amount, limit) - above_floor(share, held, limit);
	return !more || fits(held_together, more, together(limit));
}

bool share_fits(const struct shares *shares, const struct share *share, enum share_of what,
		uint64_t amount)
{
	const struct share *all = &shares->together;
	if (!share->strange)
		return what != SHARE_CONTEXTS || shares->limits.unlimited ||
		       fits(share->held[what], amount, TRUSTED_CONTEXTS);
	return has_room(share, share->held[what], all->held[what], amount, kinds[what].most) &&
	       has_room(share, share->held_bytes, all->held_bytes, bytes_of(shares, what, amount),
			SHARE_KEPT_BYTES);
}

bool share_has_room(const struct shares *shares, const struct share *share, enum share_of what)
{
	return share_fits(shares, share, what, 1);
}

/* Of those who are trusted only what has a limit is counted. */
static void set_held(struct shares *shares, struct share *share, enum share_of what, uint64_t held)
{
	struct share *all = &shares->together;
	if (!share->strange) {
		share->held[what] = what == SHARE_CONTEXTS ? held : 0;
		return;
	}
	uint64_t bytes = share->held_bytes + bytes_of(shares, what, held) -
			 bytes_of(shares, what, share->held[what]);
	all->held[what] += above_floor(share, held, kinds[what].most) -
			   above_floor(share, share->held[what], kinds[what].most);
	all->held_bytes += above_floor(share, bytes, SHARE_KEPT_BYTES) -
			   above_floor(share, share->held_bytes, SHARE_KEPT_BYTES);
	share->held[what] = held;
	share->held_bytes = bytes;
}

bool share_take(struct shares *shares, struct share *share, enum share_of what, uint64_t amount)
{
	if (!share_fits(shares, share, what, amount)) {
		share->refused[what] += amount;
		return false;
	}
	share_hold(shares, share, what, amount);
	return true;
}

void share_hold(struct shares *shares, struct share *share, enum share_of what, uint64_t amount)
{
	set_held(shares, share, what, share->held[what] + amount);
}

void share_give_back(struct shares *shares, struct share *share, enum share_of what,
		     uint64_t amount)
{
	uint64_t given = amount < share->held[what] ? amount : share->held[what];
	set_held(shares, share, what, share->held[what] - given);
}

static void refill(struct share *share, uint64_t most_ns, uint64_t back_ns)
{
	uint64_t *left = &share->left_ns[SHARE_READING];
	uint64_t paid = least(back_ns, share->debt_ns);
	share->debt_ns -= paid;
	back_ns -= paid;
	*left = back_ns < most_ns - *left ? *left + back_ns : most_ns;
}

/* What passed since it was refilled last. */
static uint64_t take_elapsed(struct share *share, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - share->refilled_ns;
	share->refilled_ns = now_ns;
	return elapsed_ns;
}

/* All together have half as much again as one, at once and in the long run. */
static void refill_reading(struct shares *shares, struct share *share, uint64_t now_ns)
{
	struct share *all = &shares->together;
	uint64_t back_ns = take_elapsed(share, now_ns) / SHARE_READ_PART;
	uint64_t *floor_ns = &share->floor_ns[SHARE_READING];
	refill(share, SHARE_READ_NS, back_ns);
	refill(all, together(SHARE_READ_NS), together(take_elapsed(all, now_ns)) / SHARE_READ_PART);
	if (share->floor)
		*floor_ns = least(*floor_ns + back_ns / FLOOR_TIME_PART,
				  SHARE_READ_NS / FLOOR_TIME_PART);
}

static uint64_t time_left_ns(const struct shares *shares, const struct share *share,
			     enum share_purpose purpose)
{
	uint64_t left_ns = share->left_ns[purpose];
	return share->apart ? left_ns
			    : least(left_ns,
				    shares->together.left_ns[purpose] + share->floor_ns[purpose]);
}

static uint64_t stash_left(const struct shares *shares, const struct share *share)
{
	return share->apart ? share->stash_bytes
			    : least(share->stash_bytes,
				    shares->together.stash_bytes + share->floor_bytes);
}

static void take_stash(struct shares *shares, struct share *share, uint64_t gathered_bytes)
{
	share->stash_bytes -= gathered_bytes;
	if (share->apart)
		return;
	uint64_t common_bytes = least(gathered_bytes, shares->together.stash_bytes);
	shares->together.stash_bytes -= common_bytes;
	share->floor_bytes -= gathered_bytes - common_bytes;
}

void shares_charge(struct shares *shares, struct share *share, enum share_purpose purpose,
		   uint64_t request_ns, struct reader *reader)
{
	shares->payer = share;
	shares->purpose = purpose;
	shares->since_ns = clock_monotonic_ns();
	if (!share->strange) {
		if (reader)
			reader_charge(reader, NULL);
		return;
	}
	if (purpose == SHARE_READING)
		refill_reading(shares, share, shares->since_ns);
	shares->had_ns = time_left_ns(shares, share, purpose);
	if (shares->had_ns < SHARE_LEAST_NS)
		shares->had_ns = 0;
	/* What is trusted is read by those who read it for us. */
	shares->account = (struct reader_account){ .strange = purpose != SHARE_RUNNING,
						   .bounded = true,
						   .user = share->user,
						   .left_ns = shares->had_ns,
						   .request_ns = request_ns,
						   .left_bytes = stash_left(shares, share) };
	shares->had_bytes = shares->account.left_bytes;
	if (reader)
		reader_charge(reader, &shares->account);
}

void shares_settle(struct shares *shares, struct reader *reader)
{
	struct share *share = shares->payer;
	shares->payer = NULL;
	if (reader)
		reader_charge(reader, NULL);
	if (!share || !share->strange)
		return;
	take_stash(shares, share, shares->had_bytes - shares->account.left_bytes);
	share_spend(shares, share, shares->purpose, clock_monotonic_ns() - shares->since_ns);
}

void shares_leave(struct shares *shares, struct share_payment *payment, struct reader *reader)
{
	*payment = (struct share_payment){ .payer = shares->payer,
					   .purpose = shares->purpose,
					   .since_ns = shares->since_ns,
					   .had_ns = shares->had_ns,
					   .had_bytes = shares->had_bytes,
					   .account = shares->account };
	shares->payer = NULL;
	if (reader)
		reader_charge(reader, NULL);
}

void shares_return(struct shares *shares, const struct share_payment *payment,
		   uint64_t unnoticed_ns, struct reader *reader)
{
	shares->payer = payment->payer;
	shares->purpose = payment->purpose;
	shares->since_ns = payment->since_ns + unnoticed_ns;
	shares->had_ns = payment->had_ns;
	shares->had_bytes = payment->had_bytes;
	shares->account = payment->account;
	bool strange = payment->payer && payment->payer->strange;
	if (reader)
		reader_charge(reader, strange ? &shares->account : NULL);
}

struct share_visit shares_begin_visit(struct shares *shares, struct share *visited,
				      struct reader *reader)
{
	struct share_visit visit = { 0 };
	struct share *payer = shares ? shares->payer : NULL;
	bool runs = payer && payer->strange && shares->purpose == SHARE_RUNNING;
	if (!shares || !visited || !visited->strange || (payer && payer->strange && !runs))
		return visit;
	visit.payer = payer;
	visit.purpose = payer ? shares->purpose : SHARE_READING;
	visit.pays = true;
	if (runs)
		shares_leave(shares, &visit.left, reader);
	shares_charge(shares, visited, runs ? SHARE_GATHERING : visit.purpose, VISIT_MOST_NS,
		      reader);
	return visit;
}

void shares_end_visit(struct shares *shares, const struct share_visit *visit, struct reader *reader)
{
	if (!visit->pays)
		return;
	shares_settle(shares, reader);
	if (visit->left.payer)
		shares_return(shares, &visit->left, clock_monotonic_ns() - shares->since_ns,
			      reader);
	else if (visit->payer)
		shares_charge(shares, visit->payer, visit->purpose, 0, reader);
}

static void spend(struct share *share, enum share_purpose purpose, uint64_t spent_ns)
{
	uint64_t paid_ns = least(spent_ns, share->left_ns[purpose]);
	share->left_ns[purpose] -= paid_ns;
	if (purpose == SHARE_READING)
		share->debt_ns += spent_ns - paid_ns;
}

void share_spend(struct shares *shares, struct share *share, enum share_purpose purpose,
		 uint64_t spent_ns)
{
	if (!share->strange)
		return;
	spend(share, purpose, spent_ns);
	if (share->apart)
		return;
	uint64_t *floor_ns = &share->floor_ns[purpose];
	uint64_t beyond_ns = spent_ns - least(spent_ns, shares->together.left_ns[purpose]);
	uint64_t own_ns = least(beyond_ns, *floor_ns);
	*floor_ns -= own_ns;
	spend(&shares->together, purpose, spent_ns - own_ns);
}

uint64_t share_reading_left_ns(struct shares *shares, struct share *share)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (!share->strange)
		return UINT64_MAX;
	refill_reading(shares, share, now_ns);
	return time_left_ns(shares, share, SHARE_READING);
}

uint64_t shares_time_left_ns(const struct shares *shares)
{
	if (!shares->payer || !shares->payer->strange)
		return UINT64_MAX;
	uint64_t spent_ns = clock_monotonic_ns() - shares->since_ns;
	return shares->had_ns - least(spent_ns, shares->had_ns);
}

uint64_t share_gathering_left_ns(const struct shares *shares, const struct share *share,
				 enum share_purpose purpose)
{
	return share->strange ? time_left_ns(shares, share, purpose) : UINT64_MAX;
}

uint64_t share_file_ns(const struct shares *shares)
{
	return gather_time_ns(shares) / FILE_PART;
}

static void begin_epoch(struct share *share, uint64_t time_ns, uint64_t stash_bytes)
{
	share->left_ns[SHARE_GATHERING] = time_ns;
	share->left_ns[SHARE_RUNNING] = time_ns;
	share->stash_bytes = stash_bytes;
}

void shares_begin_epoch(struct shares *shares)
{
	uint64_t time_ns = gather_time_ns(shares);
	size_t position = 0;
	for (struct share *share; (share = number_map_next(&shares->by_user, &position));) {
		begin_epoch(share, time_ns, SHARE_STASH_BYTES);
		fill_floor(shares, share);
	}
	begin_epoch(&shares->rest, time_ns, SHARE_STASH_BYTES);
	begin_epoch(&shares->ended, time_ns, SHARE_STASH_BYTES);
	begin_epoch(&shares->together, together(time_ns), together(SHARE_STASH_BYTES));
}

static void take_refused(struct share *share, uint64_t refused[SHARE_KINDS])
{
	for (int i = 0; i < SHARE_KINDS; i++) {
		refused[i] += share->refused[i];
		share->refused[i] = 0;
	}
}

void shares_take_refused(struct shares *shares, uint64_t refused[SHARE_KINDS])
{
	size_t position = 0;
	memset(refused, 0, SHARE_KINDS * sizeof(refused[0]));
	for (struct share *share; (share = number_map_next(&shares->by_user, &position));)
		take_refused(share, refused);
	take_refused(&shares->own, refused);
	take_refused(&shares->rest, refused);
	take_refused(&shares->ended, refused);
}
