#include "symbol/binary_finder.h"

#include <errno.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/known_files.h"
#include "symbol/reader.h"

#define SMALLEST_ELF_BYTES 64

/* A file of symfs. */
struct listed {
	const char *path;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
};

struct binary_finder {
	struct reader *reader;
	struct known_files known;
	struct binary_finder_options options;
	char *symfs; /* absolute; NULL: none, or not there */
	uint32_t symfs_owner;
	bool listed, gave_up;
	struct listed *list;
	size_t count, capacity;
	struct arena arena;
};

int binary_finder_new(struct reader *reader, const struct binary_finder_options *options,
		      struct binary_finder **out)
{
	struct binary_finder *finder = calloc(1, sizeof(*finder));
	if (!finder)
		return -ENOMEM;
	finder->reader = reader;
	known_files_init(&finder->known, reader);
	finder->options = *options;
	/* the reader's helpers have another working directory */
	finder->symfs = options->symfs ? realpath(options->symfs, NULL) : NULL;
	struct stat folder;
	finder->symfs_owner =
		finder->symfs && stat(finder->symfs, &folder) == 0 ? folder.st_uid : SAFE_NO_USER;
	*out = finder;
	return 0;
}

void binary_finder_free(struct binary_finder *finder)
{
	if (!finder)
		return;
	known_files_release(&finder->known);
	free(finder->symfs);
	free(finder->list);
	arena_release(&finder->arena);
	free(finder);
}

void binary_finder_freep(struct binary_finder **finder)
{
	binary_finder_free(*finder);
}

bool binary_finder_gave_up(const struct binary_finder *finder)
{
	return finder->gave_up;
}

static size_t without_zeros(const uint8_t *bytes, size_t size)
{
	while (size && bytes[size - 1] == 0)
		size--;
	return size;
}

static bool same_bytes(struct span wanted, const uint8_t *bytes, size_t size)
{
	size_t wanted_size = without_zeros(wanted.data, wanted.size);
	size = without_zeros(bytes, size);
	return wanted_size && wanted_size == size && memcmp(wanted.data, bytes, size) == 0;
}

bool binary_same_build_id(struct span build_id, const struct identity *identity)
{
	return same_bytes(build_id, identity->build_id, identity->build_id_bytes);
}

static bool can_be_compared(const struct binary_wanted *wanted)
{
	return wanted->hash.size || without_zeros(wanted->build_id.data, wanted->build_id.size) > 0;
}

/* Which files may be used. */
enum choice {
	TAKE_NAMED,   /* any: the user named the folder */
	TAKE_TRUSTED, /* those that only root and we can write */
	TAKE_ANY,     /* others too, where that does no harm */
};

static bool has_content(struct binary_finder *finder, const struct safe_file *file,
			enum content_kind kind, struct span hash, struct identity *identity)
{
	return known_files_identify(&finder->known, file, kind, identity) == 0 &&
	       hash.size == sizeof(identity->hash) &&
	       memcmp(hash.data, &identity->hash, sizeof(identity->hash)) == 0;
}

/* The identity was read; it is read again when its content counts. */
static bool is_same_build(struct binary_finder *finder, const struct binary_wanted *wanted,
			  const struct safe_file *file, enum choice choice,
			  struct identity *identity)
{
	bool has_id = without_zeros(wanted->build_id.data, wanted->build_id.size) > 0;
	if (has_id && !binary_same_build_id(wanted->build_id, identity))
		return false;
	if (wanted->hash.size == 0)
		return choice != TAKE_TRUSTED || file->writer == 0;
	if (wanted->writer)
		return has_content(finder, file, CONTENT_FILE, wanted->hash, identity);
	if (choice != TAKE_NAMED && file->writer)
		return false;
	return has_content(finder, file, CONTENT_TEXT, wanted->hash, identity) ||
	       (!has_id && has_content(finder, file, CONTENT_OLD, wanted->hash, identity));
}

/* A folder's links may lead out of it, as far as everybody may follow them. */
static int open_candidate(struct binary_finder *finder, const char *path, struct safe_file *file)
{
	size_t size = finder->symfs ? strlen(finder->symfs) : 0;
	if (size == 0 || strncmp(path, finder->symfs, size) != 0 || path[size] != '/')
		return reader_open_path(finder->reader, 0, path, OWNER_ANY, file, NULL);
	if (reader_open_below(finder->reader, finder->symfs, path + size, file, NULL) == 0)
		return 0;
	if (strstr(path + size, "/../"))
		return -EXDEV; /* the recorded path itself leads out of the folder */
	return reader_open_path(finder->reader, 0, path, OWNER_PUBLIC, file, NULL);
}

