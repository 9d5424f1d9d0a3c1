#include "isa/x86_rules.h"

#include <stddef.h>
#include <string.h>

#include "isa/effects.h"

#define A      RULE_RAX
#define C      RULE_RCX
#define D      RULE_RDX
#define B      RULE_RBX
#define SP     RULE_RSP
#define BP     RULE_RBP
#define SI     RULE_RSI
#define DI     RULE_RDI
#define F      RULE_FLAGS
#define DF     RULE_DF
#define X87    RULE_X87
#define MERGES RULE_MERGES
#define IDIOM  RULE_IDIOM
#define MOVES  RULE_MOVES
#define STRING RULE_STRING
#define R(row) SHAPE_##row
#define L(row) LATENCY_##row

static const struct x86_rule string_rules[] = {
	{ "movs*", R(WRITE), L(MICROCODE), SI | DI | DF, SI | DI, STRING | RULE_ADDRESSES },
	{ "cmps*", R(READ), L(MICROCODE), SI | DI | DF, SI | DI | F, STRING | RULE_ADDRESSES },
	{ "stos*", R(WRITE), L(MICROCODE), DI | DF, DI, STRING | RULE_ADDRESSES },
	{ "lods*", R(WRITE), L(MICROCODE), SI | DF, SI, STRING | RULE_ADDRESSES },
	{ "scas*", R(READ), L(MICROCODE), DI | DF, DI | F, STRING | RULE_ADDRESSES },
	{ "ins*", R(WRITE), L(SYSTEM), DI | DF | D, DI, STRING },
	{ "outs*", R(READ), L(SYSTEM), SI | DF | D, SI, STRING },
};

