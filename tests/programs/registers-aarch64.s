// Every register edge between these instructions is written beside the one that reads; see tests/it/registers.rs.
// Flags are control, and so is the stack pointer. Writes of 32 bits write all 64, scalars all of a vector.
        .global _start
        .type   _start, %function
_start:
        mov     w0, #7                  /* [a] */
        add     x1, x0, #1              /* [b] x0 8 from a */
        add     w2, w1, w0              /* [c] x1 4 from b; x0 4 from a */
        sub     x3, x2, x1, lsl #2      /* [d] x2 8 from c; x1 8 from b */
        madd    x4, x3, x2, x0          /* [e] x3 8 from d; x2 8 from c; x0 8 from a */
        movk    x4, #9, lsl #16         /* [f] */
        mov     x5, x4                  /* [g] x4 2 from f; x4 6 from e */
        cmp     x0, #7                  /* [h] x0 8 from a */
        csel    x6, x5, x1, eq          /* [i] x5 8 from g; x1 8 from b */
        uxtb    w7, w6                  /* [j] x6 1 from i */
        eor     x8, x7, x6              /* [k] x7 8 from j; x6 8 from i */
        stp     x7, x8, [sp, #-16]!     /* [l] x7 8 from j; x8 8 from k */
        ldp     x9, x10, [sp], #16      /* [m] */
        mul     x11, x9, x10            /* [n] x9 8 from m; x10 8 from m */
        rev     x12, x11                /* [o] x11 8 from n */
        fmov    d0, x12                 /* [p] x12 8 from o */
        fmov    d1, x0                  /* [q] x0 8 from a */
        fadd    d2, d0, d1              /* [r] v0 8 from p; v1 8 from q */
        mov     v3.16b, v2.16b          /* [s] v2 16 from r */
        mov     v3.d[1], x12            /* [t] x12 8 from o */
        add     v4.4s, v3.4s, v2.4s     /* [u] v3 8 from s; v3 8 from t; v2 16 from r */
        fmov    x13, d4                 /* [v] v4 8 from u */
        lsl     x14, x13, x0            /* [w] x13 8 from v; x0 8 from a */
        tbz     x14, #0, 1f             /* [x] x14 4 from w */
1:      mov     x0, #0                  /* [y] */
        mov     x8, #93                 /* [z] */
        svc     #0
        .size   _start, . - _start
