# Every register edge between these instructions is written beside the one that reads; see tests/it/registers.rs.
# The stack pointer is control. x0 is no register, a0 to a7 are x10 to x17, s2 x18, t3 x28; words are extended to all 64 bits.
        .globl  _start
        .type   _start, @function
_start:
        li      a0, 7                   /* [a] */
        addi    a1, a0, 1               /* [b] x10 8 from a */
        addw    a2, a1, a0              /* [c] x11 4 from b; x10 4 from a */
        slli    a3, a2, 3               /* [d] x12 8 from c */
        mul     a4, a3, a1              /* [e] x13 8 from d; x11 8 from b */
        sub     a5, a4, a3              /* [f] x14 8 from e; x13 8 from d */
        mv      s1, a5                  /* [g] x15 8 from f */
        addi    sp, sp, -16             /* [h] */
        sd      s1, 0(sp)               /* [i] x9 8 from g */
        sw      a2, 8(sp)               /* [j] x12 4 from c */
        lw      t0, 8(sp)               /* [k] */
        ld      t1, 0(sp)               /* [l] */
        addi    sp, sp, 16              /* [m] */
        xor     t2, t0, t1              /* [n] x5 8 from k; x6 8 from l */
        sra     t3, t2, a0              /* [o] x7 8 from n; x10 8 from a */
        sltu    t4, t3, t2              /* [p] x28 8 from o; x7 8 from n */
        add     t5, t4, zero            /* [q] x29 8 from p */
        fcvt.d.l fa0, t3                /* [r] x28 8 from o */
        fcvt.d.l fa1, a1                /* [s] x11 8 from b */
        fmadd.d fa2, fa0, fa1, fa0      /* [t] f10 8 from r; f11 8 from s */
        fmv.x.d t6, fa2                 /* [u] f12 8 from t */
        div     s2, t6, a1              /* [v] x31 8 from u; x11 8 from b */
        remw    s3, s2, a0              /* [w] x18 4 from v; x10 4 from a */
        beq     s3, s2, 1f              /* [x] x19 8 from w; x18 8 from v */
1:      li      a0, 0                   /* [y] */
        li      a7, 93                  /* [z] */
        ecall
        .size   _start, . - _start
