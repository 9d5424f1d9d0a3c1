#include "symbol/reader_private.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "symbol/reader_message.h"

static int decode_records(const struct message *answer, struct record_set *out,
			  struct gather_counts *counts, struct error *err)
{
	struct cursor cursor = cursor_of(answer->payload.data, answer->payload.size);
	if (answer->payload.size == 0)
		return 0; /* a part without records: it only says what is complete */
	const void *counted = cursor_take(&cursor, sizeof(*counts));
	if (counted)
		memcpy(counts, counted, sizeof(*counts));
	while (cursor_left(&cursor) > 0) {
		struct record record = { .kind = cursor_varint(&cursor) };
		record.first = cursor_varint(&cursor);
		record.last = cursor_varint(&cursor);
		record.content.size = cursor_varint(&cursor);
		record.content.data = cursor_take(&cursor, record.content.size);
		const char *fault = cursor.failed ? NULL : record_fault(&record);
		if (fault == record_no_memory)
			return error_set(err, -ENOMEM, "out of memory");
		if (cursor.failed || fault)
			break;
		if (record_set_add(out, record.kind, record.first, record.last, record.content) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if (cursor.failed || cursor_left(&cursor) > 0)
		return error_set(err, -EIO,
				 "could not be read: the helper's answer makes no sense");
	return 0;
}

static int send_gather(struct helper *helper, const struct gather_request *wanted,
		       uint32_t timeout_ms, struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_GATHER,
					       .what = wanted->what,
					       .fd_count = wanted->debug_fd >= 0 ? 2 : 1 },
				   .fds = { wanted->fd, wanted->debug_fd } };
	buffer_append(&request.payload, wanted->vaddrs, wanted->count * sizeof(*wanted->vaddrs));
	int ret = helper_send(helper, &request, timeout_ms, err);
	buffer_release(&request.payload);
	return ret;
}

/* Whether the path has the name of a file that compilers or dwz put parts of DWARF into. */
static bool is_part_of_dwarf(const char *path)
{
	static const char *const ends[] = { ".dwo", ".dwp", ".debug" };
	static const char debug_root[] = "/usr/lib/debug/";
	size_t size = strlen(path);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (size > strlen(ends[i]) && strcmp(path + size - strlen(ends[i]), ends[i]) == 0)
			return true;
	return strncmp(path, debug_root, sizeof(debug_root) - 1) == 0;
}

/*
 * A file that the parser wants since a binary names it. Whoever wrote that binary may have taken
 * the parser over, so nothing but debug information is handed to it, and as root only
 * what everybody may read. It may be one of root's binaries too, so nobody but root and we can
 * have written it.
 */
static int open_part(struct reader *reader, const char *path, struct safe_file *file,
		     struct error *err)
{
	struct stat info;
	char magic[4];
	if (path[0] != '/' || !is_part_of_dwarf(path))
		return error_set(err, -EPERM, "'%s' is no part of debug information", path);
	const struct debug_search search = { .user = SAFE_NO_USER };
	int ret = reader_open_debug_at(reader, &search, path, file, err);
	if (ret < 0)
		return ret;
	if (pread(file->fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    memcmp(magic, "\177ELF", sizeof(magic)) == 0 && fstat(file->fd, &info) == 0 &&
	    (geteuid() != 0 || (info.st_mode & S_IROTH)))
		return 0;
	close(file->fd);
	return error_set(err, -EPERM, "'%s' is not for everybody to read, or no ELF file", path);
}

static int answer_question(struct reader *reader, struct helper *helper, struct message *question,
			   uint32_t timeout_ms, struct error *err)
{
	struct message answer = { 0 };
	struct safe_file file = { .fd = -1 };
	char link[64], path[4096];
	buffer_append_u8(&question->payload, 0);
	if (question->header.operation == OPERATION_WANT_FILE &&
	    !buffer_failed(&question->payload)) {
		answer.header.code =
			open_part(reader, buffer_text(&question->payload), &file, NULL);
		answer.header.fd_count = answer.header.code == 0;
		answer.fds[0] = file.fd;
	} else if (question->header.operation == OPERATION_WANT_NAME &&
		   question->header.fd_count == 1) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", question->fds[0]);
		ssize_t size = readlink(link, path, sizeof(path));
		answer.header.code = size < 0 ? -errno : 0;
		buffer_append(&answer.payload, path, size < 0 ? 0 : (size_t)size);
	} else {
		answer.header.code = -EBADMSG;
	}
	message_release(question);
	int ret = helper_send(helper, &answer, timeout_ms, err);
	message_release(&answer);
	return ret;
}

