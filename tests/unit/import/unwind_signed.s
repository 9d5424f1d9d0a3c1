	.arch armv8.3-a
	.text
	.globl leaf
	.hidden leaf
	.type leaf,@function
leaf:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	nop
	stp x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov x29, sp
	nop
	ldp x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size leaf, .-leaf
	.globl middle
	.hidden middle
	.type middle,@function
middle:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	stp x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	bl leaf
	ldp x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size middle, .-middle
	.globl outermost
	.hidden outermost
	.type outermost,@function
outermost:
	.cfi_startproc
	.cfi_undefined 30
	bl middle
	nop
	.cfi_endproc
	.size outermost, .-outermost
