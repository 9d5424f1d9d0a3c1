#include "own_mappings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define SYMBOL(name) ".globl " #name "\n" #name ":\n"
#if defined(__x86_64__)
__asm__(".section .data.rel.ro, \"aw\"\n.p2align 3\n8: .quad own_branch_place_0, own_branch_place_1\n"
	".text\n" SYMBOL(own_branch)
	" test $1, %dil\n"
	" je own_branch_taken\n"
	" nop\n"
	SYMBOL(own_branch_taken)
	" and $1, %edi\n lea 8b(%rip), %rax\n"
	SYMBOL(own_branch_jump)
	" jmp *(%rax, %rdi, 8)\n"
	SYMBOL(own_branch_place_0) " ud2\n"
	SYMBOL(own_branch_place_1) " ud2\n"
	SYMBOL(own_load) " testb $1, (%rdi)\n"
	SYMBOL(own_load_branch) " je own_load_taken\n"
	SYMBOL(own_load_behind) " ud2\n"
	SYMBOL(own_load_taken) " ud2\n"
	SYMBOL(own_loop) " test $3, %dil\n"
	SYMBOL(own_loop_branch) " je own_loop_taken\n"
	SYMBOL(own_loop_behind) " nop\n"
	SYMBOL(own_loop_taken) " sub $1, %edi\n jne own_loop\n ud2\n");
const unsigned own_argument_at = 5, own_pc_at = 8; /* PERF_REG_X86_DI, IP */
#elif defined(__aarch64__)
__asm__(".section .data.rel.ro, \"aw\"\n.p2align 3\n8: .quad own_branch_place_0, own_branch_place_1\n"
	".text\n.p2align 2\n" SYMBOL(own_branch)
	" tbz x0, #0, own_branch_taken\n"
	" nop\n"
	SYMBOL(own_branch_taken)
	" and x0, x0, #1\n adrp x1, 8b\n add x1, x1, :lo12:8b\n ldr x1, [x1, x0, lsl #3]\n"
	SYMBOL(own_branch_jump)
	" br x1\n"
	SYMBOL(own_branch_place_0) " brk #0\n"
	SYMBOL(own_branch_place_1) " brk #0\n"
	SYMBOL(own_load) " ldrb w1, [x0]\n"
	SYMBOL(own_load_branch) " tbz w1, #0, own_load_taken\n"
	SYMBOL(own_load_behind) " brk #0\n"
	SYMBOL(own_load_taken) " brk #0\n"
	SYMBOL(own_loop) " tst x0, #3\n"
	SYMBOL(own_loop_branch) " b.eq own_loop_taken\n"
	SYMBOL(own_loop_behind) " nop\n"
	SYMBOL(own_loop_taken) " subs x0, x0, #1\n b.ne own_loop\n brk #0\n");
const unsigned own_argument_at = 0, own_pc_at = 32; /* PERF_REG_ARM64_X0, PC */
#endif
/* clang-format on */

size_t own_mappings_read(struct own_mapping mappings[OWN_MAPPINGS])
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[1024];
	size_t count = 0;
	while (file && count < OWN_MAPPINGS && fgets(line, sizeof(line), file)) {
		struct own_mapping *own = &mappings[count];
		char rights[8];
		*own = (struct own_mapping){ 0 };
		int fields = sscanf(
			line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %255[^\n]",
			&own->mapping.start, &own->mapping.end, rights, &own->mapping.offset,
			&own->major, &own->minor, &own->inode, own->path);
		if (fields != 8 || own->path[0] != '/' || !strchr(rights, 'x'))
			continue;
		own->mapping.file = (uint32_t)count + 1;
		count++;
	}
	if (file)
		fclose(file);
	return count;
}
