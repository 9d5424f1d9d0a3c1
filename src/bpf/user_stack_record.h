/*
 * user_stack_record - what the program that walks stacks shares with its user (user_stack.h).
 */
#pragma once

#include <stdint.h>

#include "kernel_layout_fields.h"
#include "program_time.h"

#define USER_STACK_FRAMES_MOST 255u
#define USER_STACK_COPY_BYTES  32768u
#define USER_STACK_LATER_BYTES 16384u /* of a copy when its file was asked for before */
#define USER_STACK_ASKED       UINT32_MAX
#define USER_STACK_POSTPONED   (UINT32_MAX - 1)
#define USER_STACK_COPY_STEP   512u
#define USER_STACK_TABLES      4096u /* files whose rules are known at a time */
#define USER_STACK_MEMO_BITS   12u   /* log2 of the places that each CPU remembers the rule of */

/* A file, as the kernel knows it. All of a key counts, so no byte is undefined. */
struct user_stack_key {
	uint64_t inode; /* USER_STACK_VDSO with device 0: the kernel's own */
	uint32_t device;
	uint32_t generation;
};

#define USER_STACK_VDSO 1u

/* What is known of a file's rules. It is written before its number is given, and never changed
 * until nobody can have that number any more. */
struct user_stack_table {
	struct user_stack_key key;
	uint32_t first_page, page_count, pages_at, rules_at; /* struct frame_table_place */
	uint32_t serial;				     /* never given again, up to 24 bits */
	uint32_t unused;
};

enum user_stack_kind {
	USER_STACK_FRAMES, /* words of frames follow */
	USER_STACK_COPY,   /* nothing was walked: registers follow, and the top of the stack */
};

/* A record: this, and then what its kind says. */
struct user_stack_head {
	uint8_t kind;	 /* enum user_stack_kind */
	uint8_t end;	 /* enum walk_end */
	uint16_t count;	 /* frames; of a copy: bytes of stack */
	uint16_t narrow; /* a 32-bit program's */
	uint16_t first;	 /* the file below was not asked for before */
	/* WALK_NO_TABLE: the file whose rules are missing, and an address in it; all 0 where they
	 * cannot be had now, and nothing is asked for. */
	struct user_stack_key missing;
	uint64_t missing_address;
};

/* Of a frame's word: the bits above an address. */
#define USER_STACK_INTERRUPTED (UINT64_C(1) << 63) /* it is no return address */
#define USER_STACK_GUESSED     (UINT64_C(1) << 62) /* a frame pointer led to it, where no rule was */
#define USER_STACK_ADDRESS     (USER_STACK_GUESSED - 1)

/* Registers of a copy, in this order: ip, sp, frame pointer, x30 or rbx; of x86-64 also r10, rdi.
 */
#define USER_STACK_REGISTERS 6u

/* What both sides change while it runs. */
struct user_stack_state {
	uint32_t generation; /* of what is known about files: mappings are looked up anew then */
	uint32_t nothing;    /* 0, which the kernel's verifier does not know */
	uint32_t room; /* bytes of copies that a CPU may add in one turn; 0: no file is asked for */
	uint32_t turn; /* the user has taken what was added before */
	uint32_t root; /* process: files are asked for below it alone; 0: for all */
};

/* Of one CPU. It alone writes it. */
struct user_stack_cpu {
	uint64_t seen; /* samples of user code, or on behalf of it */
	struct program_time walks;
};

/* What the program is told when it is loaded. */
struct user_stack_settings {
	struct kernel_layout layout;
	uint32_t cpus; /* the highest number, and one */
	uint32_t unused;
};
