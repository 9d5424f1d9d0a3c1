/*
 * distinct KIND SECONDS [FILE] - what has nothing in common, for as long as that:
 *
 *	stacks		126 return addresses anywhere in 256 MB, other ones every 20 us; these are
 *			a mapping of FILE, which is made, with a hole of that size
 *	branches	400,000 conditional branches, of which every other one is taken, and in
 *			the next pass the others
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FRAMES	   126
#define CODE_BYTES ((size_t)256 << 20)
#define LOOPS	   20000

/* A frame as frame pointers link them. */
struct frame {
	const struct frame *outer;
	uint64_t returns_to;
};

/* Counts down with such frames below its own. Written by hand, so that no rule of call frames is about
 * it and the frame pointer is followed by whoever walks. */
void distinct_spin(const struct frame *frame, uint64_t loops);
void distinct_branches(uint64_t pass);

/* clang-format off */
#define FUNCTION(name, body) \
	__asm__(".text\n.p2align 6\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
		body ".size " #name ", . - " #name "\n")
#if defined(__x86_64__)
FUNCTION(distinct_spin,
	"push %rbp\nmov %rdi, %rbp\n1: dec %rsi\njnz 1b\npop %rbp\nret\n");
FUNCTION(distinct_branches,
	".rept 400000\ntest $1, %dil\njnz 1f\nnop\n1: inc %edi\n.endr\nret\n");
#elif defined(__aarch64__)
FUNCTION(distinct_spin,
	"stp x29, x30, [sp, #-16]!\nmov x29, x0\nmov x30, xzr\n1: subs x1, x1, #1\nb.ne 1b\n"
	"ldp x29, x30, [sp], #16\nret\n");
FUNCTION(distinct_branches,
	".rept 400000\ntbnz w0, #0, 1f\nnop\n1: add w0, w0, #1\n.endr\nret\n");
#else
#error "no code for this machine"
#endif
/* clang-format on */

static int run_stacks(time_t end, const char *path)
{
	struct frame frames[FRAMES]; /* on the stack, where callers are looked for */
	uint64_t state = 88172645463325252u ^ (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || ftruncate(fd, (off_t)CODE_BYTES) < 0)
		return 1;
	void *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		return 1;
	while (time(NULL) < end) {
		for (size_t i = 0; i < FRAMES; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			frames[i].outer = i + 1 < FRAMES ? &frames[i + 1] : NULL;
			frames[i].returns_to = (uint64_t)code + state % CODE_BYTES;
		}
		distinct_spin(frames, LOOPS);
	}
	return 0;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	if (argc == 4 && strcmp(argv[1], "stacks") == 0)
		return run_stacks(end, argv[3]);
	if (argc != 3 || strcmp(argv[1], "branches")) {
		fprintf(stderr, "usage: distinct stacks SECONDS FILE | branches SECONDS\n");
		return 2;
	}
	for (uint64_t pass = 0; time(NULL) < end; pass++)
		distinct_branches(pass);
	return 0;
}
