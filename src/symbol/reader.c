#include "symbol/reader_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "image/writer.h"
#include "symbol/reader_helper.h"
#include "symbol/reader_message.h"

#define OPEN_TIMEOUT_MS	     2000
#define GATHER_TIMEOUT_MS    20000
#define FILE_MAX_BYTES	     ((uint64_t)8 << 30)
#define TIME_USED_UP	     "was not read: its user's time for that is used up"
#define STRANGE_ANSWER_BYTES ((uint64_t)16 << 20)

int reader_new(const struct reader_options *options, struct reader **out, struct error *err)
{
	CLEANUP(reader_freep) struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return error_set(err, -ENOMEM, "out of memory");
	if (options)
		reader->options = *options;
	if (!reader->options.open_timeout_ms)
		reader->options.open_timeout_ms = OPEN_TIMEOUT_MS;
	if (!reader->options.gather_timeout_ms)
		reader->options.gather_timeout_ms = GATHER_TIMEOUT_MS;
	if (!reader->options.max_file_bytes)
		reader->options.max_file_bytes = FILE_MAX_BYTES;
	reader->opener.run = reader_helper_open;
	reader->strange_opener.run = reader_helper_open;
	reader->parser.run = reader_helper_parse;
	reader->strange_parser.run = reader_helper_parse_strange;
	reader->strange_parser.most_resident_bytes = reader->options.strange_bytes;
	reader->strange_parser.most_answer_bytes = STRANGE_ANSWER_BYTES;
	const struct helper_watch *owner = reader->options.watch;
	reader->watch = (struct helper_watch){ .wake_fd = owner ? owner->wake_fd : -1,
					       .look = reader_look,
					       .context = reader };
	if (owner || reader->options.strange_bytes)
		reader->opener.watch = reader->parser.watch = reader->strange_opener.watch =
			reader->strange_parser.watch = &reader->watch;
	for (size_t i = 0; i < READER_GATHERS; i++)
		reader->gatherers[i].run = reader_helper_parse;
	int ret = helper_start(&reader->opener, err);
	if (ret == 0)
		ret = helper_start(&reader->parser, err);
	if (ret == 0 && reader->options.strange_bytes)
		ret = helper_start(&reader->strange_opener, err);
	if (ret == 0 && reader->options.strange_bytes)
		ret = helper_start(&reader->strange_parser, err);
	if (ret < 0)
		return ret;
	*out = reader;
	reader = NULL;
	return 0;
}

void reader_dismiss(struct reader *reader)
{
	if (!reader)
		return;
	helper_dismiss(&reader->opener);
	helper_dismiss(&reader->parser);
	helper_kill_later(&reader->strange_opener);
	helper_kill_later(&reader->strange_parser);
	for (size_t i = 0; i < READER_GATHERS; i++)
		helper_dismiss(&reader->gatherers[i]);
}

void reader_free(struct reader *reader)
{
	if (!reader)
		return;
	struct helper *ours[] = { &reader->opener, &reader->parser, &reader->strange_opener,
				  &reader->strange_parser };
	/* All of them first, so that they end at the same time. */
	reader_dismiss(reader);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		helper_stop(ours[i]);
	for (size_t i = 0; i < READER_GATHERS; i++)
		helper_stop(&reader->gatherers[i]);
	free(reader);
}

void reader_freep(struct reader **reader)
{
	reader_free(*reader);
}

uint32_t reader_layers_missing(const struct reader *reader)
{
	uint32_t missing = reader->opener.layers_missing | reader->parser.layers_missing |
			   reader->strange_opener.layers_missing |
			   reader->strange_parser.layers_missing;
	for (size_t i = 0; i < READER_GATHERS; i++)
		missing |= reader->gatherers[i].layers_missing;
	return missing;
}

void reader_set_hasty(struct reader *reader, enum helper_haste haste)
{
	helper_set_hasty(&reader->opener, haste);
	helper_set_hasty(&reader->parser, haste);
	helper_set_hasty(&reader->strange_opener, haste);
	helper_set_hasty(&reader->strange_parser, haste);
}

uint64_t reader_waited_ns(const struct reader *reader)
{
	const struct helper *helpers[] = { &reader->opener, &reader->parser,
					   &reader->strange_opener, &reader->strange_parser };
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		uint64_t waited_ns = helper_waited_ns(helpers[i]);
		if (waited_ns == HASTE_UNKNOWN)
			return HASTE_UNKNOWN;
		sum_ns += waited_ns;
	}
	return sum_ns;
}

uint64_t reader_cpu_ns(const struct reader *reader)
{
	uint64_t ns = helper_cpu_ns(&reader->opener) + helper_cpu_ns(&reader->parser) +
		      helper_cpu_ns(&reader->strange_opener) +
		      helper_cpu_ns(&reader->strange_parser);
	for (size_t i = 0; i < READER_GATHERS; i++)
		ns += helper_cpu_ns(&reader->gatherers[i]);
	return ns;
}

