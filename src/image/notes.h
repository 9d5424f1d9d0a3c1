/*
 * notes - ELF notes over borrowed bytes: a PT_NOTE segment, a note section,
 * /sys/kernel/notes or /sys/module/X/notes/.note.gnu.build-id.
 */
#pragma once

#include "base/span.h"

#define BUILD_ID_MAX_BYTES 64 /* 20 is usual; ld --build-id=0x... may make longer ones */

/* The GNU build-id, borrowed from `notes`; empty when there is none of 1 to BUILD_ID_MAX_BYTES
 * bytes. */
struct span notes_find_build_id(struct span notes);