static struct reader_account *payer_of(struct reader_call *call)
{
	return call->charged ? &call->account : NULL;
}

static bool has_limit_of_bytes(const struct reader_call *call)
{
	return call->charged && (call->account.strange || call->account.bounded);
}

static void end_call(struct reader_call *call, int result)
{
	if (result == -ETIMEDOUT)
		error_set(&call->err, result, "could not be read: no answer within %" PRIu32 " ms",
			  call->payment.timeout_ms);
	call->answered = true;
	call->result = result;
	if (has_limit_of_bytes(call))
		call->account.left_bytes -= call->total_bytes;
	record_set_sort(call->out);
}

/* Ends what is under way, and its process. */
static void give_up(struct reader_call *call, int cause)
{
	end_call(call, helper_give_up(call->helper, cause, call->payment.timeout_ms, &call->err));
}

/* Takes one part of the answer of the parser. */
static int take_part(struct reader_call *call, const struct message *part, bool more)
{
	uint64_t most_bytes =
		has_limit_of_bytes(call) ? call->account.left_bytes : MESSAGE_MAX_BYTES;
	int ret =
		part->payload.size > most_bytes - call->total_bytes
			? error_set(&call->err, -EFBIG, "the sampled functions have too much code")
			: decode_records(part, call->out, &call->counts, &call->err);
	if (ret == 0) {
		call->total_bytes += part->payload.size;
		call->done = part->header.what;
	}
	/* Its further parts would be taken for the next answer. */
	if (ret < 0 && more)
		helper_kill(call->helper);
	return ret;
}

/* Receives the next message: a part of the answer, or a question of the parser, which is answered.
 * All messages of a call together have one deadline. */
static void take_next(struct reader *reader, struct reader_call *call)
{
	struct reader_account *payer = reader->account;
	struct message answer;
	bool more = false;
	uint32_t left_ms = reader_time_left_ms(&call->payment);
	call->in_step = true;
	reader->account = payer_of(call);
	int ret = helper_receive_part(call->helper, left_ms, &answer, &more, &call->err);
	if (ret == 0 && answer.header.operation) {
		more = true;
		/* opening what it asks for is a request that pays for itself */
		reader_pay(payer_of(call), &call->payment);
		ret = answer_question(reader, call->helper, &answer, left_ms, &call->err);
		call->payment.begin_ns = clock_monotonic_ns();
	} else if (ret == 0) {
		ret = take_part(call, &answer, more);
		message_release(&answer);
	}
	reader_pay(payer_of(call), &call->payment);
	reader->account = payer;
	call->in_step = false;
	call->busy_ns = call->payment.begin_ns;
	if (ret < 0 || !more)
		end_call(call, ret);
}

void reader_complete_call(struct reader *reader, struct reader_call *call)
{
	while (!call->answered)
		take_next(reader, call);
}

static int begin_call(struct reader *reader, struct helper *helper,
		      const struct gather_request *wanted, struct record_set *out,
		      struct reader_call *call, struct error *err)
{
	*call = (struct reader_call){ .out = out, .charged = reader->account != NULL };
	if (reader->account)
		call->account = *reader->account;
	int ret = reader_begin_payment(reader->account, reader->options.gather_timeout_ms,
				       &call->payment, err);
	if (ret < 0)
		return ret;
	ret = send_gather(helper, wanted, call->payment.timeout_ms, err);
	reader_pay(payer_of(call), &call->payment);
	if (ret == 0)
		call->helper = helper;
	else if (reader->account)
		*reader->account = call->account;
	call->busy_ns = call->payment.begin_ns;
	return ret;
}

