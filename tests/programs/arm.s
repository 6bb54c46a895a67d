@ One function for each thing that an ARM instruction may do to memory beside loading and storing a word.
        .arch armv7-a
        .syntax unified
        .global _start
        .type _start, %function
_start: ldr     r10, =buffer
        bl      conditional
        bl      multiple
        bl      exclusive
        bl      write_back
        bl      helpers
        mov     r7, #1
        mov     r0, #0
        svc     #0
        .size   _start, . - _start

        .type conditional, %function
conditional:                            @ one of two stores happens
        mov     r0, #1
        cmp     r0, #1
        strne   r0, [r10]
        streq   r0, [r10, #4]
        ldr     r1, [r10, #4]
        bx      lr
        .size   conditional, . - conditional

        .type multiple, %function
multiple:                               @ four words up, then down
        mov     r0, r10
        stmia   r0!, {r1-r4}
        ldmdb   r0!, {r5-r8}
        bx      lr
        .size   multiple, . - multiple

        .type exclusive, %function
exclusive:                              @ the first store succeeds, the second has lost its reservation
        mov     r3, #7
        ldrex   r1, [r10]
        strex   r2, r3, [r10]
        ldrex   r1, [r10]
        clrex
        strex   r4, r3, [r10]
        bx      lr
        .size   exclusive, . - exclusive

        .type write_back, %function
write_back:                             @ the address changes before one access and after the other
        mov     r0, r10
        str     r3, [r0, #4]!
        ldr     r1, [r0], #8
        strb    r3, [r0, #-1]!
        bx      lr
        .size   write_back, . - write_back

        .type helpers, %function
helpers:                                @ __kuser_get_tls, then __kuser_cmpxchg of the word at r2
        mov     r11, lr
        ldr     r3, =0xffff0fe0
        blx     r3
        mov     r0, #7
        mov     r1, #9
        mov     r2, r10
        ldr     r3, =0xffff0fc0
        blx     r3
        ldr     r1, [r10]
        bx      r11
        .size   helpers, . - helpers
        .ltorg
        .data
        .align 3
        .global buffer
        .type buffer, %object
        .size buffer, 32
buffer: .space 32
