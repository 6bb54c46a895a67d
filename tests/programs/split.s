# A vector of 32 bytes of which another function writes the second eight.
	.text
	.globl _start
	.type _start, @function
_start:	call w
	call o
	call r
	xor %edi, %edi
	mov $231, %eax
	syscall
	.size _start, .-_start
	.type w, @function
w:	vmovups area, %ymm3
	ret
	.size w, .-w
	.type o, @function
o:	movhps area, %xmm3
	ret
	.size o, .-o
	.type r, @function
r:	vmovups %ymm3, to
	ret
	.size r, .-r
	.data
area:	.fill 64, 1, 3
to:	.fill 64, 1, 0
