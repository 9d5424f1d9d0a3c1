/*
 * reader_program - a small program with an inlined function, for tests of the reader: built in a
 * folder, opened, and found again in the records that were read of it.
 */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "symbol/reader.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

static const char reader_program[] =
	"#include <stdlib.h>\n"
	"static inline __attribute__((always_inline)) int twice(int x)\n"
	"{\n"
	"	return x * rand();\n"
	"}\n"
	"int work(int x)\n"
	"{\n"
	"	int y = rand();\n"
	"	return twice(x) + y;\n"
	"}\n"
	"int main(int c, char **v) { (void)v; return work(c); }\n";

/* With p.c, and p that was made of it. */
static inline struct temporary_folder folder_with_program(void)
{
	struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", reader_program);
	toolchain_run(folder.path, "cc -g -O2 p.c -o p");
	return folder;
}

static inline struct reader *new_reader(void)
{
	struct reader *reader = NULL;
	struct error err = { 0 };
	if (reader_new(NULL, &reader, &err) < 0)
		fail_msg("%s", err.text);
	return reader;
}

static inline int open_built(struct temporary_folder *folder, const char *name)
{
	int fd = open(temporary_folder_path(folder, name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline const struct record *find_record(const struct record_set *set, uint64_t kind,
					       uint64_t vaddr)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].kind == kind && vaddr >= set->list[i].first &&
		    vaddr <= set->list[i].last)
			return &set->list[i];
	return NULL;
}