static const struct x86_rule rules[] = {
	/* Integer arithmetic */
	{ "add and or", R(UPDATE), L(ALU), 0, F, 0 },
	{ "sub xor", R(UPDATE), L(ALU), 0, F, IDIOM },
	{ "adc sbb", R(UPDATE), L(ALU), F, F, 0 },
	{ "adcx adox", R(UPDATE), L(ALU), F, F, MERGES },
	{ "inc dec", R(UPDATE), L(ALU), 0, F, MERGES },
	{ "neg", R(UPDATE), L(ALU), 0, F, 0 },
	{ "not bswap", R(UPDATE), L(ALU), 0, 0, 0 },
	{ "cmp test", R(READ), L(ALU), 0, F, 0 },
	{ "mov movabs movzx movsx movsxd movnti", R(WRITE), L(MOVE), 0, 0, MOVES },
	{ "movbe", R(WRITE), L(ALU), 0, 0, MOVES },
	{ "lea", R(LEA), L(ALU), 0, 0, 0 },
	{ "xchg", R(EXCHANGE), L(ALU), 0, 0, 0 },
	{ "xadd", R(EXCHANGE), L(ALU), 0, F, 0 },
	{ "cmpxchg", R(UPDATE), L(ALU), A, A | F, 0 },
	{ "cmpxchg8b cmpxchg16b", R(UPDATE), L(ATOMIC), A | B | C | D, A | D | F, MERGES },
	{ "shl sal shr sar rol ror shld shrd", R(UPDATE), L(SHIFT), 0, F, MERGES },
	{ "rcl rcr", R(UPDATE), L(SHIFT), F, F, MERGES },
	{ "shlx shrx sarx rorx", R(WRITE), L(SHIFT), 0, 0, 0 },
	{ "imul", R(MULTIPLY), L(MULTIPLY), 0, F, MERGES | RULE_WIDE },
	{ "mul", R(READ), L(MULTIPLY), A, A | D | F, MERGES | RULE_WIDE },
	{ "div idiv", R(READ), L(DIVIDE), A | D, A | D | F, MERGES | RULE_WIDE },
	{ "mulx", R(TWO), L(MULTIPLY), D, 0, 0 },
	{ "popcnt", R(WRITE), L(BIT_COUNT), 0, F, 0 },
	{ "lzcnt tzcnt", R(WRITE), L(BIT_COUNT), 0, F, MERGES },
	{ "bsf bsr", R(UPDATE), L(BIT_COUNT), 0, F, MERGES }, /* of 0 the old value stays */
	{ "crc32", R(UPDATE), L(BIT_COUNT), 0, 0, 0 },
	{ "pdep pext", R(WRITE), L(BIT_COUNT), 0, 0, 0 },
	{ "andn bextr bzhi blsr blsi blsmsk blc* blsic blsfill t1mskc tzmsk", R(WRITE), L(ALU), 0,
	  F, MERGES },
	{ "bt", R(READ), L(ALU), 0, F, MERGES },
	{ "bts btr btc", R(UPDATE), L(ALU), 0, F, MERGES },
	{ "cbw cwde cdqe", R(NONE), L(ALU), A, A, 0 },
	{ "cwd", R(NONE), L(ALU), A | D, D, 0 },
	{ "cdq cqo", R(NONE), L(ALU), A, D, 0 },
	{ "set*", R(WRITE), L(ALU), F, 0, 0 },
	{ "cmov*", R(UPDATE), L(ALU), F, 0, RULE_SELECTS },
	{ "lahf", R(NONE), L(ALU), A | F, A, 0 },
	{ "sahf", R(NONE), L(ALU), A, F, MERGES },
	{ "clc stc", R(NONE), L(ALU), 0, F, MERGES },
	{ "cmc", R(NONE), L(ALU), F, F, MERGES },
	{ "cld std", R(NONE), L(SYSTEM), 0, DF, 0 },
	{ "nop endbr32 endbr64 fnop wait", R(NONE), L(NOP), 0, 0, 0 },
	{ "pause", R(NONE), L(BARRIER), 0, 0, 0 },
	{ "xlatb", R(NONE), L(LOAD), A | B, A, RULE_ADDRESSES },

	/* The stack and where control goes */
	{ "push", R(READ), L(STORE), SP, SP, RULE_PUSHES },
	{ "pop", R(WRITE), L(LOAD), SP, SP, RULE_POPS },
	{ "pushf pushfd pushfq", R(NONE), L(MICROCODE), SP | F | DF, SP, RULE_PUSHES },
	{ "popf popfd popfq", R(NONE), L(MICROCODE), SP, SP | F | DF, RULE_POPS },
	{ "leave", R(NONE), L(LOAD), BP, SP | BP, RULE_POPS | RULE_ADDRESSES },
	{ "enter", R(NONE), L(MICROCODE), SP | BP, SP | BP, RULE_PUSHES },
	{ "call", R(READ), L(CALL), SP, SP, RULE_PUSHES },
	{ "ret retf retfq", R(NONE), L(RETURN), SP, SP, RULE_POPS },
	{ "jmp", R(READ), L(BRANCH), 0, 0, 0 },
	{ "jcxz jecxz jrcxz", R(NONE), L(BRANCH), C, 0, 0 },
	{ "loop", R(NONE), L(BRANCH), C, C, 0 },
	{ "loope loopne", R(NONE), L(BRANCH), C | F, C, 0 },
	{ "ja* jb* je jg* jl* jn* jo jp js", R(NONE), L(BRANCH), F, 0, 0 },

	/* The machine */
	{ "syscall", R(NONE), L(SYSTEM), A | DI | SI | D | 1 << X86_R10 | 1 << X86_R8 | 1 << X86_R9,
	  A | C | 1 << X86_R11, 0 },
	{ "cpuid", R(NONE), L(BARRIER), A | C, A | B | C | D, 0 },
	{ "rdtsc", R(NONE), L(SYSTEM), 0, A | D, 0 },
	{ "rdtscp", R(NONE), L(SYSTEM), 0, A | C | D, 0 },
	{ "rdpmc xgetbv", R(NONE), L(SYSTEM), C, A | D, 0 },
	{ "rdrand rdseed", R(WRITE), L(SYSTEM), 0, F, 0 },
	{ "rdfsbase", R(WRITE), L(SYSTEM), RULE_FS, 0, 0 },
	{ "rdgsbase", R(WRITE), L(SYSTEM), RULE_GS, 0, 0 },
	{ "wrfsbase", R(READ), L(SYSTEM), 0, RULE_FS, 0 },
	{ "wrgsbase", R(READ), L(SYSTEM), 0, RULE_GS, 0 },
	{ "lfence mfence sfence", R(NONE), L(BARRIER), 0, 0, 0 },
	{ "prefetch*", R(ADDRESS), L(LOAD), 0, 0, 0 },
	{ "clflush clflushopt clwb", R(ADDRESS), L(BARRIER), 0, 0, 0 },
	{ "ldmxcsr", R(READ), L(SYSTEM), 0, RULE_MXCSR, 0 },
	{ "stmxcsr", R(WRITE), L(SYSTEM), RULE_MXCSR, 0, 0 },
	{ "xtest", R(NONE), L(SYSTEM), RULE_SYS, F, 0 },
	{ "lar lsl", R(UPDATE), L(SYSTEM), RULE_SYS, F, MERGES },
	{ "verr verw", R(READ), L(SYSTEM), RULE_SYS, F, MERGES },
	{ "str sldt smsw", R(WRITE), L(SYSTEM), RULE_SYS, 0, 0 },
	{ "in", R(WRITE), L(SYSTEM), RULE_SYS, RULE_SYS, 0 },
	{ "out", R(READ), L(SYSTEM), RULE_SYS, RULE_SYS, 0 },
	{ "ud0 ud2 ud2b", R(NONE), L(SYSTEM), 0, 0, 0 },
	{ "int int1 int3 into iret* sysret sysenter sysexit lcall ljmp rsm hlt getsec skinit "
	  "vmcall vmclear vmfunc vmlaunch vmload vmmcall vmptrld vmptrst vmread vmresume vmrun "
	  "vmsave "
	  "vmwrite vmxoff vmxon inv* wbinvd lgdt lidt sgdt sidt lldt lmsw ltr clts swapgs rdmsr "
	  "wrmsr "
	  "xsetbv monitor mwait encls enclu xbegin xend xabort fxsave* fxrstor* xsave* xrstor* "
	  "stac "
	  "clac sti cli stgi clgi lfs lgs lss pcommit xcrypt* xstore xsha* montmul",
	  R(ALL), L(SYSTEM), 0, 0, 0 },

	/* x87: its stack is one register */
	{ "fld fild fbld", R(READ), L(VECTOR_MOVE), X87, X87, MOVES },
	{ "fst fstp fist fistp fisttp fbstp fstpnce", R(WRITE), L(VECTOR_MOVE), X87, X87, MOVES },
	{ "fnstcw fnstsw", R(WRITE), L(MICROCODE), X87, 0, 0 },
	{ "fldcw", R(READ), L(MICROCODE), X87, X87, 0 },
	{ "fnstenv fnsave", R(ALL), L(MICROCODE), 0, 0, 0 },
	{ "fldenv frstor", R(ALL), L(MICROCODE), 0, 0, 0 },
	{ "fcomi fcomip fucomi fucomip", R(READ), L(FP_ADD), X87, X87 | F, 0 },
	{ "fcmov*", R(READ), L(ALU), X87 | F, X87, RULE_SELECTS },
	{ "fadd* fiadd fsub* fisub* fcom* ficom* fucom* ftst fxam frndint", R(READ), L(FP_ADD), X87,
	  X87, 0 },
	{ "fmul* fimul", R(READ), L(FP_MULTIPLY), X87, X87, 0 },
	{ "fdiv* fidiv*", R(READ), L(FP_DIVIDE), X87, X87, 0 },
	{ "fsqrt", R(READ), L(FP_ROOT), X87, X87, 0 },
	{ "fsin* fcos fptan fpatan f2xm1 fyl2x* fprem* fscale fxtract fninit fnclex", R(READ),
	  L(MICROCODE), X87, X87, 0 },
	{ "fabs fchs fxch ffree* fincstp fdecstp fld1 fldz fldl2e fldl2t fldlg2 fldln2 fldpi "
	  "fdisi8087_nop feni8087_nop fsetpm",
	  R(READ), L(VECTOR_MOVE), X87, X87, 0 },
	{ "emms femms", R(ALL), L(MICROCODE), 0, 0, 0 },

	/* Moves of vectors */
	{ "movss movsd", R(LOW_LANE), L(VECTOR_MOVE), 0, 0, MOVES },
	{ "movaps movapd movups movupd movdqa movdqu movnt* lddqu movq movd movq2dq movdq2q "
	  "vmovdqa* "
	  "vmovdqu* vmovq vmovd vmaskmovp? vpmaskmov?",
	  R(WRITE), L(VECTOR_MOVE), 0, 0, MOVES },
	{ "movddup movshdup movsldup", R(WRITE), L(SHUFFLE), 0, 0, MOVES },
	{ "movlps movhps movlpd movhpd movlhps movhlps", R(VECTOR), L(SHUFFLE), 0, 0, 0 },
	{ "movmskp? pmovmskb vpmovmskb pextr? extractps", R(WRITE), L(TRANSFER), 0, 0, 0 },
	{ "maskmovdqu maskmovq", R(READ), L(STORE), DI, 0, RULE_ADDRESSES },
	{ "pinsr?", R(VECTOR), L(SHUFFLE), 0, 0, 0 },

	/* Floating point */
	{ "cvtdq2p? cvtpd2dq cvtpd2ps cvtpd2pi cvtps2* cvttp* cvttps2* cvts?2si cvtts?2si cvtpi2pd",
	  R(WRITE), L(CONVERT), 0, 0, 0 },
	{ "cvtpi2ps cvtsi2s? cvtss2sd cvtsd2ss", R(VECTOR), L(CONVERT), 0, 0, 0 },
	{ "vcvt*", R(WRITE), L(CONVERT), 0, 0, 0 },
	{ "addp? adds? subp? subs? addsubp? haddp? hsubp? maxp? maxs? minp? mins? cmp*ps cmp*pd "
	  "cmp*ss cmp*sd rounds?",
	  R(VECTOR), L(FP_ADD), 0, 0, 0 },
	{ "roundp? vrndscale*", R(WRITE), L(FP_ADD), 0, 0, 0 },
	{ "comis? ucomis?", R(READ), L(FP_ADD), 0, F, 0 },
	{ "mulp? muls? dpp? rcpss rsqrtss", R(VECTOR), L(FP_MULTIPLY), 0, 0, 0 },
	{ "rcpps rsqrtps vrcp* vrsqrt* vexp2p?", R(WRITE), L(FP_MULTIPLY), 0, 0, 0 },
	{ "divp? divs?", R(VECTOR), L(FP_DIVIDE), 0, 0, 0 },
	{ "sqrtp?", R(WRITE), L(FP_ROOT), 0, 0, 0 },
	{ "sqrts?", R(VECTOR), L(FP_ROOT), 0, 0, 0 },
	{ "vf*132p? vf*132s? vf*213p? vf*213s? vf*231p? vf*231s?", R(UPDATE), L(FP_FUSED), 0, 0,
	  0 },
	{ "vfmadd* vfmsub* vfnmadd* vfnmsub*", R(WRITE), L(FP_FUSED), 0, 0, 0 }, /* FMA4 */

	/* Integers in vectors */
	{ "pxor xorp? pcmpeq? pcmpgt? psubb psubw psubd psubq psubsb psubsw psubusb psubusw vpxor?",
	  R(VECTOR), L(VECTOR_INTEGER), 0, 0, IDIOM },
	{ "andp? andnp? orp? pand pandn por padd* pavg? pmaxs? pmaxu? pmins? pminu? psign? psll? "
	  "psrl? "
	  "psra? pslldq psrldq psadbw phadd* phsub* mpsadbw vpand? vpandn? vpor? vpsllv? vpsrlv? "
	  "vpsrav?",
	  R(VECTOR), L(VECTOR_INTEGER), 0, 0, 0 },
	{ "pabs? vpconflict? vplzcnt? vpcmp? vpcmpu? vptestm? vptestnm? vpcomb vpcomd vpcomq "
	  "vpcomw vpcomu? vprot? vpsha? vpshl? "
	  "vphadd* vphsub* vpcmov vfrcz*",
	  R(WRITE), L(VECTOR_INTEGER), 0, 0, 0 },
	{ "vblendm* vpblendm*", R(WRITE), L(VECTOR_INTEGER), 0, 0, RULE_BLENDS },
	{ "pmul* pmadd*", R(VECTOR), L(VECTOR_MULTIPLY), 0, 0, 0 },
	{ "phminposuw vpmac* vpmad*", R(WRITE), L(VECTOR_MULTIPLY), 0, 0, 0 },
	{ "shufp? unpck* punpck* pack* palignr insertps pblendw blendp? pshufb", R(VECTOR),
	  L(SHUFFLE), 0, 0, 0 },
	{ "vpblendvb vblendvp?", R(WRITE), L(SHUFFLE), 0, 0, 0 },
	{ "pblendvb blendvp?", R(VECTOR), L(SHUFFLE), RULE_XMM0, 0, 0 },
	{ "pshufd pshufhw pshuflw pshufw pmovsx* pmovzx* valign? vpmov* vperm2* vpperm vcompress* "
	  "vexpandp? "
	  "vpcompress? vpexpand? vpblendd vshuf*",
	  R(WRITE), L(SHUFFLE), 0, 0, 0 },
	{ "vpermi2* vpermt2*", R(UPDATE), L(SHUFFLE), 0, 0, 0 },
	{ "vbroadcast* vpbroadcast* vextract*", R(WRITE), L(SHUFFLE), 0, 0, MOVES },
	{ "vperm* vinsert*", R(WRITE), L(SHUFFLE), 0, 0, 0 },
	{ "insertq extrq", R(UPDATE), L(SHUFFLE), 0, 0, 0 },
	{ "ptest vtestp?", R(READ), L(VECTOR_INTEGER), 0, F, 0 },
	{ "pcmpestri", R(READ), L(MICROCODE), A | D, C | F, 0 },
	{ "pcmpestrm", R(READ), L(MICROCODE), A | D, RULE_XMM0 | F, 0 },
	{ "pcmpistri", R(READ), L(MICROCODE), 0, C | F, 0 },
	{ "pcmpistrm", R(READ), L(MICROCODE), 0, RULE_XMM0 | F, 0 },
	{ "vgatherpf* vscatterpf*", R(ADDRESS), L(LOAD), 0, 0, 0 },
	{ "vgather* vpgather*", R(GATHER), L(LOAD), 0, 0, 0 },
	{ "vscatter* vpscatter*", R(GATHER), L(STORE), 0, 0, 0 },
	{ "kortest? ktest?", R(READ), L(TRANSFER), 0, F, 0 },
	{ "kmov?", R(WRITE), L(TRANSFER), 0, 0, MOVES },
	{ "kand* kor? kxor? kxnor? knot? kunpck* kshift*", R(WRITE), L(VECTOR_INTEGER), 0, 0, 0 },
	{ "vzeroupper", R(NONE), L(NOP), 0, 0, 0 }, /* upper halves are not followed */
	{ "vzeroall", R(NONE), L(MICROCODE), 0, RULE_ALL_XMM, 0 },

	{ "aesimc aeskeygenassist", R(WRITE), L(CRYPTO), 0, 0, 0 },
	{ "aes* pclmulqdq sha1* sha256msg?", R(VECTOR), L(CRYPTO), 0, 0, 0 },
	{ "sha256rnds2", R(VECTOR), L(CRYPTO), RULE_XMM0, 0, 0 },
};

