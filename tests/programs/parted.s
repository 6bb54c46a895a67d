# Registers of which a part is another write's: what is left of the older write is one transfer, wherever it lies.
# Each `wN` and `rN` is a writer and a reader; `other` writes a byte between them.
	.text
	.globl _start
	.type _start, @function
_start:
	mov $3, %r12d
.Lagain:
	# The last byte of eight, and the eight behind it go on with the old write.
	call w1
	call other1
	call r1
	# The same behind several eight.
	call w2
	call other2
	call r2
	# Eight bytes written anew, before some of which one byte is another's: two writes of one function.
	call w3
	call r3
	# Eight of the ten bytes of an x87 register.
	call w4
	call r4
	# What is popped is one write, also where another one then takes its second byte.
	call w5
	call r5
	# One write around a byte that the same function writes anew: wherever that lies, two transfers.
	call w6
	call r6
	call w7
	call r7
	call w8
	call r8
	call w9
	call r9
	call w10
	call r10
	# The same two bytes of one function by one write or two, in turn: one read of the same code takes each.
	.rept 5
	call other11
	call w11
	call r11
	call other12
	call w12
	call r12
	.endr
	# What nobody wrote is one version, in whole eight bytes and around one that was written.
	call w13
	call r13
	# A save over the end of another one, of which the begin is read: what the former has comes back.
	call w14
	call over14
	call r14
	# A function that goes on in the next one.
	call w15
	dec %r12d
	jnz .Lagain
	xor %edi, %edi
	mov $231, %eax
	syscall
	.size _start, .-_start

	.macro function name:req, code:vararg
	.type \name, @function
\name:	\code
	ret
	.size \name, .-\name
	.endm

	function w1, movss area, %xmm7
	function other1, pinsrb $7, area, %xmm7
	function r1, movups %xmm7, to
	function w2, vmovups area, %ymm6
	function other2, pinsrb $11, area, %xmm6
	function r2, vmovups %ymm6, to
	function other3, pinsrb $9, area, %xmm5
	function r3, movups %xmm5, to
	function r4, fnsave to
	function r5, mov %ebx, to

	function r6, vmovups %ymm4, to
	function r7, vmovups %ymm3, to
	function r8, vmovups %ymm2, to
	function r9, vmovups %ymm1, to
	function r10, vmovups %ymm0, to
	function other11, mov area, %rax
	function r11, mov %rax, to
	function other12, movups area, %xmm8
	function r12, movups %xmm8, to
	function r14, mov %rbp, to
	.type w14, @function
w14:	mov area, %rbx
	mov area + 8, %rbp
	ret
	.size w14, .-w14
	.type over14, @function
over14:	sub $16, %rsp
	mov %rbx, (%rsp)
	mov %rbp, 4(%rsp)
	mov (%rsp), %eax
	mov %eax, to + 32
	xor %ebp, %ebp
	mov 4(%rsp), %rbp
	add $16, %rsp
	ret
	.size over14, .-over14
	.type w15, @function
w15:	mov area, %rdx
	.size w15, .-w15
	.type r15, @function
r15:	mov %rdx, to
	ret
	.size r15, .-r15
	function w13, pinsrb $3, area, %xmm9
	function r13, movups %xmm9, to

	.type w3, @function
w3:	movups area, %xmm5
	call other3
	movlps area, %xmm5
	ret
	.size w3, .-w3
	.macro around name:req, register:req, byte:req
	.type \name, @function
\name:	vmovups area, %ymm\register
	pinsrb $\byte, area, %xmm\register
	ret
	.size \name, .-\name
	.endm

	around w6, 4, 8
	around w7, 3, 9
	around w8, 2, 3
	around w9, 1, 15
	around w10, 0, 0

	.type w4, @function
w4:	frstor area
	movq area, %mm5
	ret
	.size w4, .-w4
	.type w5, @function
w5:	add area, %bl
	push %rbx
	pop %rbx
	mov area, %bh
	ret
	.size w5, .-w5

	# The next of five ways.
	.macro ways name:req, turn:req, first:req, second:req, third:req, fourth:req, fifth:req
	.type \name, @function
\name:	inc %\turn
	.irp way, 1, 2, 3, 4
	cmp $\way, %\turn
	je .L\name\way
	.endr
	xor %\turn, %\turn
	\fifth
	ret
.L\name\()1:	\first
	ret
.L\name\()2:	\second
	ret
.L\name\()3:	\third
	ret
.L\name\()4:	\fourth
	ret
	.size \name, .-\name
	.endm

	ways w11, r13d, "movb area, %al; movb area, %ah", "movw area, %ax", "movb area, %ah; movb area, %al", "movw area, %ax; movb area, %al", "movw area, %ax; movw area, %ax"
	ways w12, r14d, "pinsrb $0, area, %xmm8; pinsrb $1, area, %xmm8", "pinsrw $0, area, %xmm8", "pinsrb $9, area, %xmm8; pinsrb $8, area, %xmm8", "pinsrw $4, area, %xmm8", "pinsrw $4, area, %xmm8; pinsrb $8, area, %xmm8"

	.data
	.balign 64
area:	.zero 128
to:	.zero 128
	.section .note.GNU-stack, "", @progbits
