/* One register of which functions write parts, in a random order and called by others each time: of its eight bytes there
 * are thousands of different patterns of writers. Without a library, so that it has few functions.
 *
 *     gcc -nostdlib -static -no-pie mosaic.c -o mosaic */
enum { ROUNDS = 4000 };

typedef void function(void);

#define PART(n, text) __attribute__((naked, noinline)) static void part##n(void) { __asm__(text "; ret"); }
PART(0, "mov $1, %ebx")
PART(1, "mov $2, %bl")
PART(2, "mov $3, %bh")
PART(3, "mov $4, %bx")
PART(4, "xor %bl, %bh")
PART(5, "add $5, %bx")
PART(6, "mov %bl, %bh")
PART(7, "mov %rbx, %rcx; mov %cl, %bl")
PART(8, "mov %bh, %ah; mov $6, %bl; mov %ah, %bh")
PART(9, "inc %bl; test %rbx, %rbx")
PART(10, "mov %ebx, %ecx; mov %ch, %bl")
PART(11, "mov $7, %ecx; mov %cx, %bx")
PART(12, "rol $8, %bx")
PART(13, "movzbl %bl, %ecx; mov %cl, %bh")
PART(14, "setc %bl; setc %bh")
PART(15, "movabs $1, %rbx; mov $8, %bh")
static function *const parts[] = { part0, part1, part2, part3, part4, part5, part6, part7,
                                   part8, part9, part10, part11, part12, part13, part14, part15 };

#define CALLER(n) \
    __attribute__((noinline)) static void caller##n(function *a, function *b, function *c) \
    { \
        __asm__ volatile("push %%rbx; call *%0; call *%1; call *%2; test %%rbx, %%rbx; mov %%bx, %%ax; pop %%rbx" \
                         :: "r"(a), "r"(b), "r"(c) : "rax", "rcx", "cc", "memory"); \
    }
CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
static void (*const callers[])(function *, function *, function *) = { caller0, caller1, caller2, caller3,
                                                                       caller4, caller5, caller6, caller7 };

static unsigned state = 1;

static unsigned below(unsigned most) { return ((state = state * 1103515245u + 12345u) >> 8) % most; }

__attribute__((used, noinline)) static void all(void)
{
    for (int rounds = ROUNDS; rounds > 0; rounds--) {
        function *of[3];
        for (int i = 0; i < 3; i++) of[i] = parts[below(16)];
        callers[below(8)](of[0], of[1], of[2]);
    }
}

__attribute__((naked)) void _start(void) { __asm__("call all; xor %edi, %edi; mov $60, %eax; syscall"); }
