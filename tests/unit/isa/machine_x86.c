#include "machine_x86.h"

#ifdef __x86_64__
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define HOLE_BYTES  16
#define ARITHMETIC  0x8d5u /* CF, PF, AF, ZF, SF, OF */
#define STACK_BYTES 4096

/*
 * Copied as a whole, so that code and data keep their distance: load everything, the hole,
 * store everything. The order in the data is struct machine_state's, then what
 * only this code knows.
 */
__asm__(".pushsection .data.machine,\"aw\"\n"
	".balign 4096\n"
	"machine_begin:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, m_host_stack(%rip)\n"
	"	mov m_level(%rip), %eax\n"
	"	cmp $1, %eax\n"
	"	je 1f\n"
	"	ja 2f\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups m_vectors+\\n*64(%rip), %xmm\\n\n"
	".endr\n"
	"	jmp 3f\n"
	"1:\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovups m_vectors+\\n*64(%rip), %ymm\\n\n"
	".endr\n"
	"	jmp 3f\n"
	"2:\n"
	".irp "
	"n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	vmovups m_vectors+\\n*64(%rip), %zmm\\n\n"
	".endr\n"
	".irp n,0,1,2,3,4,5,6,7\n"
	"	kmovq m_masks+\\n*8(%rip), %k\\n\n"
	".endr\n"
	"3:\n"
	"	lea m_stack_spare(%rip), %rsp\n"
	"	pushq m_flags(%rip)\n"
	"	popfq\n"
	"	lea m_stack_middle(%rip), %rsp\n"
	"	mov m_general+0(%rip), %rax; mov m_general+8(%rip), %rcx\n"
	"	mov m_general+16(%rip), %rdx; mov m_general+24(%rip), %rbx\n"
	"	mov m_general+40(%rip), %rbp; mov m_general+48(%rip), %rsi\n"
	"	mov m_general+56(%rip), %rdi; mov m_general+64(%rip), %r8\n"
	"	mov m_general+72(%rip), %r9; mov m_general+80(%rip), %r10\n"
	"	mov m_general+88(%rip), %r11; mov m_general+96(%rip), %r12\n"
	"	mov m_general+104(%rip), %r13; mov m_general+112(%rip), %r14\n"
	"	mov m_general+120(%rip), %r15\n"
	"machine_hole:\n"
	"	.fill 16, 1, 0x90\n"
	"	mov %rax, m_general+0(%rip); mov %rcx, m_general+8(%rip)\n"
	"	mov %rdx, m_general+16(%rip); mov %rbx, m_general+24(%rip)\n"
	"	mov %rsp, m_general+32(%rip)\n"
	"	mov %rbp, m_general+40(%rip); mov %rsi, m_general+48(%rip)\n"
	"	mov %rdi, m_general+56(%rip); mov %r8, m_general+64(%rip)\n"
	"	mov %r9, m_general+72(%rip); mov %r10, m_general+80(%rip)\n"
	"	mov %r11, m_general+88(%rip); mov %r12, m_general+96(%rip)\n"
	"	mov %r13, m_general+104(%rip); mov %r14, m_general+112(%rip)\n"
	"	mov %r15, m_general+120(%rip)\n"
	"	lea m_stack_spare(%rip), %rsp\n"
	"	pushfq\n"
	"	popq m_flags(%rip)\n"
	"	cld\n"
	"	mov m_level(%rip), %eax\n"
	"	cmp $1, %eax\n"
	"	je 1f\n"
	"	ja 2f\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movups %xmm\\n, m_vectors+\\n*64(%rip)\n"
	".endr\n"
	"	jmp 3f\n"
	"1:\n"
	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovups %ymm\\n, m_vectors+\\n*64(%rip)\n"
	".endr\n"
	"	vzeroupper\n"
	"	jmp 3f\n"
	"2:\n"
	".irp "
	"n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	vmovups %zmm\\n, m_vectors+\\n*64(%rip)\n"
	".endr\n"
	".irp n,0,1,2,3,4,5,6,7\n"
	"	kmovq %k\\n, m_masks+\\n*8(%rip)\n"
	".endr\n"
	"	vzeroupper\n"
	"3:\n"
	"	mov m_host_stack(%rip), %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	".balign 4096\n"
	"machine_data:\n"
	"m_general: .fill 16, 8, 0\n"
	"m_flags: .quad 0\n"
	"m_masks: .fill 8, 8, 0\n"
	"m_vectors: .fill 256, 8, 0\n"
	"m_memory: .fill 384, 1, 0\n"
	"m_level: .quad 0\n"
	"m_host_stack: .quad 0\n"
	".balign 64\n"
	"m_stack: .fill 2048, 1, 0x5a\n"
	"m_stack_middle: .fill 2048, 1, 0xa5\n"
	".fill 256, 1, 0\n"
	"m_stack_spare: .fill 256, 1, 0\n"
	"machine_end:\n"
	".popsection\n");

extern uint8_t machine_begin[] __attribute__((visibility("hidden")));
extern uint8_t machine_hole[] __attribute__((visibility("hidden")));
extern uint8_t machine_data[] __attribute__((visibility("hidden")));
extern uint8_t m_level[] __attribute__((visibility("hidden")));
extern uint8_t m_stack[] __attribute__((visibility("hidden")));
extern uint8_t m_stack_middle[] __attribute__((visibility("hidden")));
extern uint8_t machine_end[] __attribute__((visibility("hidden")));

static uint8_t *copy;
static sigjmp_buf fault;

static void on_fault(int signal)
{
	siglongjmp(fault, signal);
}

enum machine_vectors machine_vectors(void)
{
	if (__builtin_cpu_supports("avx512bw"))
		return MACHINE_AVX512;
	return __builtin_cpu_supports("avx2") ? MACHINE_AVX : MACHINE_SSE;
}

bool machine_start(void)
{
	static uint8_t signal_stack[65536];
	static const int signals[] = { SIGILL, SIGSEGV, SIGFPE, SIGBUS, SIGTRAP };
	size_t size = (size_t)(machine_end - machine_begin);
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (copy == MAP_FAILED)
		return false;
	memcpy(copy, machine_begin, size);
	uint64_t level = machine_vectors();
	memcpy(copy + (m_level - machine_begin), &level, sizeof(level));
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
		sigaction(signals[i], &action, NULL);
	}
	return true;
}

uint64_t machine_stack(void)
{
	return (uintptr_t)(copy + (m_stack_middle - machine_begin));
}

bool machine_run(const uint8_t *bytes, size_t size, const struct machine_state *before,
		 struct machine_state *after)
{
	uint8_t *hole = copy + (machine_hole - machine_begin);
	uint8_t *data = copy + (machine_data - machine_begin);
	memset(hole, 0x90, HOLE_BYTES);
	memcpy(hole, bytes, size);
	memset(copy + (m_stack - machine_begin), 0x5a, STACK_BYTES);
	struct machine_state *inside = (struct machine_state *)(void *)data;
	*inside = *before; /* machine_data begins as the state does */
	inside->flags = (before->flags & ARITHMETIC) | 0x202;
	uint8_t *window = copy + (m_stack_middle - machine_begin) - MACHINE_RSP_AT;
	memcpy(window, before->memory, sizeof(before->memory));
	if (sigsetjmp(fault, 1) != 0)
		return false;
	((void (*)(void))(uintptr_t)copy)();
	*after = *inside;
	after->flags &= ARITHMETIC;
	memcpy(after->memory, window, sizeof(after->memory));
	return true;
}
#endif