void reader_charge(struct reader *reader, struct reader_account *account)
{
	reader->account = account;
}

static bool is_for_strangers(const struct reader *reader)
{
	return reader->account && reader->account->strange && reader->options.strange_bytes;
}

enum reader_lane reader_lane_of(const struct reader *reader)
{
	return is_for_strangers(reader) ? READER_STRANGE : READER_OWN;
}

struct helper *reader_parser_of(struct reader *reader)
{
	return is_for_strangers(reader) ? &reader->strange_parser : &reader->parser;
}

int reader_begin_payment(const struct reader_account *account, uint32_t timeout_ms,
			 struct payment *payment, struct error *err)
{
	*payment = (struct payment){ .begin_ns = clock_monotonic_ns(), .timeout_ms = timeout_ms };
	if (account && !account->left_ns)
		return error_set(err, -EDQUOT, TIME_USED_UP);
	if (account) {
		uint64_t most_ns = account->request_ns && account->request_ns < account->left_ns
					   ? account->request_ns
					   : account->left_ns;
		uint64_t most_ms = most_ns / 1000000 + 1;
		payment->timeout_ms = most_ms < timeout_ms ? (uint32_t)most_ms : timeout_ms;
	}
	payment->end_ns = payment->begin_ns + payment->timeout_ms * UINT64_C(1000000);
	return 0;
}

uint32_t reader_time_left_ms(const struct payment *payment)
{
	uint64_t now_ns = clock_monotonic_ns();
	return now_ns < payment->end_ns ? (uint32_t)((payment->end_ns - now_ns) / 1000000) + 1 : 0;
}

void reader_pay(struct reader_account *account, struct payment *payment)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t spent_ns = now_ns - payment->begin_ns;
	if (account)
		account->left_ns -= spent_ns < account->left_ns ? spent_ns : account->left_ns;
	payment->begin_ns = now_ns;
}

void reader_wait_for_turn(struct reader *reader, const struct helper *helper)
{
	for (int lane = 0; lane < READER_LANES; lane++)
		if (reader->calls[lane].helper == helper)
			reader_complete_call(reader, &reader->calls[lane]);
}

static int ask(struct reader *reader, struct helper *helper, struct message *request,
	       uint32_t timeout_ms, struct message *answer, struct error *err)
{
	struct payment payment;
	reader_wait_for_turn(reader, helper);
	int ret = reader_begin_payment(reader->account, timeout_ms, &payment, err);
	if (ret < 0)
		return ret;
	ret = helper_ask(helper, request, payment.timeout_ms, answer, err);
	reader_pay(reader->account, &payment);
	return ret;
}

struct open_question {
	enum reader_operation operation;
	pid_t pid;
	enum safe_owner owner;
	uint32_t user;
	enum safe_link link;
	uint64_t start, end;
	const char *path;
	const char *root; /* NULL: none */
};

int reader_ask_opener(struct reader *reader, struct message *request, uint32_t timeout_ms,
		      struct message *answer, struct error *err)
{
	bool strange = is_for_strangers(reader);
	struct helper *opener = strange ? &reader->strange_opener : &reader->opener;
	opener->user = strange ? reader->account->user : SAFE_NO_USER;
	if (strange && helper_stuck(opener, opener->user) >= READER_STUCK_MOST)
		return error_set(err, -ETIMEDOUT,
				 "was not opened: %u processes wait already for what its user's "
				 "file systems do not answer",
				 READER_STUCK_MOST);
	/* When the account has less than one request may take, a timeout means it is used up. */
	bool cut = reader->account && reader->account->left_ns < reader->account->request_ns;
	int ret = ask(reader, opener, request, timeout_ms, answer, err);
	if (ret == -ETIMEDOUT && opener->untaken)
		ret = ask(reader, opener, request, timeout_ms, answer, err);
	if (ret == -ETIMEDOUT && opener->untaken)
		return error_set(err, -EBUSY, "was not opened: nobody took up the request");
	return ret == -ETIMEDOUT && cut ? error_set(err, -EDQUOT, TIME_USED_UP) : ret;
}

/* Asks the opener for a descriptor. The request is emptied. */
static int ask_file(struct reader *reader, struct message *request, struct safe_file *file,
		    struct error *err)
{
	struct message answer;
	int ret = reader_ask_opener(reader, request, reader->options.open_timeout_ms, &answer, err);
	buffer_release(&request->payload);
	if (ret < 0)
		return ret;
	if (answer.payload.size != sizeof(*file) || answer.header.fd_count != 1) {
		message_release(&answer);
		return error_set(err, -EIO,
				 "could not be read: the helper's answer makes no sense");
	}
	memcpy(file, answer.payload.data, sizeof(*file));
	file->fd = answer.fds[0];
	answer.header.fd_count = 0; /* the caller's from here on */
	message_release(&answer);
	return 0;
}

