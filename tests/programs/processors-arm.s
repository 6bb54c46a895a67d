@ Two processors of QEMU's virt machine: the first starts the second (PSCI), both work with registers of their own, the first ends QEMU.
.arch armv7-a
.arch_extension virt
.syntax unified
.arm
.globl _start
.type _start,%function
_start: ldr sp,=stack0
 ldr r0,=0x84000003
 mov r1,#1
 ldr r2,=second
 mov r3,#0
 hvc #0
 mov r5,#300
1: mov r0,r5
 bl work
 subs r5,r5,#1
 bne 1b
 mov r0,#0x18
 ldr r1,=0x20026
 svc 0x123456
 b .
.type second,%function
second: ldr sp,=stack1
 mov r5,#0x7000
2: add r5,r5,#1
 mov r0,r5
 bl work
 b 2b
.type work,%function
work: mov r4,r0
 mov r6,#5
3: add r4,r4,r6
 subs r6,r6,#1
 bne 3b
 bx lr
.bss
.balign 16
 .space 1024
stack0: .space 1024
stack1: .space 16
