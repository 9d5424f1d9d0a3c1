/*
 * identity - what names an executable for good, and what is needed to go from
 * its file offsets to its vaddrs: small, without pointers, to keep one per image.
 * A build-id is a claim of whoever linked the file. The hash of its content
 * (image/content_hash.h) is none, but takes reading the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "image/content_hash.h"
#include "image/notes.h"

struct elf_file;

#define IDENTITY_MAX_LINK 128

struct identity_segment {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_bytes;
};

struct identity {
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes; /* 0: there is none */
	struct hash128 hash;	 /* of the content, as `content` says; 0: it was not asked for */
	uint16_t machine;	 /* EM_* */
	uint8_t wide;		 /* 64 bit */
	uint8_t content;	 /* enum content_kind of `hash` */
	uint8_t has_code;	 /* false: a debug file, whose code sections have no bytes */
	uint8_t has_symbols;	 /* .symtab is there */
	uint8_t has_lines;	 /* .debug_info or .zdebug_info is there */
	uint32_t link_crc;	 /* of the debug file that debug_link names */
	uint64_t text_vaddr;	 /* of section .text; 0: there is none */
	char debug_link[IDENTITY_MAX_LINK]; /* .gnu_debuglink's plain file name, or "" */
	uint32_t segment_count; /* PT_LOAD in file order; those past the limit are left out */
	struct identity_segment segments[IDENTITY_MAX_SEGMENTS];
};

/* Fills *identity; the hash stays empty (CONTENT_NONE). */
void identity_of_file(const struct elf_file *file, struct identity *identity);
/* Adds the hash of that kind; `unique` as content_hash() has it. */
void identity_add_content(const struct elf_file *file, enum content_kind kind, struct span unique,
			  struct identity *identity);
/* The vaddr of a file offset. False when no segment's file bytes hold it. */
bool identity_vaddr_of_offset(const struct identity *identity, uint64_t offset, uint64_t *vaddr);
