#!/usr/bin/env python3
"""Programs that count their own calls, or the bytes that each of their functions reads of what another one wrote, compiled for
several processors in many ways, recorded, and compared: the truth comes from the program, not from addfg.

    fuzz/counted.py ADDFG FIRST..LAST [PROCESSOR,...]

For each seed one program of calls (loops, tables of functions, switches, variable arguments, structures, `qsort`, tail calls), one of
objects in C++ (virtual calls, exceptions through other functions, `siglongjmp`, handlers of signals with exceptions in them, threads),
on x86-64 with valgrind one of coroutines (`swapcontext`, `longjmp`, code of its own; passed on between threads), and one of bytes (loads, stores and atomic additions of all sizes, vectors, copies, `pread`). Prints what differs; ends with 1 if something
does.

Processors, each where its compiler and emulator are there: x86 (valgrind; sums while it runs are compared, too), x86q (QEMU), arm, aarch64,
riscv. Not among the ways to compile, as addfg counts there what the processor does, and the program what its source says: a jump that the
compiler puts into the caller's own code (-mindirect-branch=thunk-inline; by -mthumb-interwork with -ffunction-sections), and accesses
that the processor makes in pieces."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

COMMON = ["-g", "-w", "-fno-inline", "-fno-ipa-icf", "-fno-partial-inlining", "-fno-ipa-cp", "-static"]
OPTIMISED = ["-O0", "-O1", "-O2", "-O3", "-Os"]
FRAMES = [[], ["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"], ["-fno-optimize-sibling-calls"]]
OTHER = [[], [], ["-fstack-protector-all"], ["-freorder-blocks-and-partition"]]
ARMV7 = ["-march=armv7-a", "-mfloat-abi=softfp"]
# Compiler, emulator (none: valgrind), ways to compile.
PROCESSORS = {
    "x86": ("gcc", None, [[], ["-mindirect-branch=thunk"], ["-mfunction-return=thunk"], ["-fcf-protection=none"], ["-march=x86-64-v3"]]),
    "x86q": ("gcc", "qemu-x86_64", [[], ["-mindirect-branch=thunk"], ["-mfunction-return=thunk"], ["-mno-red-zone"]]),
    "arm": ("arm-linux-gnueabi-gcc", "qemu-arm", [
        ["-marm"], ["-marm", "-march=armv4"], ["-marm", "-march=armv4t"], ["-marm", "-mlong-calls"], ["-mthumb", "-march=armv5t"],
        ["-mthumb", "-march=armv6t2"], ["-mthumb", *ARMV7], ["-marm", *ARMV7], ["-mthumb", *ARMV7, "-mlong-calls"]]),
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", [
        ["-mno-outline-atomics", *way] for way in ([], ["-mbranch-protection=standard"], ["-mno-omit-leaf-frame-pointer"])]),
    "riscv": ("riscv64-linux-gnu-gcc", "qemu-riscv64", [[], ["-msave-restore"], ["-march=rv64g"], ["-march=rv64g", "-msave-restore"]]),
}


def of_calls(seed):
    """A program that prints how often each of its functions was called."""
    r = random.Random(seed)
    count = r.randint(6, 24)
    names = [f"f{i}" for i in range(count)]
    own = [None]

    # A function that calls itself last is a loop; one that a table has may be itself.
    def direct():
        return f"{r.choice([f for f in names if f != own[0]])}(d - 1, x + {r.randint(1, 99)})"

    def call():
        x = r.choice([f"x + {r.randint(1, 99)}", f"x ^ {r.randint(1, 99)}", f"x * {r.randint(2, 9)}"])
        return f"table[({x}) & 7](d - 1, {x})" if r.random() < .25 else direct()

    def statement(depth=0):
        inner = statement(depth + 1) if depth < 2 else "s++;"
        cases = " ".join(f"case {i}: s += {r.choice([call(), str(i * 3), f's * {i}'])}; break;" for i in range(7))
        return r.choice([
            f"s += {call()};", f"s += {call()};", f"s += {call()};",
            "memory[x & 63] = s; s ^= memory[(x >> 3) & 63];",
            f"for (int i = 0; i < {r.randint(1, 4)}; i++) {{ {inner} }}",
            f"if (x & {r.choice([1, 2, 4])}) {{ {inner} }}",
            f"switch (x % 7) {{ {cases} }}",
            "number = number * 1.25 + x; if (number > 1e9) number = 1; s += (int)number;",
            "{ int list[6] = {x, 3, s, 1, 7, 2}; qsort(list, 6, sizeof *list, compared); s += list[2]; }",
            f"s += added({r.randint(0, 3)}, s, x, 3);",
            f"s += large(x).part[{r.randint(0, 8)}];",
            f"{{ volatile char room[{r.choice([8, 200, 5000])}]; room[0] = x; room[sizeof room - 1] = s; s += room[0]; }}",
            f"if ((x & 31) == {r.randint(0, 31)}) return s + {call()};",
        ])

    kind = r.choice(["", "static "])
    text = f"""#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long calls[{count + 3}];
