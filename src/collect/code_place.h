/*
 * code_place - an instruction as a user names it, found in the ELF files of a process:
 * "IMAGE+0xVADDR", "PROCEDURE", "PROCEDURE+0xOFFSET", or "0xVADDR" of the program itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "image/identity.h"

struct error;

struct code_place {
	const char *text; /* as the user wrote it; borrowed */
	char *path;	  /* of the file, once found; malloc'ed */
	char *procedure;  /* that holds it, or NULL; malloc'ed */
	uint64_t vaddr;
	uint64_t offset;	  /* of the instruction in its procedure */
	uint64_t address;	  /* in the process */
	struct identity identity; /* of the file */
};
void code_place_release(struct code_place *place); /* also right for a zeroed one */

/*
 * Looks place->text up in the files that the process has mapped now: first in its program, then in
 * the others in the order of their addresses. Returns 0 with the rest of *place filled; -ENOENT:
 * no mapped file has it; or, with *err, -EINVAL (no place, or not the start of an instruction),
 * -ENOMEM or why /proc cannot be read.
 */
int code_place_find(struct code_place *place, pid_t pid, struct error *err);
