#include "loops.h"

/* clang-format off */
#define FUNCTION(name, body) \
	__asm__(".text\n.p2align 6\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
		".cfi_startproc\n" body ".cfi_endproc\n" \
		".globl " #name "_end\n" #name "_end:\n.size " #name ", . - " #name "\n")

#if defined(__aarch64__)
FUNCTION(loop_4,
	"1: add x1, x1, #1\n eor x2, x2, x1\n subs x0, x0, #1\n b.ne 1b\n ret\n");
FUNCTION(loop_8,
	"1: add x1, x1, #1\n eor x2, x2, x1\n add x3, x3, x2\n eor x4, x4, x3\n"
	" add x5, x5, x4\n eor x6, x6, x5\n subs x0, x0, #1\n b.ne 1b\n ret\n");
#elif defined(__x86_64__)
FUNCTION(loop_4,
	"1: add $1, %rax\n xor %rax, %rcx\n sub $1, %rdi\n jne 1b\n ret\n");
FUNCTION(loop_8,
	"1: add $1, %rax\n xor %rax, %rcx\n add %rcx, %rdx\n xor %rdx, %rsi\n"
	" add %rsi, %r8\n xor %r8, %r9\n sub $1, %rdi\n jne 1b\n ret\n");
#else
#error "no loops for this architecture"
#endif