static long left = {r.choice([300, 3000, 20000])};
static double number = 1.5;
static int memory[64];
static int compared(const void *a, const void *b) {{ calls[{count}]++; return *(const int *)a - *(const int *)b; }}
static int added(int n, ...)
{{ calls[{count + 1}]++; va_list list; va_start(list, n); int s = 0; for (int i = 0; i < n; i++) s += va_arg(list, int); va_end(list); return s; }}
struct large {{ int part[9]; }};
static struct large large(int x) {{ calls[{count + 2}]++; struct large all; memset(&all, x & 7, sizeof all); return all; }}
"""
    text += "".join(f"{kind}int {f}(int, int);\n" for f in names)
    text += f"static int (*volatile table[8])(int, int) = {{{', '.join(r.choice(names) for _ in range(8))}}};\n"
    for i, f in enumerate(names):
        own[0] = f
        body = " ".join(statement() for _ in range(r.randint(1, 5)))
        back = r.choice([direct(), "s", f"s + {call()}", f"x & 1 ? {direct()} : {direct()}"])
        text += f"{kind}int {f}(int d, int x) {{ calls[{i}]++; if (d <= 0 || --left < 0) return x; int s = x; {body} return {back}; }}\n"
    text += "int main(void)\n{ int s = 0; for (int i = 0; i < 40; i++) s += "
    text += f"f0({r.randint(3, 9)}, i) + table[i & 7]({r.randint(2, 6)}, i);\n"
    text += "".join(f'printf("{f} %lu\\n", calls[{i}]);\n' for i, f in enumerate(names + ["compared", "added", "large"]))
    return text + 'printf("main 1\\n"); return s & 1; }\n'


OBJECTS = """#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
struct Count { unsigned long of[COUNT]; };
static thread_local Count mine;
static Count all;
static thread_local int left = LEFT;
static thread_local volatile int depth = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct V { virtual int v(int, int) = 0; virtual ~V() {} };
struct W { long pad = 1; virtual int w(int, int) = 0; };
static V *object(int);
static W *other(int);
static int (V::*volatile member[4])(int, int);
int thrower(int);
int cleaned(int, int);
int jumper(int);
"""


def of_objects(seed):
    """A program in C++ that prints how often each of its functions was called."""
    r = random.Random(seed)
    classes, count = r.randint(2, 5), r.randint(5, 12)
    functions = [f"f{i}" for i in range(count)]
    methods = [(c, m) for c in range(classes) for m in [f"m{i}" for i in range(r.randint(1, 3))] + ["v", "w"]]
    # The compiler makes destructors of its own beside these, so that they are not told.
    names = [f"{f}(int, int)" for f in functions] + [f"K{c}::{m}(int, int)" for c, m in methods] + [f"K{c}::K{c}(int)" for c in range(classes)]
    names += ["handled(int)", "raises(int)", "threaded(int)", "thrower(int)", "cleaned(int, int)", "jumper(int)"]
    counts = lambda name: f"mine.of[{names.index(name)}]++;"
    inside = [None]
    used = {what for what in ("throw", "signal", "jump", "std") if r.random() < .6}

    def call():
        x = r.choice([f"x + {r.randint(1, 99)}", f"x ^ {r.randint(1, 99)}"])
        k = r.choice([k for k in range(classes) if f"K{k}::m0" != inside[0]])
        return r.choice([f"{r.choice([f for f in functions if f != inside[0]])}(d - 1, {x})"] * 3 + [f"object(x)->v(d - 1, {x})"] * 2 + [
            f"other(x)->w(d - 1, {x})", f"K{k}({x}).m0(d - 1, {x})", f"(object(x)->*member[x & 3])(d - 1, {x})"])

    def statement(depth=0):
        inner = statement(depth + 1) if depth < 2 else "s++;"
        cases = " ".join(f"case {i}: s += {call()}; break;" for i in range(5))
        ways = [f"s += {call()};"] * 3 + [f"for (int i = 0; i < {r.randint(1, 3)}; i++) {{ {inner} }}",
                                          f"if (x & {r.choice([1, 2, 4])}) {{ {inner} }}", f"switch (x % 5) {{ {cases} }}"]
        if "throw" in used:
            thrown = f"if ((x & 7) == {r.randint(0, 7)}) throw x;"
            ways += [f"try {{ {inner} {thrown} s += {call()}; }} catch (int e) {{ s += e; {inner} }}",
                     f"try {{ s += {call()}; thrower(x); }} catch (long e) {{ s += e; }}",
                     "s += cleaned(d, x);", f"if ((x & 15) == {r.randint(0, 15)}) throw s;"]
        if "signal" in used:
            ways += [f"if ((x & 3) == {r.randint(0, 3)}) {{ depth = d; raise(SIGUSR{r.randint(1, 2)}); }}"] * 2
        if "jump" in used:
            ways.append("s += jumper(x);")
        if "std" in used:
            ways += ["{ std::vector<int> v{x, 3, s, 9, x * 7 & 255}; std::sort(v.begin(), v.end()); s += v[2] + std::to_string(x).size(); }",
                     f"{{ std::function<int(int)> g = [&](int y) {{ return y + {call()}; }}; s += g(x); }}"]
        return r.choice(ways)

    def function(head, name, fallback="x"):
        # Compilers make loops of functions that call themselves.
        inside[0] = head
        body = " ".join(statement() for _ in range(r.randint(1, 4)))
        last = lambda: f"{r.choice([f for f in functions if f != head])}(d - 1, x + {r.randint(1, 99)})"
        back = r.choice(["s", f"s + {call()}", last(), f"x & 1 ? {last()} : {last()}"])
        return f"int {head}(int d, int x) {{ {counts(name)} if (d <= 0 || --left < 0) return {fallback}; int s = x; {body} return {back}; }}\n"

    text = OBJECTS.replace("COUNT", str(len(names))).replace("LEFT", r.choice(["200", "1000", "4000"]))
    text += "".join(f"int {f}(int, int);\n" for f in functions)
    for c in range(classes):
        own = " ".join(f"{r.choice(['virtual ', ''])}int {m}(int, int);" for k, m in methods if k == c)
        text += f"struct K{c} : V, W {{ int a; K{c}(int x); ~K{c}() {{ if (left > 0) left--; }} {own} }};\n"
    for c in range(classes):
        text += f"K{c}::K{c}(int x) : a(x) {{ {counts(f'K{c}::K{c}(int)')} }}\n"
    text += "".join(function(f"K{c}::{m}", f"K{c}::{m}(int, int)", "x + a") for c, m in methods)
    text += "".join(function(f, f"{f}(int, int)") for f in functions)
    text += "".join(f"static K{c} k{c}({c});\n" for c in range(classes))
    for kind, name in (("V", "object"), ("W", "other")):
        cases = " ".join(f"case {c}: return &k{c};" for c in range(classes))
        text += f"static {kind} *{name}(int x) {{ switch ((unsigned)x % {classes}) {{ {cases} }} return &k0; }}\n"
    first, flags = r.choice(functions), [r.choice(["0", "SA_ONSTACK", "SA_NODEFER", "SA_RESTART"]) for _ in range(2)]
    text += f"""int thrower(int x) {{ {counts("thrower(int)")} if (x & 1) throw (long)x; return x; }}
