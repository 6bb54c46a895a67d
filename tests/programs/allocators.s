# Functions with the names of allocation functions, and with names that are like them. What a recorder has to tell of a call
# stands behind it, in the words of recorders/stream/dump.py.
        .macro function name
        .text
        .globl "\name"
        .type "\name", @function
"\name":
        .endm

        .macro ends name
        .size "\name", . - "\name"
        .endm

        # Gives its first argument and 0x100.
        .macro gives name
        function "\name"
        leaq 0x100(%rdi), %rax
        ret
        ends "\name"
        .endm

        # Its three arguments in registers.
        .macro is name, first, second, third
        movq $\first, %rdi
        movq $\second, %rsi
        movq $\third, %rdx
        call "\name"
        .endm

        .irp name, malloc, calloc, realloc, reallocarray, memalign, aligned_alloc, valloc, pvalloc, free, cfree, free_sized
        gives \name
        .endr
        .irp name, free_aligned_sized, _malloc_r, _calloc_r, _realloc_r, _memalign_r, _free_r
        gives \name
        .endr
        # new, new[], aligned, without exceptions; delete, delete[], with a size, with an alignment.
        .irp name, _Znwm, _Znam, _ZnwmSt11align_val_t, _ZnamRKSt9nothrow_t, _ZdlPv, _ZdaPv, _ZdlPvm, _ZdaPvSt11align_val_t
        gives \name
        .endr
        # Placement new and delete; one whose size is no `unsigned`; one of another argument; the operator of a call.
        .irp name, _ZnwmPv, _ZnamPv, _ZdlPvS_, _ZnwlPv, _Znwl, _ZdlPKc, _ZN1ZclEm
        gives \name
        .endr
        # As libraries name what they call themselves.
        .irp name, __GI_calloc, __GI___libc_memalign, __libc_free, __malloc, __realloc
        gives \name
        .endr
        .irp name, ____malloc, _free, xmalloc, mallocs, mallo, _GI_malloc, malloc_r, GI_calloc, libc_free, main_malloc
        gives \name
        .endr

        function posix_memalign
        cmpq $0, %rdx
        je 1f
        leaq 0x7000(%rdx), %rax
        movq %rax, (%rdi)
        xorl %eax, %eax
        ret
1:      movl $12, %eax
        ret
        ends posix_memalign

        # Asks two others, the last one by a jump.
        function __libc_valloc
        pushq %rdi
        movq $1, %rdi
        call calloc
        popq %rdi
        jmp malloc
        ends __libc_valloc

        # Takes back what it is given, by another one.
        function __libc_realloc
        call free
        leaq 0x300(%rsi), %rax
        ret
        ends __libc_realloc

        # Is left by a jump to a stack that lies above.
        function __pvalloc
        leaq 8(%rsp), %rsp
        jmp left
        ends __pvalloc

        # Does as much as the stack has below, then returns.
        function deep
        cmpq $0, %rdi
        je 1f
        decq %rdi
        call deep