/* Opens `path` when it is an executable of that build. The caller has checked that a name is
 * enough when nothing can be compared. */
static bool take(struct binary_finder *finder, const struct binary_wanted *wanted,
		 enum choice choice, const char *path, struct binary_found *found)
{
	struct safe_file file;
	if (open_candidate(finder, path, &file) < 0)
		return false;
	found->owner = file.owner;
	found->by_name = !can_be_compared(wanted);
	if (known_files_identify(&finder->known, &file, CONTENT_NONE, &found->identity) == 0 &&
	    found->identity.has_code &&
	    (found->by_name || is_same_build(finder, wanted, &file, choice, &found->identity))) {
		found->fd = file.fd;
		found->writer = choice == TAKE_NAMED ? READER_ANY_WRITER : file.writer;
		found->path.size = 0;
		buffer_append_text(&found->path, path);
		return true;
	}
	close(file.fd);
	return false;
}

__attribute__((format(printf, 5, 6))) static bool
take_at(struct binary_finder *finder, const struct binary_wanted *wanted, enum choice choice,
	struct binary_found *found, const char *format, ...)
{
	char path[4096];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	return size > 0 && (size_t)size < sizeof(path) && take(finder, wanted, choice, path, found);
}

/* In ROOT/.build-id/xx/yyyy: the file itself or its debug file's neighbour, and what perf's cache
 * has: a folder with "elf" or "vdso" in it. */
static bool take_by_build_id(struct binary_finder *finder, const struct binary_wanted *wanted,
			     enum choice choice, const char *root, struct binary_found *found)
{
	static const char *const names[] = { "", "/elf", "/vdso", ".debug" };
	/* as files are named by it: 20 bytes, or fewer without the zeros that only fill */
	size_t sizes[] = { without_zeros(wanted->build_id.data, wanted->build_id.size),
			   wanted->build_id.size };
	for (size_t s = 0; s < 2; s++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		if (sizes[s] < 2 || (s && sizes[1] == sizes[0]))
			continue;
		buffer_append_hex(&text, wanted->build_id.data, sizes[s]);
		const char *digits = buffer_text(&text);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (take_at(finder, wanted, choice, found, "%s/.build-id/%.2s/%s%s", root,
				    digits, digits + 2, names[i]))
				return true;
	}
	return false;
}

static int add_listed(struct binary_finder *finder, const char *path)
{
	struct safe_file file;
	struct identity identity;
	if (open_candidate(finder, path, &file) < 0)
		return 0;
	int ret = known_files_identify(&finder->known, &file, CONTENT_NONE, &identity);
	close(file.fd);
	if (ret < 0 || !identity.has_code)
		return 0;
	if (array_reserve(&finder->list, &finder->capacity, finder->count, sizeof(*finder->list)) <
	    0)
		return -ENOMEM;
	struct listed *listed = &finder->list[finder->count];
	*listed = (struct listed){ .path = arena_copy_text(&finder->arena, path, strlen(path)),
				   .build_id_bytes = identity.build_id_bytes };
	memcpy(listed->build_id, identity.build_id, identity.build_id_bytes);
	if (!listed->path)
		return -ENOMEM;
	finder->count++;
	return 0;
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
	return strcmp((*left)->fts_name, (*right)->fts_name);
}