static int ask_open(struct reader *reader, const struct open_question *question,
		    struct safe_file *file, struct error *err)
{
	struct message request = { .header.operation = question->operation };
	buffer_append_u64(&request.payload, (uint64_t)question->pid);
	buffer_append_u64(&request.payload, reader->options.max_file_bytes);
	buffer_append_u64(&request.payload, question->owner);
	buffer_append_u64(&request.payload, question->user);
	buffer_append_u64(&request.payload, question->link);
	buffer_append_u64(&request.payload, question->start);
	buffer_append_u64(&request.payload, question->end);
	const char *const texts[] = { question->path, question->root };
	for (size_t i = 0; i < 2; i++) {
		if (texts[i])
			buffer_append_text(&request.payload, texts[i]);
		buffer_append_u8(&request.payload, 0);
	}
	return ask_file(reader, &request, file, err);
}

int reader_open_path(struct reader *reader, pid_t pid, const char *path, enum safe_owner owner,
		     struct safe_file *file, struct error *err)
{
	return reader_open_of_user(reader, pid, path, owner, SAFE_NO_USER, file, err);
}

int reader_open_of_user(struct reader *reader, pid_t pid, const char *path, enum safe_owner owner,
			uint32_t user, struct safe_file *file, struct error *err)
{
	return ask_open(reader,
			&(struct open_question){
				.operation = OPERATION_OPEN_PATH,
				.pid = pid,
				.owner = owner,
				.user = user,
				.link = pid || owner == OWNER_PROCESS ? LINK_REFUSE : LINK_FOLLOW,
				.path = path },
			file, err);
}

int reader_open_below(struct reader *reader, const char *root, const char *path,
		      struct safe_file *file, struct error *err)
{
	return ask_open(reader,
			&(struct open_question){ .operation = OPERATION_OPEN_BELOW,
						 .link = LINK_FOLLOW,
						 .path = path,
						 .root = root },
			file, err);
}

int reader_open_executable(struct reader *reader, pid_t pid, struct safe_file *file,
			   struct error *err)
{
	return ask_open(
		reader,
		&(struct open_question){ .operation = OPERATION_OPEN_EXECUTABLE, .pid = pid }, file,
		err);
}

int reader_open_mapping(struct reader *reader, pid_t pid, uint64_t start_address,
			uint64_t end_address, struct safe_file *file, struct error *err)
{
	return ask_open(reader,
			&(struct open_question){ .operation = OPERATION_OPEN_MAPPING,
						 .pid = pid,
						 .start = start_address,
						 .end = end_address },
			file, err);
}

int reader_copy(struct reader *reader, int fd, uint64_t limit_bytes, struct safe_file *copy,
		struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_COPY, .fd_count = 1 },
				   .fds = { fd } };
	buffer_append_u64(&request.payload, limit_bytes);
	return ask_file(reader, &request, copy, err);
}

int reader_open_debug_at(struct reader *reader, const struct debug_search *search, const char *path,
			 struct safe_file *file, struct error *err)
{
	int ret = ask_open(reader,
			   &(struct open_question){ .operation = OPERATION_OPEN_PATH,
						    .pid = search->pid,
						    .owner = OWNER_PUBLIC,
						    .user = search->user,
						    .link = LINK_FOLLOW,
						    .path = path },
			   file, err);
	if (ret < 0 || search->writer == READER_ANY_WRITER ||
	    writer_may_speak_for(file->writer, search->writer))
		return ret;
	close(file->fd);
	char who[WRITER_TEXT_BYTES];
	writer_text(file->writer, who);
	return error_set(err, -EPERM, "'%s' can be written by %s, unlike the file it is of", path,
			 who);
}

static void put_build_id_path(struct buffer *path, const char *root,
			      const struct identity *identity)
{
	buffer_printf(path, "%s/.build-id/%02x/", root, identity->build_id[0]);
	buffer_append_hex(path, identity->build_id + 1, identity->build_id_bytes - 1);
	buffer_append_text(path, ".debug");
}

/* gdb's order: beside the file, below .debug, below the debug root. */
static int open_by_link(struct reader *reader, const struct debug_search *search, const char *root,
			const struct identity *identity, const char *path, struct safe_file *file,
			struct error *err)
{
	const char *slash = strrchr(path, '/');
	int folder_size = slash ? (int)(slash - path) : 0;
	const char *const formats[][2] = { { "", "" }, { "", "/.debug" }, { root, "" } };
	int ret = -ENOENT;
	for (size_t i = 0; i < 3 && ret < 0; i++) {
		struct buffer candidate = { 0 };
		buffer_printf(&candidate, "%s%.*s%s/%s", formats[i][0], folder_size, path,
			      formats[i][1], identity->debug_link);
		/* The link may name the file itself. */
		if (strcmp(buffer_text(&candidate), path) != 0)
			ret = reader_open_debug_at(reader, search, buffer_text(&candidate), file,
						   err);
		buffer_release(&candidate);
	}
	return ret;
}

