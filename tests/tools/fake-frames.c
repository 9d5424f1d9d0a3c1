/* usage: fake-frames SECONDS FILE. Spins with 127 callers that it made up: addresses by chance all
 * over the code of an executable that it maps, so that its samples name every function of it. */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 128

struct frame {
	const struct frame *outer;
	uint64_t returns_to;
};

static uint64_t next_number(void)
{
	static uint64_t number = 88172645463325252u;
	number ^= number << 13;
	number ^= number >> 7;
	return number ^= number << 17;
}

static uint64_t map_code(int fd, uint64_t *size)
{
	Elf64_Ehdr header;
	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return 0;
	for (int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		off_t at = (off_t)(header.e_phoff + (uint64_t)i * header.e_phentsize);
		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return 0;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		*size = segment.p_filesz;
		void *code = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				  (off_t)(segment.p_offset & ~UINT64_C(4095)));
		return code == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)code;
	}
	return 0;
}

/* Counts down; the frame pointer is the made up one meanwhile. Written by hand, so that no rule of
 * call frames is about it and the frame pointer is followed by whoever walks. */
void fake_spin(const struct frame *frames, uint64_t rounds);
/* clang-format off */
__asm__(".text\n.p2align 4\n.globl fake_spin\n.type fake_spin, %function\nfake_spin:\n"
#if defined(__x86_64__)
	"push %rbp\nmov %rdi, %rbp\n1: dec %rsi\njnz 1b\npop %rbp\nret\n"
#elif defined(__aarch64__)
	"stp x29, x30, [sp, #-16]!\nmov x29, x0\nmov x30, xzr\n1: subs x1, x1, #1\nb.ne 1b\n"
	"ldp x29, x30, [sp], #16\nret\n"
#endif
	".size fake_spin, . - fake_spin\n");
/* clang-format on */

int main(int argc, char **argv)
{
	struct frame frames[FRAMES]; /* on the stack, where callers are looked for */
	uint64_t size;
	uint64_t base = argc == 3 ? map_code(open(argv[2], O_RDONLY | O_CLOEXEC), &size) : 0;
	if (!base)
		return 2;
	frames[FRAMES - 1] = (struct frame){ NULL, 0 };
	for (time_t end = time(NULL) + atoi(argv[1]); time(NULL) <= end; fake_spin(frames, 20000))
		for (size_t i = 0; i + 1 < FRAMES; i++)
			frames[i] = (struct frame){ &frames[i + 1], base + next_number() % size };
	return 0;
}