static int finish_call(struct reader *reader, struct reader_call *call, unsigned int *done,
		       struct gather_counts *counts, struct error *err)
{
	reader_complete_call(reader, call);
	call->helper = NULL;
	*done = call->done;
	if (counts)
		*counts = call->counts;
	if (call->result < 0 && err)
		*err = call->err;
	if (call->charged && reader->account) {
		reader->account->left_ns = call->account.left_ns;
		reader->account->left_bytes = call->account.left_bytes;
	}
	return call->result;
}

int reader_begin_parts(struct reader *reader, const struct gather_request *wanted,
		       struct record_set *out, struct error *err)
{
	struct reader_call *call = &reader->calls[reader_lane_of(reader)];
	assert(!call->helper);
	return begin_call(reader, reader_parser_of(reader), wanted, out, call, err);
}

int reader_end_parts(struct reader *reader, enum reader_lane lane, unsigned int *done,
		     struct gather_counts *counts, struct error *err)
{
	assert(reader->calls[lane].helper);
	return finish_call(reader, &reader->calls[lane], done, counts, err);
}

uint64_t reader_unnoticed_ns(const struct reader *reader, enum reader_lane lane)
{
	return reader->calls[lane].unnoticed_ns;
}

static bool is_at_work(const struct reader_call *call)
{
	return call->helper && !call->answered && !call->in_step;
}

/* Does not charge the time in which the answer may have been there and nobody looked. */
static void notice(struct reader_call *call, uint64_t looked_ns)
{
	uint64_t unnoticed_ns = looked_ns - call->busy_ns;
	call->unnoticed_ns += unnoticed_ns;
	call->payment.begin_ns += unnoticed_ns;
	call->payment.end_ns += unnoticed_ns;
}

/* Takes the next message, if one has come (true), or holds the helper to its limits. */
static bool tend(struct reader *reader, struct reader_call *call)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (!is_at_work(call))
		return false;
	if (helper_answers(call->helper)) {
		notice(call, now_ns);
		take_next(reader, call);
		return true;
	}
	call->busy_ns = now_ns;
	if (helper_is_too_large(call->helper))
		give_up(call, -ENOBUFS);
	else if (!reader_time_left_ms(&call->payment))
		give_up(call, -ETIMEDOUT);
	return false;
}

static bool tend_all(struct reader *reader)
{
	bool came = false;
	for (int lane = 0; lane < READER_LANES; lane++)
		came |= tend(reader, &reader->calls[lane]);
	return came;
}

static int ask_owner(const struct reader *reader)
{
	const struct helper_watch *owner = reader->options.watch;
	return owner && owner->look ? owner->look(owner->context) : 0;
}

int reader_look(void *context)
{
	struct reader *reader = context;
	tend_all(reader);
	return ask_owner(reader);
}

/* Waits until a message comes, or it is time for another look. */
static void wait_for_any(struct reader *reader)
{
	struct pollfd fds[READER_LANES + 1] = { { .fd = reader->watch.wake_fd, .events = POLLIN } };
	uint32_t wait_ms = MESSAGE_LOOK_MS;
	for (int lane = 0; lane < READER_LANES; lane++) {
		const struct reader_call *call = &reader->calls[lane];
		bool waits = is_at_work(call);
		uint32_t left_ms = waits ? reader_time_left_ms(&call->payment) : wait_ms;
		fds[lane + 1].fd = waits ? call->helper->socket : -1;
		fds[lane + 1].events = POLLIN;
		wait_ms = left_ms < wait_ms ? left_ms : wait_ms;
	}
	poll(fds, READER_LANES + 1, (int)wait_ms); /* when it fails, as if the time had passed */
	for (int lane = 0; lane < READER_LANES; lane++)
		reader->calls[lane].busy_ns = clock_monotonic_ns();
}

