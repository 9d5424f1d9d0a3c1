/*
 * branches LOOPS [heap] - branches that go where they go a known part of the time, in procedures
 * of their own, LOOPS times each:
 *
 *	by_counter	a conditional branch taken 1 time in 4, by a register
 *	by_table	one taken 3 times in 8, by a constant table
 *	by_jump		an indirect jump to 4 places in turn, by a table of addresses
 *
 * and with `heap` this one alone:
 *
 *	by_heap		a conditional branch taken 3 times in 8, by a table on the heap
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void by_counter(uint64_t loops);
void by_table(uint64_t loops);
void by_jump(uint64_t loops);
void by_heap(uint64_t loops, const uint8_t table[8]);

/* clang-format off */
#define FUNCTION(name, body) \
	__asm__(".text\n.p2align 6\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
		".cfi_startproc\n" body ".cfi_endproc\n.size " #name ", . - " #name "\n")
#define TABLES \
	".section .rodata\n.p2align 3\n9: .byte 0, 1, 1, 0, 1, 1, 0, 1\n" \
	".section .data.rel.ro, \"aw\"\n.p2align 3\n8: .quad 3f, 4f, 5f, 6f\n.text\n"

#if defined(__x86_64__)
FUNCTION(by_counter,
	"1: test $3, %dil\n je 2f\n add $1, %rax\n"
	"2: sub $1, %rdi\n jne 1b\n ret\n");
FUNCTION(by_table, TABLES
	" lea 9b(%rip), %rsi\n"
	"1: mov %edi, %ecx\n and $7, %ecx\n cmpb $0, (%rsi, %rcx)\n je 3f\n add $1, %rax\n"
	"3: sub $1, %rdi\n jne 1b\n ret\n4: 5: 6:\n");
FUNCTION(by_jump, TABLES
	" lea 8b(%rip), %rsi\n"
	"1: mov %edi, %ecx\n and $3, %ecx\n jmp *(%rsi, %rcx, 8)\n"
	"3: add $1, %rax\n jmp 2f\n4: add $2, %rax\n jmp 2f\n5: add $3, %rax\n jmp 2f\n"
	"6: add $4, %rax\n"
	"2: sub $1, %rdi\n jne 1b\n ret\n");
FUNCTION(by_heap,
	"1: mov %edi, %ecx\n and $7, %ecx\n cmpb $0, (%rsi, %rcx)\n je 3f\n add $1, %rax\n"
	"3: sub $1, %rdi\n jne 1b\n ret\n");
#elif defined(__aarch64__)
FUNCTION(by_counter,
	"1: tst x0, #3\n b.eq 2f\n add x1, x1, #1\n"
	"2: subs x0, x0, #1\n b.ne 1b\n ret\n");
FUNCTION(by_table, TABLES
	" adrp x2, 9b\n add x2, x2, :lo12:9b\n"
	"1: and x3, x0, #7\n ldrb w3, [x2, x3]\n cbz w3, 3f\n add x1, x1, #1\n"
	"3: subs x0, x0, #1\n b.ne 1b\n ret\n4: 5: 6:\n");
FUNCTION(by_jump, TABLES
	" adrp x2, 8b\n add x2, x2, :lo12:8b\n"
	"1: and x3, x0, #3\n ldr x3, [x2, x3, lsl #3]\n br x3\n"
	"3: add x1, x1, #1\n b 2f\n4: add x1, x1, #2\n b 2f\n5: add x1, x1, #3\n b 2f\n"
	"6: add x1, x1, #4\n"
	"2: subs x0, x0, #1\n b.ne 1b\n ret\n");
FUNCTION(by_heap,
	"1: and x3, x0, #7\n ldrb w3, [x1, x3]\n cbz w3, 3f\n add x4, x4, #1\n"
	"3: subs x0, x0, #1\n b.ne 1b\n ret\n");
#else
#error "no branches for this architecture"
#endif
/* clang-format on */

static int run_heap(uint64_t loops)
{
	static const uint8_t pattern[8] = { 0, 1, 1, 0, 1, 1, 0, 1 };
	uint8_t *table = malloc(sizeof(pattern));
	if (!table)
		return 1;
	memcpy(table, pattern, sizeof(pattern));
	by_heap(loops, table);
	free(table);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t loops = argc >= 2 ? strtoull(argv[1], NULL, 10) : 0;
	bool heap = argc == 3 && strcmp(argv[2], "heap") == 0;
	if (!loops || (argc > 2 && !heap)) {
		fprintf(stderr, "usage: branches LOOPS [heap]\n");
		return 2;
	}
	if (heap)
		return run_heap(loops);
	by_counter(loops);
	by_table(loops);
	by_jump(loops);
	return 0;
}
