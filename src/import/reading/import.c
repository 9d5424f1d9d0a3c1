#include "import/reading/import.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/formats.h"
#include "import/text/other_text.h"
#include "import/reading/unpack.h"

#define PIECE_BYTES (128u << 10)

/* One file on its way to its reader. The first unpacked bytes wait in `head` until they are enough
 * to recognise the format. */
struct intake {
	struct import_options options;
	const struct importer *format;
	void *reader;
	struct buffer head;
	bool stopped; /* at a fault of the packing, with options->force */
};

static void intake_release(struct intake *intake)
{
	if (intake->format && intake->reader)
		intake->format->close(intake->reader);
	buffer_release(&intake->head);
}

static int refuse(const void *bytes, size_t size, struct error *err)
{
	if (size == 0)
		return error_set(err, -EPROTO, "the file is empty");
	if (memchr(bytes, 0, size))
		return error_set(err, -EPROTO, "this is of no format that culprit knows");
	size_t blank = 0;
	while (blank < size && strchr(" \t\r\n", ((const char *)bytes)[blank]))
		blank++;
	if (blank == size)
		return error_set(err, -EPROTO, "there is nothing but blank lines in the file");
	const struct other_text *other = other_text_find((struct span){ bytes, size });
	if (other && other->instead)
		return error_set(err, -EPROTO, "this looks like %s; %s", other->what,
				 other->instead);
	if (other)
		return error_set(err, -EPROTO,
				 "this looks like %s, of which culprit makes no profile",
				 other->what);
	return error_set(err, -EPROTO,
			 "this text is of no format that culprit knows; in folded text, a line is "
			 "'frame;frame;frame COUNT'");
}

/* The first bytes, IMPORT_HEAD_BYTES of them or all there are. */
static int begin(struct intake *intake, const void *bytes, size_t size, struct error *err)
{
	if (!intake->format) {
		intake->format = importer_find(bytes, size);
		intake->options.recognised = true;
	}
	if (!intake->format)
		return refuse(bytes, size, err);
	if (intake->format->open(&intake->options, &intake->reader) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return intake->format->feed(intake->reader, bytes, size, err);
}

static int take_unpacked(void *context, const void *bytes, size_t size, struct error *err)
{
	struct intake *intake = context;
	if (intake->reader)
		return intake->format->feed(intake->reader, bytes, size, err);
	if (intake->head.size == 0 && size >= IMPORT_HEAD_BYTES)
		return begin(intake, bytes, size, err);
	buffer_append(&intake->head, bytes, size);
	if (buffer_failed(&intake->head))
		return error_set(err, -ENOMEM, "out of memory");
	return intake->head.size < IMPORT_HEAD_BYTES
		       ? 0
		       : begin(intake, intake->head.data, intake->head.size, err);
}

/* What is packed wrongly, or cut off, is a fault like any other. */
static int fault_of_packing(struct intake *intake, int ret, struct error *err)
{
	if (ret != -EBADMSG || !intake->options.force)
		return ret;
	intake->stopped = true;
	struct error fault = *err;
	return import_fault(&intake->options, ret, err, "%s", fault.text);
}

static int read_pieces(int fd, struct buffer *head, struct intake *intake,
		       struct unpacker *unpacker, struct error *err)
{
	CLEANUP(buffer_release) struct buffer room = { 0 };
	uint8_t *piece = buffer_extend(&room, PIECE_BYTES);
	if (!piece)
		return error_set(err, -ENOMEM, "out of memory");
	const uint8_t *bytes = head->data;
	size_t size = head->size;
	uint64_t at = 0;
	while (!intake->stopped) {
		if (size) {
			uint64_t content = budget_content_bytes(bytes, size);
			budget_read(content);
			budget_place("byte", at += size);
			int ret = unpacker ? unpacker_feed(unpacker, bytes, size, err)
					   : take_unpacked(intake, bytes, size, err);
			if (intake->format)
				budget_grant(content * intake->format->density);
			if (ret < 0)
				return unpacker ? fault_of_packing(intake, ret, err) : ret;
		}
		ssize_t got = read(fd, piece, PIECE_BYTES);
		if (got < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot read: %s", strerror(errno));
		if (got == 0)
			return 0;
		bytes = piece;
		size = got < 0 ? 0 : (size_t)got;
	}
	return 0;
}

int import_read(int fd, struct buffer *head, const struct importer *format,
		const struct import_options *options, struct profile **out, struct error *err)
{
	CLEANUP(intake_release) struct intake intake = { .options = *options, .format = format };
	CLEANUP(unpacker_freep) struct unpacker *unpacker = NULL;
	enum packing packing = packing_of(head->data, head->size);
	struct error fault = { 0 }; /* always filled, unlike *err */
	if (packing != PACKING_NONE && unpacker_new(packing, take_unpacked, &intake, &unpacker) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = read_pieces(fd, head, &intake, unpacker, &fault);
	if (ret == 0 && unpacker && !intake.stopped)
		ret = unpacker_finish(unpacker, &fault);
	if (ret == -EBADMSG && unpacker && !intake.stopped)
		ret = fault_of_packing(&intake, ret, &fault);
	if (ret == 0 && !intake.reader)
		ret = begin(&intake, intake.head.data, intake.head.size, &fault);
	if (ret == 0)
		ret = intake.format->finish(intake.reader, out, &fault);
	return ret < 0 ? error_set(err, ret, "%s", fault.text) : 0;
}

static int keep_head(void *context, const void *bytes, size_t size, struct error *err)
{
	(void)err;
	struct buffer *head = context;
	buffer_append(head, bytes, size);
	if (buffer_failed(head))
		return -ENOMEM;
	return head->size < IMPORT_HEAD_BYTES ? 0 : -ECANCELED; /* enough */
}

bool import_recognise(const void *head, size_t size)
{
	enum packing packing = packing_of(head, size);
	if (packing == PACKING_NONE)
		return importer_find(head, size) != NULL;
	CLEANUP(buffer_release) struct buffer inner = { 0 };
	CLEANUP(unpacker_freep) struct unpacker *unpacker = NULL;
	if (unpacker_new(packing, keep_head, &inner, &unpacker) < 0)
		return false;
	unpacker_feed(unpacker, head, size, NULL); /* as far as it goes */
	return importer_find(inner.data, inner.size) != NULL;
}
