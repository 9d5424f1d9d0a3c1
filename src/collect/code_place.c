#include "collect/code_place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/number.h"
#include "image/elf_file.h"
#include "isa/decode.h"
#include "symbol/safe_open.h"
#include "symbol/symbol_table.h"

#define PATH_ROOM	4096
#define MOST_FILE_BYTES ((uint64_t)8 << 30)

void code_place_release(struct code_place *place)
{
	free(place->path);
	free(place->procedure);
	*place = (struct code_place){ 0 };
}

/* "NAME+0xNUMBER", "0xNUMBER" or "NAME". */
struct wanted {
	char name[1024]; /* "" without one */
	bool has_number;
	uint64_t number;
};

static int read_wanted(const char *text, struct wanted *wanted, struct error *err)
{
	const char *plus = NULL;
	for (const char *at = text; (at = strstr(at, "+0x")); at++)
		plus = at;
	size_t length = plus ? (size_t)(plus - text) : strlen(text);
	const char *number = plus ? plus + 1 : NULL;
	if (!plus && strncmp(text, "0x", 2) == 0) {
		number = text;
		length = 0;
	}
	*wanted = (struct wanted){ .has_number = number != NULL };
	if ((number && !number_parse_u64(number, &wanted->number)) || (!number && !length) ||
	    (plus && !length) || length >= sizeof(wanted->name))
		return error_set(err, -EINVAL,
				 "'%s' is no place in code: IMAGE+0xVADDR, PROCEDURE, "
				 "PROCEDURE+0xOFFSET or 0xVADDR",
				 text);
	memcpy(wanted->name, text, length);
	return 0;
}

struct mapped {
	uint64_t start, end, offset;
	char path[PATH_ROOM];
};

/* A line of /proc/PID/maps that maps a file's code. */
static bool read_mapping(const char *line, struct mapped *mapped)
{
	char rights[8];
	int path = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapped->start,
		   &mapped->end, rights, &mapped->offset, &path) < 4 ||
	    !path || rights[2] != 'x' || line[path] != '/')
		return false;
	size_t length = strcspn(line + path, "\n");
	if (length >= sizeof(mapped->path))
		return false;
	memcpy(mapped->path, line + path, length);
	mapped->path[length] = 0;
	return true;
}

struct view {
	struct mapped_file bytes;
	struct elf_file elf;
	struct symbol_table symbols;
};

static void view_release(struct view *view)
{
	symbol_table_release(&view->symbols);
	elf_file_release(&view->elf);
	mapped_file_close(&view->bytes);
}

/* Reads the process's program (`path` is NULL) or a file that it has mapped, below its own root. */
static int view_open(pid_t pid, const char *path, struct view *view, struct error *err)
{
	const struct safe_limits limits = { .size_bytes = MOST_FILE_BYTES, .owner = OWNER_ANY };
	struct safe_file file;
	int ret = path ? safe_open_path(pid, path, &limits, &file, err)
		       : safe_open_executable(pid, &limits, &file, err);
	if (ret < 0)
		return ret;
	CLEANUP(close_fd) int fd = file.fd;
	/* A copy: truncating a mapped file would kill this process with SIGBUS. */
	ret = mapped_file_copy(fd, &view->bytes, err);
	if (ret == 0)
		ret = elf_file_parse(view->bytes.bytes, view->bytes.size_bytes, &view->elf, err);
	if (ret == 0 && symbol_table_build(&view->elf, NULL, &view->symbols) < 0)
		ret = error_set(err, -ENOMEM, "out of memory");
	return ret;
}

/* Checks that an instruction begins at place->vaddr, by decoding its procedure up to there. Without
 * a procedure the user is believed. */
