/*
 * bench-decode FILE - instructions a second of one core, over the executable's
 * .text: as text, for flow alone, and with effects. Processor time, best of three.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "image/elf_file.h"
#include "isa/effects.h"

enum way {
	WAY_DECODE,
	WAY_FLOW,
	WAY_EFFECTS,
	WAYS,
};

struct count {
	uint64_t instructions;
	uint64_t unknown; /* WAY_EFFECTS: decodable, but without known effects */
	uint64_t data;
};

static double processor_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct count sweep(struct decoder *decoder, enum way way, struct span code, uint64_t vaddr)
{
	struct count count = { 0 };
	for (size_t at = 0; at < code.size; count.instructions++) {
		struct span rest = { (const char *)code.data + at, code.size - at };
		struct instruction instruction;
		struct instruction_effects effects = { .known = true };
		if (way == WAY_DECODE)
			decoder_decode(decoder, rest, vaddr + at, &instruction);
		else if (way == WAY_FLOW)
			decoder_flow(decoder, rest, vaddr + at, &instruction);
		else
			decoder_effects(decoder, rest, vaddr + at, &instruction, &effects);
		count.data += instruction.kind == INSTRUCTION_DATA;
		count.unknown += !effects.known && instruction.kind != INSTRUCTION_DATA;
		at += instruction.length_bytes;
	}
	return count;
}

static void measure(struct decoder *decoder, struct span code, uint64_t vaddr)
{
	static const char *const names[WAYS] = { "decode", "flow", "effects" };
	for (enum way way = 0; way < WAYS; way++) {
		double best_s = 0;
		struct count count = { 0 };
		for (int run = 0; run < 3; run++) {
			double start_s = processor_s();
			count = sweep(decoder, way, code, vaddr);
			double run_s = processor_s() - start_s;
			best_s = run == 0 || run_s < best_s ? run_s : best_s;
		}
		printf("%-8s %9" PRIu64 " instructions, %.2f M/s", names[way], count.instructions,
		       (double)count.instructions / best_s / 1e6);
		if (way == WAY_EFFECTS)
			printf(" (%" PRIu64 " data, %" PRIu64 " without known effects)", count.data,
			       count.unknown);
		printf("\n");
	}
}

static int bench(const char *path, const void *bytes, size_t size_bytes, struct error *err)
{
	struct elf_file file = { 0 };
	int ret = elf_file_parse(bytes, size_bytes, &file, err);
	if (ret < 0)
		return ret;
	const struct elf_section *text = elf_file_section(&file, ".text");
	struct decoder *decoder = NULL;
	ret = decoder_new(isa_of_elf_machine(file.machine), ISA_SYNTAX_ATT, &decoder, err);
	if (ret == 0 && text) {
		printf("%s\n", path);
		measure(decoder, elf_file_section_bytes(&file, text), text->vaddr);
	}
	decoder_free(decoder);
	elf_file_release(&file);
	return ret;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench-decode FILE\n");
		return 2;
	}
	struct stat status;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &status) == 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		fprintf(stderr, "bench-decode: cannot read '%s'\n", argv[1]);
		return 1;
	}
	struct error err;
	if (bench(argv[1], bytes, (size_t)status.st_size, &err) < 0) {
		fprintf(stderr, "bench-decode: %s\n", err.text);
		return 1;
	}
	munmap(bytes, (size_t)status.st_size);
	close(fd);
	return 0;
}
