# Exits that valgrind decides when it translates: a count and a comparison of constants.
.globl _start
_start:
    mov $3, %ebx
.Lagain:
    mov %rsp, %rdi
    sub $256, %rdi
    lea -64(%rsp), %rsi
    mov $1, %ecx
    rep movsb
    mov $5, %eax
    cmp $6, %eax
    je .Lagain
    dec %ebx
    jnz .Lagain
    mov $60, %eax
    xor %edi, %edi
    syscall
