# Functions that leave something, of which there are ALL at once; then what is left of each is only in one place while
# others need their numbers. With --sums-numbers=16 there is room for fifteen functions, with _start.
        .altmacro
        .macro function name, code:vararg
        .type \name, @function
\name:  \code
        ret
        .size \name, . - \name
        .endm

        .macro leaves n
        function f\n, movb $1, cells + \n
        .endm
        .macro calls n
        call f\n
        .endm

        # Each takes the byte of the one before.
        .macro comes n
        function e\n, movb $2, cells + 32
        .endm
        .macro passes n
        call e\n
        .endm

        .macro times count, what
        .set n, 0
        .rept \count
        .set n, n + 1
        \what %n
        .endr
        .endm

        .text
        .globl _start
        .type _start, @function
_start:
        times ALL, calls
        .if ALL < 15
        # All of it is overwritten, and read.
        mov cells, %rax
        add cells + 8, %rax
        movq $0, cells
        movq $0, cells + 8
        call whole
        call part
        call vector
        call saved
        call stored
        movb $5, cells + 43
        call saves
        mov %rbx, read
        mov %cl, read + 8
        mov %rbp, read + 16
        movups %xmm3, read + 32
        mov cells + 40, %rax
        add cells + 43, %al
        add cells + 32, %al
        # Those that there were before, again.
        mov $1, %rbx
        mov $2, %rcx
        mov $3, %rbp
        movups cells + 64, %xmm3
        movq $4, cells + 40
        movb $5, cells + 32
        times (ALL-1), calls
        add cells, %rax
        add cells + 8, %rax
        mov %rax, read
        .endif
        xor %edi, %edi
        mov $231, %eax
        syscall
        .size _start, . - _start

        times ALL, leaves
        times 30, comes
        function whole, mov $1, %rbx
        function part, mov $2, %cl
        function vector, movups cells + 64, %xmm3
        function saved, mov $3, %rbp
        function stored, movq $4, cells + 40

        # What `saved` has left is nowhere but on the stack.
        .type saves, @function
saves:  push %rbp
        mov $6, %rbp
        times 15, passes
        pop %rbp
        push %rbp
        mov $7, %rbp
        times 30, passes
        pop %rbp
        ret
        .size saves, . - saves

        .data
        .balign 64
cells:  .skip 128, 9
read:   .skip 64, 9
        .section .note.GNU-stack, "", @progbits