1:      ret
        ends deep

        function pool_take
        leaq 0x40(%rsi), %rax
        ret
        ends pool_take

        function pool_takes
        ret
        ends pool_takes

        function _start
        is malloc, 0x11, 0x12, 0x13             #= allocate 0x111 0x11
        is calloc, 0x21, 0x22, 0x23             #= allocate 0x121 0x462
        is realloc, 0x31, 0x32, 0x33            #= reallocate 0x31
                                                #= allocate 0x131 0x32
        is realloc, 0, 0x34, 0x35               #= allocate 0x100 0x34
        is reallocarray, 0x41, 0x42, 0x43       #= reallocate 0x41
                                                #= allocate 0x141 0x1146
        is memalign, 0x51, 0x52, 0x53           #= allocate 0x151 0x52
        is aligned_alloc, 0x61, 0x62, 0x63      #= allocate 0x161 0x62
        is valloc, 0x71, 0x72, 0x73             #= allocate 0x171 0x71
        is pvalloc, 0x81, 0x82, 0x83            #= allocate 0x181 0x81
        is free, 0x91, 0x92, 0x93               #= free 0x91
        is free, 0, 0x92, 0x93
        is cfree, 0xa1, 0xa2, 0xa3              #= free 0xa1
        is free_sized, 0xb1, 0xb2, 0xb3         #= free 0xb1
        is free_aligned_sized, 0xc1, 0xc2, 0xc3 #= free 0xc1
        is _malloc_r, 0xd1, 0xd2, 0xd3          #= allocate 0x1d1 0xd2
        is _calloc_r, 0xe1, 0xe2, 0xe3          #= allocate 0x1e1 0xc866
        is _realloc_r, 0xf1, 0xf2, 0xf3         #= reallocate 0xf2
                                                #= allocate 0x1f1 0xf3
        is _memalign_r, 0x201, 0x202, 0x203     #= allocate 0x301 0x203
        is _free_r, 0x211, 0x212, 0x213         #= free 0x212
        is _Znwm, 0x221, 0x222, 0x223           #= allocate 0x321 0x221
        is _Znam, 0x231, 0x232, 0x233           #= allocate 0x331 0x231
        is _ZnwmSt11align_val_t, 0x241, 0x242, 0x243    #= allocate 0x341 0x241
        is _ZnamRKSt9nothrow_t, 0x251, 0x252, 0x253     #= allocate 0x351 0x251
        is _ZdlPv, 0x261, 0x262, 0x263          #= free 0x261
        is _ZdaPv, 0x271, 0x272, 0x273          #= free 0x271
        is _ZdlPvm, 0x281, 0x282, 0x283         #= free 0x281
        is _ZdaPvSt11align_val_t, 0x291, 0x292, 0x293   #= free 0x291
        .irp name, _ZnwmPv, _ZnamPv, _ZdlPvS_, _ZnwlPv, _Znwl, _ZdlPKc, _ZN1ZclEm
        is \name, 0x2a1, 0x2a2, 0x2a3
        .endr
        is __GI_calloc, 0x301, 0x302, 0x303     #= allocate 0x401 0x90902
        is __GI___libc_memalign, 0x311, 0x312, 0x313    #= allocate 0x411 0x312
        is __libc_free, 0x321, 0x322, 0x323     #= free 0x321
        is __malloc, 0x331, 0x332, 0x333        #= allocate 0x431 0x331
        is __realloc, 0x341, 0x342, 0x343       #= reallocate 0x341
                                                #= allocate 0x441 0x342
        .irp name, ____malloc, _free, xmalloc, mallocs, mallo, _GI_malloc, malloc_r, GI_calloc, libc_free, main_malloc
        is \name, 0x351, 0x352, 0x353
        .endr
        is posix_memalign, place, 0x362, 0x363  #= allocate 0x7363 0x363
        # It gives nothing.
        is posix_memalign, place, 0x372, 0      #= allocate 0x0 0x0
        # More than there is.
        is calloc, 0x381, -1, 0                 #= allocate 0x481 0xffffffffffffffff
        is calloc, 0x100000000, 0xffffffff, 0   #= allocate 0x100000100 0xffffffff00000000
        is calloc, 0x100000000, 0x100000000, 0  #= allocate 0x100000100 0xffffffffffffffff
        # What asks another one is the one that was asked.
        is __libc_valloc, 0x391, 0x392, 0x393   #= allocate 0x491 0x391
        is __libc_realloc, 0x3a1, 0x3a2, 0x3a3  #= reallocate 0x3a1
                                                #= allocate 0x6a2 0x3a2
        is malloc, 0x3b1, 0, 0                  #= allocate 0x4b1 0x3b1
        # One that was left is over where another one is asked from a stack above.
        leaq -0x200(%rsp), %rsp
        is __pvalloc, 0x3c1, 0, 0
left:   leaq 0x200(%rsp), %rsp
        is malloc, 0x3d1, 0, 0                  #= allocate 0x4d1 0x3d1
        is deep, 3, 0, 0
        is malloc, 0x3e1, 0, 0                  #= allocate 0x4e1 0x3e1
        # The program's own, `pool_take=realloc`, and one that only begins so.
        is pool_take, 0x3f1, 0x3f2, 0x3f3       #= reallocate 0x3f1
                                                #= allocate 0x432 0x3f2
        is pool_takes, 0x401, 0x402, 0x403
        movl $60, %eax
        xorl %edi, %edi
        syscall
        ends _start

        # valgrind reads the names of what has data.
        .data
        .balign 16
place:  .quad 0, 0
