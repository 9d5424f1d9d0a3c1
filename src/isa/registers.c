#include "isa/registers.h"

#include <stddef.h>

#define EIGHT(stem, a, b, c, d, e, f, g, h)                                                        \
	stem #a, stem #b, stem #c, stem #d, stem #e, stem #f, stem #g, stem #h
#define FIRST_8(stem)  EIGHT(stem, 0, 1, 2, 3, 4, 5, 6, 7)
#define FIRST_16(stem) FIRST_8(stem), EIGHT(stem, 8, 9, 10, 11, 12, 13, 14, 15)
#define FIRST_32(stem)                                                                             \
	FIRST_16(stem), EIGHT(stem, 16, 17, 18, 19, 20, 21, 22, 23),                               \
		EIGHT(stem, 24, 25, 26, 27, 28, 29, 30, 31)

static const char *const x86_names[] = {
	"rax",	      "rcx",	     "rdx",
	"rbx",	      "rsp",	     "rbp",
	"rsi",	      "rdi",	     EIGHT("r", 8, 9, 10, 11, 12, 13, 14, 15),
	"rflags",     "direction",   "es",
	"cs",	      "ss",	     "ds",
	"fs",	      "gs",	     FIRST_32("xmm"),
	FIRST_8("k"), FIRST_8("mm"), "x87",
	"mxcsr",      "system",
};
_Static_assert(sizeof(x86_names) / sizeof(x86_names[0]) == X86_REGISTER_COUNT, "a name each");

static const char *const aarch64_names[] = {
	FIRST_16("x"), EIGHT("x", 16, 17, 18, 19, 20, 21, 22, 23),
	"x24",	       "x25",
	"x26",	       "x27",
	"x28",	       "x29",
	"x30",	       "sp",
	FIRST_32("v"), "nzcv",
	"fpcr",	       "fpsr",
	FIRST_16("p"), "ffr",
	"system",
};
_Static_assert(sizeof(aarch64_names) / sizeof(aarch64_names[0]) == AARCH64_REGISTER_COUNT,
	       "a name each");

unsigned register_count(enum isa isa)
{
	switch (isa) {
	case ISA_X86_64:
		return X86_REGISTER_COUNT;
	case ISA_AARCH64:
		return AARCH64_REGISTER_COUNT;
	case ISA_I386:
	case ISA_UNKNOWN:
		break;
	}
	return 0;
}

const char *register_name(enum isa isa, unsigned number)
{
	if (number >= register_count(isa))
		return NULL;
	return isa == ISA_X86_64 ? x86_names[number] : aarch64_names[number];
}

struct register_set register_set_all(enum isa isa)
{
	struct register_set all = { 0 };
	for (unsigned r = 0; r < register_count(isa); r++)
		register_set_add(&all, r);
	return all;
}
