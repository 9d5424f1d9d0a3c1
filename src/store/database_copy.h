/*
 * database_copy - copies epochs of one database into another, and the code that they need.
 *
 * Both may be in use: only closed epochs are copied, each whole, after it was found to be sound;
 * under a passing name, synced, and renamed; first the packs that it needs, then the epoch. What is
 * there already is not copied again, and nothing that is there is replaced, but for damaged files
 * of the same name. So copies of many hosts' databases into one are their union, and a copy that
 * was killed is finished by the next.
 */
#pragma once

#include <stdint.h>

struct database_selection;
struct error;

struct database_copied {
	uint64_t epochs, epoch_bytes; /* copied */
	uint64_t packs, pack_bytes;
	uint64_t there;	   /* epochs that the other has already, alone or in another one */
	uint64_t open;	   /* left: they are being recorded, or were cut off */
	uint64_t left_out; /* left, for a reason that was noted */
};

/*
 * Copies the selected epochs (NULL: all). Open ones and faults are told to selection->note, if it
 * is there, and left out. 0 or a negative errno value with *err; *copied says what was copied in
 * any case.
 */
int database_copy(const char *from, const char *to, const struct database_selection *selection,
		  struct database_copied *copied, struct error *err);