/* A lane that has been answered; READER_LANES: none is under way; -EAGAIN: none is answered yet. */
static int find_answered(const struct reader *reader)
{
	int found = READER_LANES;
	for (int lane = 0; lane < READER_LANES; lane++) {
		if (reader->calls[lane].helper && reader->calls[lane].answered)
			return lane;
		if (reader->calls[lane].helper)
			found = -EAGAIN;
	}
	return found;
}

int reader_await(struct reader *reader, enum reader_patience patience)
{
	int lane = find_answered(reader);
	while (lane == -EAGAIN) {
		int ret = ask_owner(reader);
		for (int i = 0; ret < 0 && i < READER_LANES; i++)
			if (is_at_work(&reader->calls[i]))
				give_up(&reader->calls[i], ret);
		bool came = tend_all(reader);
		lane = find_answered(reader);
		if (lane != -EAGAIN || (!came && patience == READER_LOOK))
			break;
		if (!came)
			wait_for_any(reader);
	}
	return lane;
}

int reader_gather_parts(struct reader *reader, const struct gather_request *wanted,
			struct record_set *out, unsigned int *done, struct gather_counts *counts,
			struct error *err)
{
	struct reader_call call;
	struct helper *helper = reader_parser_of(reader);
	*done = 0;
	reader_wait_for_turn(reader, helper);
	int ret = begin_call(reader, helper, wanted, out, &call, err);
	return ret < 0 ? ret : finish_call(reader, &call, done, counts, err);
}

int reader_gather(struct reader *reader, int fd, int debug_fd, const uint64_t *vaddrs, size_t count,
		  unsigned int what, struct record_set *out, struct gather_counts *counts,
		  struct error *err)
{
	unsigned int done;
	return reader_gather_parts(reader,
				   &(struct gather_request){ fd, debug_fd, vaddrs, count, what },
				   out, &done, counts, err);
}

int reader_begin_gather(struct reader *reader, int fd, int debug_fd, const uint64_t *vaddrs,
			size_t count, unsigned int what, struct error *err)
{
	size_t at = (reader->gather_first + reader->gather_count) % READER_GATHERS;
	assert(reader->gather_count < READER_GATHERS);
	int ret = send_gather(&reader->gatherers[at],
			      &(struct gather_request){ fd, debug_fd, vaddrs, count, what },
			      reader->options.gather_timeout_ms, err);
	if (ret == 0)
		reader->gather_count++;
	return ret;
}

int reader_end_gather(struct reader *reader, struct record_set *out, struct gather_counts *counts,
		      struct error *err)
{
	struct helper *helper = &reader->gatherers[reader->gather_first];
	assert(reader->gather_count > 0);
	reader->gather_first = (reader->gather_first + 1) % READER_GATHERS;
	reader->gather_count--;
	struct reader_call call = { .helper = helper,
				    .out = out,
				    .charged = reader->account != NULL };
	unsigned int done;
	if (reader->account)
		call.account = *reader->account;
	int ret = reader_begin_payment(reader->account, reader->options.gather_timeout_ms,
				       &call.payment, err);
	if (ret < 0) {
		helper_kill(helper); /* or its answer would be taken for the next one's */
		return ret;
	}
	return finish_call(reader, &call, &done, counts, err);
}

int reader_gather_bytes(struct reader *reader, struct span bytes, const uint64_t *vaddrs,
			size_t count, unsigned int what, struct record_set *out,
			struct gather_counts *counts, struct error *err)
{
	CLEANUP(close_fd) int fd = memfd_create("culprit", MFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot make room in memory: %s", strerror(errno));
	for (size_t at = 0; at < bytes.size;) {
		ssize_t put = write(fd, (const uint8_t *)bytes.data + at, bytes.size - at);
		if (put < 0)
			return error_set(err, -errno, "cannot make room in memory: %s",
					 strerror(errno));
		at += (size_t)put;
	}
	return reader_gather(reader, fd, -1, vaddrs, count, what, out, counts, err);
}
