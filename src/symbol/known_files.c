#include "symbol/known_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "image/writer.h"
#include "symbol/reader.h"

#define CONTENT_KINDS (CONTENT_OLD + 1)

struct file_key {
	uint64_t device, inode, size_bytes, changed_ns;
};

/* The remembered answer for one kind of content. */
struct known_content {
	bool asked;
	int code;
	struct hash128 hash;
};

struct known_file {
	struct file_key key;
	struct known_content contents[CONTENT_KINDS];
	struct identity *identity; /* cut behind its last segment; NULL: never identified */
};

void known_files_init(struct known_files *files, struct reader *reader)
{
	*files = (struct known_files){ .reader = reader };
}

void known_files_release(struct known_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->list[i]->identity);
		free(files->list[i]);
	}
	free(files->list);
	hash_index_release(&files->index);
	known_files_init(files, NULL);
}

static bool same_file(const void *rows, uint32_t position, const void *wanted)
{
	const struct known_file *const *list = rows;
	return memcmp(&list[position]->key, wanted, sizeof(struct file_key)) == 0;
}

/* NULL when out of memory. */
static struct known_file *find(struct known_files *files, const struct safe_file *file)
{
	const struct file_key key = { file->device, file->inode, file->size_bytes,
				      (uint64_t)file->changed_ns };
	uint64_t hash = hash_bytes(&key, sizeof(key));
	uint32_t position = hash_index_find(&files->index, hash, same_file, files->list, &key);
	if (position != HASH_INDEX_NONE)
		return files->list[position];
	struct known_file *known = calloc(1, sizeof(*known));
	if (!known ||
	    array_reserve(&files->list, &files->capacity, files->count, sizeof(known)) < 0 ||
	    hash_index_add(&files->index, hash, (uint32_t)files->count) < 0) {
		free(known);
		return NULL;
	}
	known->key = key;
	files->list[files->count++] = known;
	return known;
}

static int ask(struct known_files *files, const struct safe_file *file, enum content_kind content,
	       struct identity *identity)
{
	uint8_t unique[READER_UNIQUE_BYTES];
	struct span bytes = { NULL, 0 };
	if (content != CONTENT_NONE) {
		reader_unique(file, unique);
		bytes = (struct span){ unique, sizeof(unique) };
	}
	files->asked++;
	return reader_identify_content(files->reader, file->fd, content, bytes, identity, NULL);
}

/* Whether the next attempt may end in another way. */
static bool may_change(int code)
{
	return code == -ENOMEM || code == -EDQUOT || code == -ECANCELED;
}

static void remember(struct known_file *known, enum content_kind content, int code,
		     const struct identity *identity)
{
	struct known_content *answer = &known->contents[content];
	if (may_change(code))
		return;
	if (code == 0 && !known->identity) {
		size_t size = offsetof(struct identity, segments) +
			      identity->segment_count * sizeof(identity->segments[0]);
		known->identity = malloc(size);
		if (!known->identity)
			return;
		memcpy(known->identity, identity, size);
	}
	*answer = (struct known_content){ .asked = true, .code = code };
	if (code == 0)
		answer->hash = identity->hash;
}

static int recall(const struct known_file *known, enum content_kind content,
		  struct identity *identity)
{
	const struct known_content *answer = &known->contents[content];
	if (answer->code < 0)
		return answer->code;
	*identity = (struct identity){ 0 };
	memcpy(identity, known->identity,
	       offsetof(struct identity, segments) +
		       known->identity->segment_count * sizeof(identity->segments[0]));
	identity->hash = answer->hash;
	identity->content = (uint8_t)content;
	return 0;
}

int known_files_identify(struct known_files *files, const struct safe_file *file,
			 enum content_kind content, struct identity *identity)
{
	if (writer_kind(file->writer) == WRITER_MOUNTER)
		return ask(files, file, content, identity);
	struct known_file *known = find(files, file);
	if (!known)
		return -ENOMEM;
	if (known->contents[content].asked)
		return recall(known, content, identity);
	int code = ask(files, file, content, identity);
	remember(known, content, code, identity);
	return code;
}
