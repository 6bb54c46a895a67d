@ Every register edge between these instructions is written beside the one that reads; see tests/it/registers.rs.
@ Flags are control, and so is the stack pointer. An instruction whose condition failed reads and writes nothing.
        .arch   armv7-a
        .fpu    neon
        .syntax unified
        .global _start
        .type   _start, %function
_start:
        mov     r0, #7                  /* [a] */
        add     r1, r0, #1              /* [b] r0 4 from a */
        add     r2, r1, r0, lsl #2      /* [c] r1 4 from b; r0 4 from a */
        umull   r3, r4, r1, r2          /* [d] r1 4 from b; r2 4 from c */
        mla     r5, r3, r4, r0          /* [e] r3 4 from d; r4 4 from d; r0 4 from a */
        cmp     r0, #7                  /* [f] r0 4 from a */
        movne   r1, #9                  /* [g] */
        addeq   r6, r1, r5              /* [h] r1 4 from b; r5 4 from e */
        movt    r6, #1                  /* [i] */
        mov     r7, r6                  /* [j] r6 2 from i; r6 2 from h */
        bfi     r7, r0, #4, #8          /* [k] r7 4 from j; r0 4 from a */
        uxtb    r8, r7                  /* [l] r7 1 from k */
        push    {r7, r8}                /* [m] r7 4 from k; r8 4 from l */
        pop     {r9, r10}               /* [n] */
        rsb     r11, r9, r10            /* [o] r9 4 from n; r10 4 from n */
        mov     r12, r11, lsr r0        /* [p] r11 4 from o; r0 1 from a */
        vmov    s0, r12                 /* [q] r12 4 from p */
        vmov    s1, r0                  /* [r] r0 4 from a */
        vmov    r1, r2, d0              /* [s] q0 4 from q; q0 4 from r */
        vmov    d1, r1, r2              /* [t] r1 4 from s; r2 4 from s */
        vadd.i32 q1, q0, q0             /* [u] q0 4 from q; q0 4 from r; q0 8 from t */
        vmov.32 r3, d3[1]               /* [v] q1 4 from u */
        eor     r4, r3, r3              /* [w] */
        mvn     r5, r4                  /* [x] r4 4 from w */
        mov     r0, #0                  /* [y] */
        mov     r7, #1                  /* [z] */
        svc     #0
        .size   _start, . - _start
