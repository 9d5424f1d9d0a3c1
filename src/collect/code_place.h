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
	uint64_t offset; /* of the instruction in its procedure */
	uint64_t address;
	struct identity identity; /* of the file */
};
void code_place_release(struct code_place *place); /* also right for a zeroed one */

/*
 * Looks for place->text in what the process has mapped now; the program itself comes first, then
 * the others as they lie. Returns 0 with the rest of *place filled; -ENOENT (nothing mapped has
 * it); -EINVAL (it is no start of an instruction), -ENOMEM or what reading said, with *err.
 */
int code_place_find(struct code_place *place, pid_t pid, struct error *err);
