# Two processors of QEMU's virt machine (-bios none): both begin here and work with registers of their own, the first ends QEMU.
.globl _start
.type _start,@function
_start: csrr t0,mhartid
 la sp,stack0
 bnez t0,second
 li s4,300
1: mv a0,s4
 call work
 addi s4,s4,-1
 bnez s4,1b
 li t0,0x100000
 li t1,0x5555
 sw t1,(t0)
2: j 2b
second: la sp,stack1
 li s4,0x7000
3: addi s4,s4,1
 mv a0,s4
 call work
 j 3b
.type work,@function
work: mv s3,a0
 li s5,5
4: add s3,s3,s5
 addi s5,s5,-1
 bnez s5,4b
 ret
.bss
.balign 16
 .space 1024
stack0: .space 1024
stack1: .space 16