int cleaned(int d, int x)
{{ {counts("cleaned(int, int)")} if (d <= 0 || --left < 0) return x; K0 k(x); int s = {call()}; if ((x & 3) == 2) throw x; return s + {call()}; }}
int jumper(int x)
{{ {counts("jumper(int)")} sigjmp_buf b; volatile int s = x; int k = sigsetjmp(b, x & 1); if (k < 3) siglongjmp(b, k + 1); return s + k; }}
static void handled(int)
{{ {counts("handled(int)")} int d = depth < 3 ? depth : 3; try {{ if (--left > 0) {first}(d - 1, left); }} catch (int) {{}} }}
static void raises(int) {{ {counts("raises(int)")} if (--left > 0 && depth > 1) {{ depth = 0; raise(SIGUSR1); }} }}
static int guarded(int x, int d)
{{ int s = 0; try {{ s = f0(d, x); }} catch (int) {{}} try {{ s += object(x)->v(d, x); }} catch (int) {{}} return s; }}
static void add() {{ pthread_mutex_lock(&lock); for (int i = 0; i < {len(names)}; i++) all.of[i] += mine.of[i]; pthread_mutex_unlock(&lock); }}
static void threaded(int n) {{ {counts("threaded(int)")} for (int i = 0; i < 6; i++) guarded(n + i, 3); add(); }}
static char stack[100000];
int main()
{{ int s = 0; for (auto &m : member) m = &V::v;
struct sigaction a = {{}}; a.sa_handler = handled; a.sa_flags = {flags[0]}; sigaction(SIGUSR1, &a, 0);
a.sa_handler = raises; a.sa_flags = {flags[1]}; sigaction(SIGUSR2, &a, 0);
stack_t k = {{}}; k.ss_sp = stack; k.ss_size = sizeof stack; sigaltstack(&k, 0);
for (int i = 0; i < {r.choice([10, 40])}; i++) s += guarded(i, {r.randint(2, 6)});
{{ std::vector<std::thread> t; for (int i = 0; i < {r.choice([0, 0, 1, 3])}; i++) t.emplace_back(threaded, i); for (auto &x : t) x.join(); }}
add();
"""
    text += "".join(f'printf("{name} %lu\\n", all.of[{i}]);\n' for i, name in enumerate(names))
    return text + 'printf("main 1\\n"); fflush(stdout); _exit(s & 1); }\n'


STACKS = """#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
static unsigned long calls[COUNT];
#define CALL(i) __atomic_fetch_add(&calls[i], 1, __ATOMIC_RELAXED)
static volatile int left = LEFT;
struct co { ucontext_t context; void *sp; jmp_buf jump; struct co *by; char *stack; int done, began, x; };
static __thread struct co *now, *threads_own;
struct co *self(void) { return now; }
void is_self(struct co *c) { now = c; }
struct co *own(void) { return threads_own; }
void switches(void **from, void *to);
int calls_on(char *top, int (*f)(int, int), int d, int x);
__asm__(".globl switches\\n.type switches,@function\\nswitches: push %rbp\\n push %rbx\\n push %r12\\n push %r13\\n push %r14\\n push %r15\\n"
    "mov %rsp, (%rdi)\\n mov %rsi, %rsp\\n pop %r15\\n pop %r14\\n pop %r13\\n pop %r12\\n pop %rbx\\n pop %rbp\\n GOES\\n.size switches,.-switches\\n");
__asm__(".globl calls_on\\n.type calls_on,@function\\ncalls_on: push %KEPT\\n mov %rsp, %KEPT\\n mov %rdi, %rsp\\n mov %rsi, %rax\\n mov %edx, %edi\\n"
    "mov %ecx, %esi\\n call *%rax\\n mov %KEPT, %rsp\\n pop %KEPT\\n ret\\n.size calls_on,.-calls_on\\n");
void entry(void);
"""


def of_stacks(seed):
    """A program whose coroutines go to and fro between stacks, and that prints how often each of its functions was called (x86-64)."""
    r = random.Random(f"stacks {seed}")
    functions = [f"f{i}" for i in range(r.randint(3, 9))]
    names = functions + ["yields", "resumes", "entry", "works", "switches", "calls_on"]
    counts = lambda name: f"CALL({names.index(name)});"
    way, threads, size = r.choice(["context", "switch", "jump"]), r.choice([0, 0, 2, 3]), r.choice([16384, 20000, 65536])
    moves = way == "switch" and threads and r.random() < .7
    inside = [None]

    def call():
        x = r.choice([f"x + {r.randint(1, 99)}", f"x ^ {r.randint(1, 99)}"])
        f = r.choice([f for f in functions if f != inside[0]])
        on = f"({{ {counts('calls_on')} char *k = malloc(40000); int v = calls_on((char *)((unsigned long)(k + 39000) & ~15ul), {f}, d - 1, {x}); free(k); v; }})"
        return r.choice([f"{f}(d - 1, {x})"] * 5 + [f"table[({x}) & 7](d - 1, {x})", on])

    def statement(depth=0):
        inner = statement(depth + 1) if depth < 2 else "s++;"
        return r.choice([f"s += {call()};", f"s += {call()};", "s += yields(x);", "s += yields(x + 1);",
                         f"for (int i = 0; i < {r.randint(1, 3)}; i++) {{ {inner} }}", f"if (x & {r.choice([1, 2, 4])}) {{ {inner} }}",
                         f"if ((x & 7) == {r.randint(0, 7)} && d > 1) {{ struct co *c = new(x); while (!resumes(c)) s++; gives(c); }}"])

    text = STACKS.replace("COUNT", str(len(names))).replace("LEFT", r.choice(["300", "1500", "5000"]))
    text = text.replace("GOES", r.choice(["ret", "pop %rcx\\n jmp *%rcx"])).replace("KEPT", r.choice(["rbp", "rbx", "r12"]))
    text += "".join(f"int {f}(int, int);\n" for f in functions) + "int yields(int);\nint resumes(struct co *);\n"
    table = ", ".join(r.choice(functions) for _ in range(8))
    text += f"static int (*volatile table[])(int, int) = {{ {table} }};\n"
    room = {"heap": f"malloc({size})", "mapped": f"mmap(0, {size}, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
            "array": f"stacks[__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) % 4096]"}[r.choice(["heap", "mapped", "array"])]
    text += f"""static char stacks[4096][{size if room.startswith("stacks") else 16}] __attribute__((aligned(16)));
static int taken;
static struct co *pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct co *new(int x)
{{ pthread_mutex_lock(&lock); struct co *c = pool; if (c) pool = c->by; pthread_mutex_unlock(&lock);
char *k = c ? c->stack : {room}; if (!c) c = malloc(sizeof *c); memset(c, 0, sizeof *c); c->stack = k; c->x = x;
void **top = (void **)((unsigned long)(k + {size - 100}) & ~15ul); *--top = 0; *--top = entry; for (int i = 0; i < 6; i++) *--top = 0; c->sp = top;
return c; }}
void gives(struct co *c) {{ pthread_mutex_lock(&lock); c->by = pool; pool = c; pthread_mutex_unlock(&lock); }}
"""
    go = {"context": "swapcontext(&{0}->context, &{1}->context);",
          "switch": counts("switches") + " switches(&{0}->sp, {1}->sp);",
          "jump": "if (!_setjmp({0}->jump)) {{ if ({1}->began) _longjmp({1}->jump, 1); {1}->began = 1; setcontext(&{1}->context); }}"}[way]
    begin = "" if way == "switch" else f"if (!c->began) {{ getcontext(&c->context); c->context.uc_stack.ss_sp = c->stack; c->context.uc_stack.ss_size = {size - 64}; makecontext(&c->context, entry, 0); {'c->began = 1;' if way == 'context' else ''} }}"
    text += f"""int yields(int x)
{{ {counts("yields")} struct co *volatile c = self(); struct co *volatile to = c->by; if (c == own()) return x; is_self(to); {go.format("c", "to")} return x & 3; }}
int resumes(struct co *volatile c)
{{ {counts("resumes")} struct co *volatile of = self(); c->by = of; {begin} is_self(c); {go.format("of", "c")} return c->done; }}
void entry(void)
{{ {counts("entry")} struct co *c = self(); int s = {r.choice(functions)}({r.randint(2, 5)}, c->x); c = self(); c->x = s; c->done = 1;
struct co *to = c->by; is_self(to); {go.format("c", "to")} abort(); }}
"""
    for f in functions:
        inside[0] = f
        body = " ".join(statement() for _ in range(r.randint(2, 6)))
        text += f"int {f}(int d, int x) {{ {counts(f)} if (d <= 0 || --left < 0) return x; int s = x; {body} return s; }}\n"
    kept = r.randint(1, 5)
    shared = "pthread_mutex_lock(&lock); struct co *c = queue[n % 64]; queue[n % 64] = 0; pthread_mutex_unlock(&lock);"
    text += f"""static struct co *queue[64];
void *works(void *of)
{{ {counts("works")} struct co *me = malloc(sizeof *me), *all[{kept}]; char here[{size}]; memset(me, 0, sizeof *me); me->began = 1; threads_own = me; is_self(me);
for (int i = 0; i < {kept}; i++) all[i] = new(i * 3 + (int)(long)of);
{f'if ({r.randint(0, 1)} && !pool) {{ struct co *c = new(7); char *k = c->stack; c->stack = here; c->sp = (char *)c->sp - k + here; c->sp = (void *)((unsigned long)c->sp & ~15ul); void **top = c->sp; top[6] = entry; all[0] = c; }}' if way == 'context' and not threads else ''}
for (int more = 1, n = 0; more && n < 4000; n++) {{ more = 0; for (int i = 0; i < {kept}; i++) if (all[i]) {{ more = 1; if (resumes(all[i])) all[i] = 0; }} }}
"""
    if moves:
        text += f"""for (int n = 0; n < 400; n++) {{ {shared}
if (!c) c = new(n); if (!resumes(c)) {{ pthread_mutex_lock(&lock); if (queue[n % 64]) queue[(n + 7) % 64] = c; else queue[n % 64] = c; pthread_mutex_unlock(&lock); }} if (n % 9 == 0) sched_yield(); }}
"""
    text += f"""return 0; }}
int main()
{{ pthread_t t[3]; for (long i = 0; i < {threads}; i++) pthread_create(t + i, 0, works, (void *)i); works((void *)9); for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);
"""
    text += "".join(f'printf("{name} %lu\\n", calls[{i}]);\n' for i, name in enumerate(names))
    return text + 'printf("main 1\\n"); fflush(stdout); _exit(0); }\n'


TYPES = [("unsigned char", 1), ("unsigned short", 2), ("unsigned int", 4), ("unsigned long long", 8), ("float", 4), ("double", 8)]
ROOM = 512


def of_bytes(seed, atomics, vectors):
    """A program that prints writer, reader and bytes for the bytes of `room`: nobody (or the kernel), or a function."""
    r = random.Random(seed)
    count = r.randint(4, 10)
    names = [f"f{i}" for i in range(count)]

    def access(own):
        kind, size = r.choice(TYPES)
        at = f"int a = (x * {r.randint(1, 9)} + {r.randint(0, 60)}) % {(ROOM - 64) // size} * {size};"
        reads, writes, place = f"reads({own}, a, {size});", f"writes({own}, a, {size});", f"*(volatile {kind} *)(room + a)"
        ways = [
            f"{{ {at} {reads} s += (int){place}; }}", f"{{ {at} {reads} s ^= (int){place}; }}",
            f"{{ {at} {writes} {place} = s & 127; }}", f"{{ {at} {writes} {place} = s & 63; }}",
            f"{{ {at} {reads} {writes} {place} += 1; }}", f"if (x & 1) {{ {at} {reads} s ^= (int){place}; }}",
            f"s += {r.choice(names)}(d - 1, x + {r.randint(1, 9)});", f"s += {r.choice(names)}(d - 1, x + {r.randint(1, 9)});",
        ]
        length = r.choice([1, 3, 8, 16, 31, 48, 100])
        ways.append(f"{{ int a = x * 7 & 127, b = 256 + (x * 3 & 63); reads({count}, a, {length}); writes({count}, b, {length}); copy(b, a, {length}); }}")
        ways.append(f"{{ int a = x * 5 & 255; writes(KERNEL, a, {length}); pread(file, room + a, {length}, x & 1023); }}")
        if atomics and size == 4 and kind != "float":
            ways.append(f"{{ {at} {reads} {writes} s += __atomic_fetch_add(({kind} *)(room + a), 3, __ATOMIC_SEQ_CST); }}")
        if vectors:
            both = f"reads({own}, a, 16); writes({own}, a + 256, 16);"
            ways.append(f"{{ int a = (x & 15) * 16; {both} *(volatile four *)(room + a + 256) = *(volatile four *)(room + a); }}")
        return r.choice(ways)

    text = f"""#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
enum {{ KERNEL = -1, FUNCTIONS = {count + 2} }};
typedef int four __attribute__((vector_size(16)));
__attribute__((aligned(64))) unsigned char room[{ROOM}];
static unsigned char writer[{ROOM}];
static unsigned long bytes[FUNCTIONS][FUNCTIONS];
static long left = 1500;
static int file;
static void reads(int who, int at, int n) {{ for (volatile int i = 0; i < n; i++) bytes[writer[at + i]][who + 1]++; }}
static void writes(int who, int at, int n) {{ for (volatile int i = 0; i < n; i++) writer[at + i] = who + 1; }}
static void copy(int to, int from, int n) {{ for (volatile int i = 0; i < n; i++) ((volatile unsigned char *)room)[to + i] = ((volatile unsigned char *)room)[from + i]; }}
"""
    text += "".join(f"int {f}(int, int);\n" for f in names)
    for i, f in enumerate(names):
        body = " ".join(access(i) for _ in range(r.randint(3, 8)))
        text += f"int {f}(int d, int x) {{ if (d <= 0 || --left < 0) return x; x &= 0xffff; int s = x; {body} return s; }}\n"
    named = ", ".join(f'"{f}"' for f in ["nobody", *names, "copy"])
    return text + f"""static const char *const name[] = {{{named}}};
int main(void)
{{ file = open("/proc/self/exe", O_RDONLY); int s = 0; for (int i = 0; i < 60; i++) s += f0(4, i * 11) + f1(3, i);
for (int a = 0; a < FUNCTIONS; a++) for (int b = 1; b < FUNCTIONS; b++) if (bytes[a][b]) printf("%s %s %lu\\n", name[a], name[b], bytes[a][b]);
return s & 1; }}
"""


CALLS = "SELECT name, calls FROM function_profile JOIN function_symbol USING (function_id)"
# What nobody wrote, and what the kernel did, is written by no step.
BYTES = """WITH own AS (SELECT address, size FROM variable WHERE name = 'room'),
     code AS (SELECT instruction_id, s.name FROM instruction LEFT JOIN function_symbol s USING (function_id)),
     of AS (SELECT c.* FROM communication c, own WHERE c.space = 'memory' AND c.address BETWEEN own.address AND own.address + own.size - 1)
SELECT coalesce(w.name, 'nobody') || ' ' || r.name, sum(of.bytes)
FROM of LEFT JOIN opcode_line wl ON wl.seq = of.write_seq LEFT JOIN code w ON w.instruction_id = wl.instruction_id
JOIN opcode_line rl ON rl.seq = of.read_seq JOIN code r ON r.instruction_id = rl.instruction_id GROUP BY ALL"""


def asked(addfg, db, sql):
    """Sums by name, parts that a compiler has made of a function counted as it."""
    output = subprocess.run([addfg, "sql", "--format", "csv", db, sql], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in output.splitlines()[1:]:
        name, _, number = line.rpartition(",")
        if ".cold" not in name:
            name = " ".join(part.split(".")[0] for part in name.strip('"').split())
            found[name] = found.get(name, 0) + int(number)
    return found


def runs(addfg, folder, seed, processor):
    """Each recording: what it is, what the program counted, what addfg did."""
    compiler, emulator, ways = PROCESSORS[processor]
    r = random.Random(f"{seed} {processor}")
    flags = [r.choice(OPTIMISED), *r.choice(FRAMES), *r.choice(OTHER), *r.choice(ways)]
    atomics = processor != "arm" or "-march=armv7-a" in flags
    programs = [("calls", of_calls(seed)), ("bytes", of_bytes(seed, atomics, processor != "arm" or atomics))]
    if shutil.which(compiler.replace("gcc", "g++")):
        programs.append(("objects", of_objects(seed)))
    if processor == "x86":
        programs.append(("stacks", of_stacks(seed)))
    for what, text in programs:
        source, program, db = (os.path.join(folder, name) for name in ("program.cc" if what == "objects" else "program.c", "program", "run.duckdb"))
        with open(source, "w") as file:
            file.write(text)
        compiles = [compiler.replace("gcc", "g++"), "-std=gnu++17", "-pthread"] if what == "objects" else [compiler, "-pthread"]
        subprocess.run([*compiles, *COMMON, *flags, "-o", program, source], check=True)
        run = subprocess.run([*([emulator] if emulator else []), program], capture_output=True, text=True)
        # An emulator that does not get through it.
        if run.returncode < 0:
            continue
        printed = run.stdout
        truth = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in printed.splitlines()}
        if what == "bytes":
            modes = [["--detail", "full"]]
        else:
            modes = [[], ["--detail", "instance"]] + ([["--no-steps"]] if not emulator else [])
        for mode in modes:
            by = ["--qemu", emulator] if emulator else []
            command = [addfg, "record", "--quiet", "--force", *mode, *by, "-o", db, "--", program]
            subprocess.run(command, stdout=subprocess.DEVNULL)
            found = asked(addfg, db, BYTES if what == "bytes" else CALLS)
            # Other functions of the program's libraries are called, too.
            own = truth if what != "bytes" else {**truth, **found}
            yield [what, *flags, *mode], truth, {name: found.get(name, 0) for name in own}


def main():
    if len(sys.argv) not in (3, 4) or ".." not in sys.argv[2]:
        sys.exit(__doc__)
    addfg, (first, last) = os.path.realpath(sys.argv[1]), map(int, sys.argv[2].split(".."))
    asked_for = sys.argv[3].split(",") if len(sys.argv) > 3 else list(PROCESSORS)
    chosen = [name for name in asked_for if all(map(shutil.which, [PROCESSORS[name][0], PROCESSORS[name][1] or "valgrind"]))]
    for name in asked_for:
        if name not in chosen:
            print(f"skipped: {name}: no compiler or emulator")
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            for processor in chosen:
                for how, truth, found in runs(addfg, folder, seed, processor):
                    compared += 1
                    apart = {name: (truth.get(name, 0), found[name]) for name in found if truth.get(name, 0) != found[name]}
                    if apart or not truth:
                        different += 1
                        print(seed, processor, *how, apart, flush=True)
    print(f"{compared} recordings, {different} differ")
    sys.exit(1 if different else 0)


main()