/* `pattern` up to `end`: * is any characters, ? is one. One star is all that rows use. */
static bool matches(const char *pattern, const char *end, const char *name)
{
	while (pattern < end && *pattern != '*') {
		if (!*name || (*pattern != '?' && *pattern != *name))
			return false;
		pattern++;
		name++;
	}
	if (pattern == end)
		return !*name;
	size_t tail = (size_t)(end - pattern) - 1;
	size_t left = strlen(name);
	if (left < tail)
		return false;
	name += left - tail;
	for (pattern++; pattern < end; pattern++, name++)
		if (*pattern != '?' && *pattern != *name)
			return false;
	return true;
}

static bool has_name(const char *names, const char *name)
{
	while (*names) {
		size_t length = strcspn(names, " ");
		if (matches(names, names + length, name))
			return true;
		names += length;
		names += strspn(names, " ");
	}
	return false;
}

const struct x86_rule *x86_rule_of(const char *name, bool is_string)
{
	const struct x86_rule *table = is_string ? string_rules : rules;
	size_t count = is_string ? sizeof(string_rules) / sizeof(string_rules[0])
				 : sizeof(rules) / sizeof(rules[0]);
	for (int bare = 0; bare < 2; bare++) {
		for (size_t i = 0; i < count; i++)
			if (has_name(table[i].names, name + bare))
				return &table[i];
		if (*name != 'v')
			break;
	}
	return NULL;
}