static int check_start(const struct view *view, const struct symbol *symbol,
		       const struct code_place *place, struct error *err)
{
	struct decoder *decoder = NULL;
	if (!symbol ||
	    decoder_new(isa_of_elf_machine(view->elf.machine), ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		return 0;
	uint64_t vaddr = symbol->start;
	while (vaddr < place->vaddr) {
		struct span code = elf_file_code(&view->elf, vaddr, 16);
		if (!code.size)
			break;
		struct instruction instruction;
		decoder_flow(decoder, code, vaddr, &instruction);
		vaddr += instruction.length_bytes;
		if (vaddr > place->vaddr) {
			decoder_free(decoder);
			return error_set(err, -EINVAL,
					 "'%s' is inside the instruction at 0x%" PRIx64
					 ", where nothing can be counted",
					 place->text, instruction.vaddr);
		}
	}
	decoder_free(decoder);
	return 0;
}

static const struct symbol *symbol_named(const struct symbol_table *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (span_equal(symbols->list[i].name, span_of_text(name)))
			return &symbols->list[i];
	return NULL;
}

static const char *short_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Looks in one mapping. -ENOENT: it is not there. */
static int find_in(const struct mapped *mapped, pid_t pid, bool program,
		   const struct wanted *wanted, struct code_place *place, struct error *err)
{
	bool image = wanted->has_number &&
		     (wanted->name[0] ? strcmp(wanted->name, mapped->path) == 0 ||
						strcmp(wanted->name, short_name(mapped->path)) == 0
				      : program);
	CLEANUP(view_release) struct view view = { 0 };
	int ret = view_open(pid, program ? NULL : mapped->path, &view, err);
	if (ret < 0)
		return ret;
	const struct symbol *symbol;
	if (image) {
		place->vaddr = wanted->number;
		symbol = symbol_table_find(&view.symbols, place->vaddr);
	} else {
		symbol = wanted->name[0] ? symbol_named(&view.symbols, wanted->name) : NULL;
		if (!symbol)
			return -ENOENT;
		place->vaddr = symbol->start + wanted->number;
		if (wanted->number >= symbol->size_bytes)
			return error_set(err, -EINVAL,
					 "'%s' lies behind its procedure, which has %" PRIu64
					 " bytes",
					 place->text, symbol->size_bytes);
	}
	uint64_t offset;
	if (!elf_file_offset_of_vaddr(&view.elf, place->vaddr, &offset) ||
	    offset < mapped->offset || offset - mapped->offset >= mapped->end - mapped->start)
		return -ENOENT; /* of this file, but of another mapping or none */
	ret = check_start(&view, symbol, place, err);
	if (ret < 0)
		return ret;
	identity_of_file(&view.elf, &place->identity);
	identity_add_content(&view.elf, CONTENT_TEXT, (struct span){ NULL, 0 }, &place->identity);
	place->address = mapped->start + (offset - mapped->offset);
	place->path = strdup(mapped->path);
	if (symbol && symbol->name.size) {
		place->procedure = strndup(symbol->name.data, symbol->name.size);
		place->offset = place->vaddr - symbol->start;
	}
	return place->path && (place->procedure || !symbol || !symbol->name.size)
		       ? 0
		       : error_set(err, -ENOMEM, "out of memory");
}

enum turn { PROGRAM, OTHERS, TURNS };

/* One pass over the mappings: those of the program itself, or the others. */
static int search(FILE *maps, enum turn turn, const char *program, pid_t pid,
		  const struct wanted *wanted, struct code_place *place, struct error *err)
{
	CLEANUP(free_pointer) char *line = NULL;
	CLEANUP(free_pointer) struct mapped *mapped = malloc(sizeof(*mapped));
	size_t room = 0;
	if (!mapped)
		return error_set(err, -ENOMEM, "out of memory");
	while (getline(&line, &room, maps) > 0) {
		if (!read_mapping(line, mapped) ||
		    (strcmp(mapped->path, program) == 0) != (turn == PROGRAM))
			continue;
		/* Where the file of a library cannot be read, the place may be in another. */
		int ret = find_in(mapped, pid, turn == PROGRAM, wanted, place, err);
		if (ret == 0 || ret == -EINVAL || ret == -ENOMEM)
			return ret;
	}
	return -ENOENT;
}

int code_place_find(struct code_place *place, pid_t pid, struct error *err)
{
	struct wanted wanted;
	char path[64];
	char program[PATH_ROOM];
	int ret = read_wanted(place->text, &wanted, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	ssize_t length = readlink(path, program, sizeof(program) - 1);
	if (length < 0)
		return error_set(err, -errno, "cannot see what process %d runs: %s", pid,
				 strerror(errno));
	program[length] = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	for (enum turn turn = PROGRAM; turn < TURNS; turn++) {
		CLEANUP(close_file) FILE *maps = fopen(path, "re");
		if (!maps)
			return error_set(err, -errno, "cannot read '%s': %s", path,
					 strerror(errno));
		ret = search(maps, turn, program, pid, &wanted, place, err);
		if (ret != -ENOENT)
			return ret;
	}
	return -ENOENT;
}