int reader_open_debug(struct reader *reader, const struct debug_search *search,
		      const struct identity *identity, const char *path, struct safe_file *file,
		      struct error *err)
{
	const char *root = search->root ? search->root : "/usr/lib/debug";
	int ret = error_set(err, -ENOENT, "no debug file is named by a build-id or link");
	if (identity->build_id_bytes > 1) {
		struct buffer name = { 0 };
		put_build_id_path(&name, root, identity);
		ret = reader_open_debug_at(reader, search, buffer_text(&name), file, err);
		buffer_release(&name);
	}
	if (ret < 0 && identity->debug_link[0] && path)
		ret = open_by_link(reader, search, root, identity, path, file, err);
	return ret;
}

void reader_unique(const struct safe_file *file, uint8_t unique[READER_UNIQUE_BYTES])
{
	const uint64_t known[] = { file->device, file->inode, (uint64_t)file->changed_ns };
	_Static_assert(sizeof(known) == READER_UNIQUE_BYTES, "three numbers");
	memcpy(unique, known, sizeof(known));
	if (writer_kind(file->writer) == WRITER_MOUNTER &&
	    getrandom(unique, READER_UNIQUE_BYTES, 0) != READER_UNIQUE_BYTES)
		memcpy(unique, known, sizeof(known));
}

int reader_identify(struct reader *reader, int fd, struct identity *identity, struct error *err)
{
	return reader_identify_content(reader, fd, CONTENT_NONE, (struct span){ NULL, 0 }, identity,
				       err);
}

int reader_frame_table(struct reader *reader, int fd, struct buffer *out, struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_FRAME_TABLE, .fd_count = 1 },
				   .fds = { fd } };
	struct message answer;
	int ret = ask(reader, reader_parser_of(reader), &request, reader->options.gather_timeout_ms,
		      &answer, err);
	if (ret < 0)
		return ret;
	buffer_append(out, answer.payload.data, answer.payload.size);
	message_release(&answer);
	return buffer_failed(out) ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int reader_identify_content(struct reader *reader, int fd, enum content_kind content,
			    struct span unique, struct identity *identity, struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_IDENTIFY,
					       .what = (uint32_t)content,
					       .fd_count = 1 },
				   .fds = { fd } };
	struct message answer;
	buffer_append(&request.payload, unique.data, unique.size);
	int ret = ask(reader, reader_parser_of(reader), &request, reader->options.open_timeout_ms,
		      &answer, err);
	buffer_release(&request.payload);
	if (ret < 0)
		return ret;
	if (answer.payload.size == sizeof(*identity)) {
		memcpy(identity, answer.payload.data, sizeof(*identity));
		if (identity->build_id_bytes > sizeof(identity->build_id) ||
		    identity->segment_count > IDENTITY_MAX_SEGMENTS || identity->content != content)
			ret = -EIO;
		identity->debug_link[sizeof(identity->debug_link) - 1] = 0;
		if (strchr(identity->debug_link, '/'))
			ret = -EIO;
	} else {
		ret = -EIO;
	}
	message_release(&answer);
	return ret < 0 ? error_set(err, ret,
				   "could not be read: the helper's answer makes no sense")
		       : 0;
}

int reader_read(struct reader *reader, int fd, uint64_t offset, uint64_t limit_bytes,
		struct buffer *out, struct error *err)
{
	struct message request = { .header = { .operation = OPERATION_READ, .fd_count = 1 },
				   .fds = { fd } };
	struct message answer;
	if (limit_bytes >= MESSAGE_MAX_BYTES)
		limit_bytes = MESSAGE_MAX_BYTES - 1;
	buffer_append_u64(&request.payload, limit_bytes);
	buffer_append_u64(&request.payload, offset);
	int ret = ask(reader, reader_parser_of(reader), &request, reader->options.gather_timeout_ms,
		      &answer, err);
	buffer_release(&request.payload);
	if (ret < 0)
		return ret;
	size_t size = answer.payload.size < limit_bytes ? answer.payload.size : (size_t)limit_bytes;
	buffer_append(out, answer.payload.data, size);
	if (answer.payload.size > limit_bytes)
		ret = error_set(err, -EFBIG, "it has more than the %" PRIu64 " bytes that are read",
				limit_bytes);
	message_release(&answer);
	return buffer_failed(out) ? error_set(err, -ENOMEM, "out of memory") : ret;
}
