@ Every register edge between these instructions is written beside the one that reads; see tests/it/registers.rs.
@ Flags are control, and so is the stack pointer. In an IT block what fails its condition reads and writes nothing.
        .arch   armv7-a
        .syntax unified
        .thumb
        .global _start
        .type   _start, %function
_start:
        movs    r0, #7                  /* [a] */
        adds    r1, r0, #1              /* [b] r0 4 from a */
        lsls    r2, r1, #3              /* [c] r1 4 from b */
        orrs    r2, r0                  /* [d] r0 4 from a; r2 4 from c */
        mov     r8, r2                  /* [e] r2 4 from d */
        cmp     r0, #7                  /* [f] r0 4 from a */
        ite     eq                      /* [g] */
        moveq   r3, r8                  /* [h] r8 4 from e */
        movne   r3, r1                  /* [i] */
        muls    r3, r1, r3              /* [j] r1 4 from b; r3 4 from h */
        push    {r1, r3}                /* [k] r1 4 from b; r3 4 from j */
        pop     {r4, r5}                /* [l] */
        subs    r6, r5, r4              /* [m] r5 4 from l; r4 4 from l */
        sxtb    r7, r6                  /* [n] r6 1 from m */
        uxth    r7, r7                  /* [o] r7 2 from n */
        add.w   r9, r7, r6, lsl #1      /* [p] r7 4 from o; r6 4 from m */
        smull   r10, r11, r9, r7        /* [q] r9 4 from p; r7 4 from o */
        movw    r12, #0x1234            /* [r] */
        movt    r12, #0x5678            /* [s] */
        eor.w   r1, r10, r12            /* [t] r10 4 from q; r12 2 from s; r12 2 from r */
        rev     r2, r1                  /* [u] r1 4 from t */
        cmp     r2, r11                 /* [v] r2 4 from u; r11 4 from q */
        mvns    r4, r2                  /* [w] r2 4 from u */
        movs    r0, #0                  /* [x] */
        movs    r7, #1                  /* [y] */
        svc     #0
        .size   _start, . - _start