/* Every ELF file of symfs, once. Links are not followed, nor are other file systems entered. */
static int list_symfs(struct binary_finder *finder)
{
	if (finder->listed)
		return 0;
	finder->listed = true;
	char *roots[] = { finder->symfs, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
	if (!walk)
		return errno == ENOMEM ? -ENOMEM : 0;
	int ret = 0;
	size_t files = 0;
	for (FTSENT *entry; ret == 0 && (entry = fts_read(walk));) {
		if (entry->fts_info != FTS_F || entry->fts_statp->st_size < SMALLEST_ELF_BYTES)
			continue;
		if (++files > BINARY_FINDER_MAX_FILES) {
			finder->gave_up = true;
			break;
		}
		ret = add_listed(finder, entry->fts_path);
	}
	fts_close(walk);
	return ret;
}

static int take_listed(struct binary_finder *finder, const struct binary_wanted *wanted,
		       struct binary_found *found)
{
	if (!can_be_compared(wanted))
		return -ENOENT;
	int ret = list_symfs(finder);
	for (size_t i = 0; ret == 0 && i < finder->count; i++) {
		const struct listed *listed = &finder->list[i];
		bool same = without_zeros(wanted->build_id.data, wanted->build_id.size)
				    ? same_bytes(wanted->build_id, listed->build_id,
						 listed->build_id_bytes)
				    : listed->build_id_bytes == 0;
		if (same && take(finder, wanted, TAKE_NAMED, listed->path, found))
			return 0;
	}
	return ret < 0 ? ret : -ENOENT;
}

static bool is_absolute(struct span path)
{
	return path.size && path.size < 4096 && *(const char *)path.data == '/' &&
	       !memchr(path.data, 0, path.size);
}

static int open_below_symfs(struct binary_finder *finder, const struct binary_wanted *wanted,
			    struct binary_found *found)
{
	for (size_t i = 0; i < wanted->path_count; i++) {
		struct span path = wanted->paths[i];
		if (!is_absolute(path))
			continue;
		const char *text = path.data;
		const char *name = (const char *)memrchr(text, '/', path.size) + 1;
		int name_size = (int)(text + path.size - name);
		if (name_size && (take_at(finder, wanted, TAKE_NAMED, found, "%s%.*s",
					  finder->symfs, (int)path.size, text) ||
				  take_at(finder, wanted, TAKE_NAMED, found, "%s/%.*s",
					  finder->symfs, name_size, name)))
			return 0;
	}
	if (take_by_build_id(finder, wanted, TAKE_NAMED, finder->symfs, found))
		return 0;
	return take_listed(finder, wanted, found);
}

/* Takes the very file that was mapped, by its inode, when it is still there. */
static bool take_same_inode(struct binary_finder *finder, const struct binary_wanted *wanted,
			    struct binary_found *found)
{
	for (size_t i = 0; i < wanted->path_count; i++) {
		struct safe_file file;
		char path[4096];
		if (!is_absolute(wanted->paths[i]))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)wanted->paths[i].size,
			 (const char *)wanted->paths[i].data);
		if (reader_open_path(finder->reader, 0, path, OWNER_ANY, &file, NULL) < 0)
			continue;
		if (file_inode_is(file.fd, &wanted->here) &&
		    known_files_identify(&finder->known, &file, CONTENT_NONE, &found->identity) ==
			    0 &&
		    found->identity.has_code) {
			found->fd = file.fd;
			found->writer = file.writer;
			found->owner = file.owner;
			buffer_append_text(&found->path, path);
			return true;
		}
		close(file.fd);
	}
	return false;
}

static bool take_at_its_path(struct binary_finder *finder, const struct binary_wanted *wanted,
			     enum choice choice, struct binary_found *found)
{
	for (size_t i = 0; i < wanted->path_count; i++)
		if (is_absolute(wanted->paths[i]) &&
		    take_at(finder, wanted, choice, found, "%.*s", (int)wanted->paths[i].size,
			    (const char *)wanted->paths[i].data))
			return true;
	return false;
}

static int open_on_this_machine(struct binary_finder *finder, const struct binary_wanted *wanted,
				struct binary_found *found)
{
	if (!can_be_compared(wanted))
		return wanted->here.inode && take_same_inode(finder, wanted, found) ? 0 : -ENOENT;
	const char *root =
		finder->options.debug_root ? finder->options.debug_root : "/usr/lib/debug";
	if (take_at_its_path(finder, wanted, TAKE_TRUSTED, found) ||
	    take_by_build_id(finder, wanted, TAKE_TRUSTED, root, found))
		return 0;
	if (finder->options.perf_cache &&
	    take_by_build_id(finder, wanted, TAKE_NAMED, finder->options.perf_cache, found))
		return 0;
	return take_at_its_path(finder, wanted, TAKE_ANY, found) ? 0 : -ENOENT;
}

int binary_finder_open(struct binary_finder *finder, const struct binary_wanted *wanted,
		       struct binary_found *found)
{
	*found = (struct binary_found){ .fd = -1, .owner = SAFE_NO_USER };
	int ret = finder->symfs ? open_below_symfs(finder, wanted, found) : -ENOENT;
	if (ret == -ENOENT)
		ret = open_on_this_machine(finder, wanted, found);
	if (ret == 0 && buffer_failed(&found->path)) {
		close(found->fd);
		ret = -ENOMEM;
	}
	if (ret < 0)
		buffer_release(&found->path);
	return ret;
}

int binary_finder_open_debug(struct binary_finder *finder, const struct identity *identity,
			     const char *path, uint32_t owner, uint64_t writer)
{
	struct safe_file file;
	const char *roots[] = { finder->symfs, finder->options.debug_root };
	for (size_t i = finder->symfs ? 0 : 1; i < 2; i++) {
		const struct debug_search search = {
			.user = owner == SAFE_NO_USER && i == 0 ? finder->symfs_owner : owner,
			.writer = i == 0 && !path ? READER_ANY_WRITER : writer,
			.root = roots[i],
		};
		if (reader_open_debug(finder->reader, &search, identity, path, &file, NULL) == 0)
			return file.fd;
	}
	return -1;
}
