/*
 * resolve - from the places in a profile to names for reports: procedure,
 * image, source line, inlined frames. They come from the profile's own stash;
 * else from files of this machine, but only of those that are the image
 * (local_files.h); never from this machine's kallsyms for another kernel. Code
 * without a symbol is named by its address, code of no image by the cause.
 *
 * Texts and places live until the resolver is freed. The profile must not
 * change meanwhile. One thread at a time. Each address is resolved once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/names/resolver_options.h"
#include "base/span.h"
#include "profile/profile.h"
#include "profile/stash.h"

struct error;
struct resolver;

/* A function, or whatever takes its place. */
struct procedure {
	const char *name;    /* for people: demangled; "image+0x1234" without a name, the cause for
				unknown images */
	const char *linkage; /* as the linker knows it; "" without a name */
	uint32_t image;	     /* id in the profile */
	bool extent_known;
	bool named;
	uint64_t flags; /* enum function_flags */
	/* Vaddrs, when the extent is known; a cold part has its own. Of FUNCTION_WINDOW, which is
	 * no function and has no extent, those of the code around samples. */
	uint64_t first, last;
};

struct place {
	const struct procedure *procedure;
	uint64_t vaddr; /* that was looked up, in the file's own space where the file is known: of a
			   return address, the byte before it */
};

struct source_frame {
	const char *function; /* of an inlined function, demangled; NULL: the procedure itself */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

int resolver_new(const struct profile *profile, const struct resolver_options *options,
		 struct resolver **out, struct error *err);
void resolver_free(struct resolver *resolver);
void resolver_freep(struct resolver **resolver); /* for CLEANUP() */

/* The procedure of a frame, or NULL when out of memory. Keeps nothing for the address, so it is for
 * callers that look up each address once. */
const struct procedure *resolver_procedure(struct resolver *resolver,
					   const struct profile_frame *frame);

/* The place of a frame, or NULL when out of memory. Frames with a bare name are procedures of that
 * name. */
const struct place *resolver_place(struct resolver *resolver, const struct profile_frame *frame);

/* The place of an address that comes from the code itself: already in the file's own space. */
const struct place *resolver_place_in_file(struct resolver *resolver, uint32_t image,
					   uint64_t vaddr);

/* What a call to that address of the file reaches ("malloc@plt"), as the profile has it with the
 * code that calls it: also where the address itself is in no known function. NULL: it does not, or
 * out of memory. */
const char *resolver_callee(struct resolver *resolver, uint32_t image, uint64_t vaddr);

/* "gcc", "[kernel]", "[nf_tables]", "[vdso]", "[unknown: cause]": short, and the same for one image
 * everywhere. "" for image 0. */
const char *resolver_image(struct resolver *resolver, uint32_t image);

/*
 * An address of an image as a vaddr of its file, which places and procedures have: translated where
 * the profile has something else (offsets) and the file is on this machine, else as it is. Bit 63
 * is set of one that no part of the file has.
 */
uint64_t resolver_vaddr(struct resolver *resolver, uint32_t image, uint64_t vaddr);

/* The stash that knows most of the image, under the same id: the profile's own, or what this
 * machine's file says, by addresses of the file. It lives as long as the resolver. NULL: neither.
 */
const struct stash_index *resolver_stash(struct resolver *resolver, uint32_t image);

/* EM_* of the image's file; 0: not known. */
uint16_t resolver_machine(struct resolver *resolver, uint32_t image);

/* False: no place of the image has source frames, so that asking for them is waste. */
bool resolver_has_source(struct resolver *resolver, uint32_t image);
/* Source frames at a place, innermost first, the procedure itself last. Returns how many, 0 when
 * unknown. */
size_t resolver_source(struct resolver *resolver, const struct place *place,
		       const struct source_frame **frames);

/* The code of the procedure, or empty; *first is the vaddr of its first byte. */
struct span resolver_code(struct resolver *resolver, const struct procedure *procedure,
			  uint64_t *first);
/* All lines of the procedure, for listings, or NULL. */
const struct lines_table *resolver_lines(struct resolver *resolver,
					 const struct procedure *procedure);
/* The cold part of a procedure as a procedure of its own, or NULL. */
const struct procedure *resolver_cold(struct resolver *resolver, const struct procedure *procedure);
/* What could not be found or read, one sentence each ("debug file of 'x' is of another build"), for
 * the report's foot. */
size_t resolver_notes(const struct resolver *resolver, const char *const **notes);
/* Which of the profile's files claim to be what another is, and which other users can write. */
size_t resolver_file_notes(const struct resolver *resolver, const char *const **notes);
