	.text
	.globl leaf
	.hidden leaf
	.type leaf,@function
leaf:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rbx
	.cfi_offset %rbx, -24
	nop
	call other
	nop
	pop %rbx
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size leaf, .-leaf
	.globl other
	.hidden other
	.type other,@function
other:
	.cfi_startproc
	sub $40, %rsp
	.cfi_def_cfa_offset 48
	call expression
	add $40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size other, .-other
	.globl expression
	.hidden expression
	.type expression,@function
expression:
	.cfi_startproc
	# CFA = *(rsp + 8) + rbx; rip at *(CFA - 8); rbp = *(*(rsp))
	.cfi_escape 0x0f, 7, 0x77, 8, 0x06, 0x73, 0, 0x22, 0x96
	.cfi_escape 0x10, 6, 4, 0x77, 0, 0x06, 0x06
	nop
	call leaf
	ret
	.cfi_endproc
	.size expression, .-expression
	.globl loop
	.hidden loop
	.type loop,@function
loop:
	.cfi_startproc
	# an expression that jumps back for ever
	.cfi_escape 0x0f, 6, 0x77, 0, 0x2f, 0xfd, 0xff, 0x96
	nop
	call leaf
	ret
	.cfi_endproc
	.size loop, .-loop
	.globl last
	.hidden last
	.type last,@function
last:
	.cfi_startproc
	.cfi_undefined %rip
	call leaf
	hlt
	.cfi_endproc
	.size last, .-last
	.globl bare
	.hidden bare
bare:
	nop
	call leaf
	ret
