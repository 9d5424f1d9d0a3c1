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

/* The frame pointer is the made up one meanwhile. */
static void spin(const struct frame *frames)
{
	uint64_t rounds = 20000;
#if defined(__x86_64__)
	__asm__ volatile("push %%rbp\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tpop %%rbp"
			 : "+r"(rounds)
			 : "r"(frames)
			 : "cc", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov x9, x29\n\tmov x29, %1\n1:\tsubs %0, %0, #1\n\tb.ne 1b\n\tmov x29, x9"
			 : "+r"(rounds)
			 : "r"(frames)
			 : "cc", "memory", "x9");
#endif
}

int main(int argc, char **argv)
{
	static struct frame frames[FRAMES];
	uint64_t size;
	uint64_t base = argc == 3 ? map_code(open(argv[2], O_RDONLY | O_CLOEXEC), &size) : 0;
	if (!base)
		return 2;
	for (time_t end = time(NULL) + atoi(argv[1]); time(NULL) <= end; spin(frames))
		for (size_t i = 0; i + 1 < FRAMES; i++)
			frames[i] = (struct frame){ &frames[i + 1], base + next_number() % size };
	return 0;
}
