// Two processors of QEMU's virt machine: the first starts the second (PSCI), both work with registers of their own, the first ends QEMU.
.globl _start
.type _start,%function
_start: ldr x9,=stack0
 mov sp,x9
 ldr x0,=0xc4000003
 mov x1,#1
 ldr x2,=second
 mov x3,#0
 hvc #0
 mov x20,#300
1: mov x0,x20
 bl work
 subs x20,x20,#1
 b.ne 1b
 ldr x1,=block
 mov x0,#0x18
 hlt #0xf000
 b .
.type second,%function
second: ldr x9,=stack1
 mov sp,x9
 mov x20,#0x7000
2: add x20,x20,#1
 mov x0,x20
 bl work
 b 2b
.type work,%function
work: mov x19,x0
 mov x21,#5
3: add x19,x19,x21
 subs x21,x21,#1
 b.ne 3b
 ret
.data
.balign 8
block: .quad 0x20026,0
.bss
.balign 16
 .space 1024
stack0: .space 1024
stack1: .space 16
