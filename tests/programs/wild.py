#!/usr/bin/env python3
"""wild.py SEED [OPERATIONS [MORE...]]: prints a random program in x86-64 assembly, which ends with code 0.

    wild.py 7 > wild.s; gcc -nostdlib -static -no-pie wild.s -o wild

Functions store, load, push, pop, copy, call and return as no compiler would: parts of registers and of stores, at
every offset, saves that are read otherwise, overwritten or restored in parts. Values do not matter: no address depends
on one that was not cut to its range. Every function is called.

MORE: threads (that end, and others get their numbers), signals (that functions raise, and a timer's), jumps (out of several
functions), memory (that is mapped, moved, taken back), marks (addfg_mark.h), stop (a function that marks and ends it all),
wide (instructions with many registers or bytes, that are left in the middle, or load what they need only), crowd (with threads:
more of them than bits in a word), stubs (functions are called through a linkage table, whose entries jump or find the function
first), tight (stores of all sizes into the middle of each other), fed (what has just been restored is read, if it was restored),
peek (with threads: stacks of other threads are read), high (memory and code at addresses of more than 32 bits),
plain (with signals: handlers that are left by a return to where the signal came), around (parts of vectors are written anew at once, so that one write is left in pieces), index (an address and one that is it and a number that a register has), still (no value is another one in each run).
"""

import random
import re
import sys

GENERAL = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "rbp", "r12", "r13", "r14", "r15"]
KEPT = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
LETTERS = {"rax": "a", "rcx": "c", "rdx": "d", "rbx": "b"}
# Bytes of the area that stores and loads meet in: few, so that they overlap.
AREA = 160
# Steps of a function with all that it calls.
MOST = 2500
# Pages that come and go, at two places.
PAGES, LOW_PAGES, HIGH_PAGES = 4, 0x20000000, 0x30000000
# The last function that a handler calls.
HANDLED = 2
# Pages, and the program's own text, far above.
FAR = 0x7fabc0000
# Bytes of `tight`.
TIGHT = 40

# What `wide` has, besides frames and reads of all registers.
WIDE = ["frame", "frame", "all", "all", "cpuid", "mul %{a}", "imul ${c}, {n}, %{a}", "cqto", "bswap %{a}", "movbe {n}, %{a}",
        "fnsave wide+256; frstor wide+256", "fxsave wide+512; fxrstor wide+512", "fnstenv wide+256; fldenv wide+256", "fxsave wide+512",
        "lock cmpxchg16b {o}", "mov {o}, %rax; mov 8+{o}, %rdx; lock cmpxchg16b {o}", "lock cmpxchg8b {v}", "lock incq {n}", "btsl ${c}, {n}",
        "pushf; popf", "mov {n}, %{a}; mov {n}, %{a}", "cmovc {n}, %{a}", "adc {n}, %{a}", "sbb %{a}, {n}", "popcnt {n}, %{a}",
        "pextrb ${c}, %xmm{x}, {n}", "pinsrb ${c}, {n}, %xmm{x}", "vextractf128 ${k}, %ymm{w}, {n}", "vinsertf128 $1, {n}, %ymm{w}, %ymm{w}",
        "vbroadcastss {n}, %ymm{w}", "vpbroadcastb {n}, %xmm{x}", "pshufb {o}, %xmm{x}", "movdqu {n}, %xmm{x}; movdqu %xmm{x}, {v}",
        "jmp {l}; {l}:; vpxor %xmm{x}, %xmm{x}, %xmm{x}; vpcmpeqd %xmm8, %xmm8, %xmm8; vpgatherdd %xmm8, area+{c}(,%xmm{x},4), %xmm9; jmp {l}x; {l}x:",
        "lea {n}, %rdi; mov ${t}, %ecx; repne scasb", "lea {n}, %rdi; lea {v}, %rsi; mov ${t}, %ecx; repe cmpsb", "lea {n}, %rdi; stosw; stosl",
        "lea {v}, %rsi; lea {n}, %rdi; movsw; movsb", "mov %{s}, {n}; movzbl {n}, %eax", "vmovups %ymm{w}, {v}; vmovups {v}, %ymm{w}",
        "movlps {f}, %xmm{x}; movhps {f}, %xmm{x}", "mov {f}, %{a}; mov %{a}, {n}", "addq $1, {f}; subq $1, {f}", "movups %xmm{y}, {v}; mov 8+{v}, %{a}",
        "punpcklbw %xmm{y}, %xmm{x}", "vzeroall", "fldt {v}; fstpt 3+{v}", "emms", "xchg %{a}, %rax; xchg %ah, %al", "movnti %{a}, {v}"]


def part(name, size):
    """The name of a register's lowest bytes."""
    if size == 8:
        return name
    if name[1].isdigit():
        return name + {4: "d", 2: "w", 1: "b"}[size]
    if size == 4:
        return "e" + name[1:]
    if size == 2:
        return name[1:]
    return name[1:] + "l" if name[2] in "ip" else name[1] + "l"


class Function:
    """One function's text; `depth`: bytes on the stack above its frame."""

    def __init__(self, program, number):
        self.program, self.number, self.r = program, number, program.r
        self.text, self.steps, self.depth, self.labels = [], 0, 0, 0
        self.frame = 8 * self.r.randrange(0, 9)
        self.saved = self.r.sample(KEPT, self.r.choice([0, 0, 1, 2, 3, 6]))
        # A vector that is saved lies below the places of the frame. Stores to a place are of the same bytes: one into the
        # middle of a save is not summed exactly (docs/sums.md).
        self.whole = self.r.randrange(4) if self.frame >= 32 and self.r.random() < 0.4 else None
        self.places = []
        for at in range(32 if self.whole is not None else 0, self.frame, 8):
            size = self.r.choice([1, 2, 4, 8, 8])
            self.places.append((at + self.r.randrange(9 - size), size))

    def say(self, line):
        # The second byte of a register goes with the first eight registers only.
        if re.search(r"%[acdb]h\b", line) and re.search(r"%r\d", line):
            return
        self.text.append("\t" + line)
        self.steps += 1

    def has(self, what):
        return what in self.program.more

    def page_place(self, size):
        """In pages that come and go: near their borders mostly."""
        if self.r.random() < 0.2:
            index = self.register()
            self.say(f"mov heap, %{index}")
            return f"{self.r.randrange(60)}(%{index})"
        at = 4096 * self.r.randrange(PAGES) + self.r.choice([self.r.randrange(40), self.r.randrange(40), 2048, 4088 - self.r.randrange(20)])
        at = min(at, 4096 * PAGES - size)
        return f"{self.r.choice([LOW_PAGES, LOW_PAGES, HIGH_PAGES]) + at}"

    def label(self):
        self.labels += 1
        return f".L{self.number}_{self.labels}"

    def register(self):
        return self.r.choice(GENERAL)

    def stored_at(self, size):
        """A place for a store."""
        if self.has("memory") and self.r.random() < 0.2:
            return self.page_place(size)
        if self.has("high") and self.r.random() < 0.2:
            return self.far(size)
        kind = self.r.randrange(10)
        places = [at for at, of in self.places if of == size]
        if kind < 3 and places:
            return f"{self.depth + self.r.choice(places)}(%rsp)"
        if kind == 3 and size == 8:
            return f"-{8 * self.r.randrange(1, 9)}(%rsp)"
        if kind == 4:
            index = self.register()
            self.say(f"and ${self.r.choice([7, 31, 63])}, %{index}")
            return f"{self.r.choice(['area', 'zeros'])}+{self.r.randrange(40)}(,%{index},{self.r.choice([1, 1, 2])})"
        if kind == 5:
            return f"zeros+{self.r.randrange(AREA)}"
        return f"area+{self.r.randrange(AREA)}"

    def loaded_from(self, size):
        kind = self.r.randrange(14)
        if kind == 0:
            # Of callers: frames, what they saved, where they return to.
            return f"{self.depth + self.frame + self.r.randrange(0, 80)}(%rsp)"
        if kind == 12:
            return f"{self.depth + self.r.randrange(self.frame + 1)}(%rsp)"
        if kind == 13:
            return f"-{size + self.r.randrange(60)}(%rsp)"
        if kind == 1:
            return f"fixed+{self.r.randrange(64)}"
        if kind == 2:
            return f"{self.r.choice(['edge', 'area', 'zeros'])}-{self.r.randrange(size)}"
        if kind == 3:
            index = self.register()
            self.say(f"and $1, %{index}")
            self.say(f"shl $6, %{index}")
            return f"{self.r.choice(['fixed', 'area'])}(%{index})" if self.r.random() < 0.5 else f"many(,%{index},8)"
        return self.stored_at(size)

    def move(self):
        size = self.r.choice([1, 2, 4, 8, 8])
        a, b = self.register(), self.register()
        kind = self.r.randrange(12)
        if kind == 0:
            self.say(f"mov ${self.r.randrange(100)}, %{part(a, size)}")
        elif kind == 1:
            self.say(f"add %{part(a, size)}, %{part(b, size)}")
        elif kind == 2 and a in LETTERS and b in LETTERS:
            self.say(f"mov %{LETTERS[a]}h, %{LETTERS[b]}{self.r.choice('hl')}")
        elif kind == 3:
            self.say(f"movzbl %{part(a, 1)}, %{part(b, 4)}")
        elif kind == 4:
            self.say(f"{self.r.choice(['cmovc', 'cmovne'])} %{part(a, 4)}, %{part(b, 4)}")
        elif kind == 5:
            self.say(f"{self.r.choice(['setc', 'sete', 'setns'])} %{part(a, 1)}")
        elif kind == 6:
            self.say(f"xchg %{part(a, size)}, %{part(b, size)}")
        elif kind == 7:
            self.say(f"lea 5(%{a},%{b}), %{self.register()}")
        elif kind == 8:
            self.say(f"{self.r.choice(['xor', 'sub', 'cmp', 'test'])} %{part(a, size)}, %{part(b, size)}")
        elif kind == 9:
            self.say(f"movsbw %{part(a, 1)}, %{part(b, 2)}")
        else:
            self.say(f"mov %{part(a, size)}, %{part(b, size)}")

    def load(self):
        size = self.r.choice([1, 2, 4, 8, 8])
        place, kind = self.loaded_from(size), self.r.randrange(5)
        to = self.register()
        if kind == 0 and to in LETTERS:
            self.say(f"mov {place}, %{LETTERS[to]}h")
        elif kind == 1:
            self.say(f"add {place}, %{part(to, size)}")
        elif kind == 2:
            self.say(f"movzwl {place}, %{part(to, 4)}")
        else:
            self.say(f"mov {place}, %{part(to, size)}")

    def store(self):
        size = self.r.choice([1, 2, 4, 8, 8])
        place, kind = self.stored_at(size), self.r.randrange(7)
        of = self.register()
        if kind == 0 and of in LETTERS:
            self.say(f"mov %{LETTERS[of]}h, {place}")
        elif kind == 1:
            self.say(f"add %{part(of, size)}, {place}")
        elif kind == 2:
            self.say(f"mov{' bw l   q'[size]} $7, {place}")
        elif kind == 3:
            self.say(f"{self.r.choice(['lock xadd', 'xchg'])} %{part(of, size)}, {place}")
        elif kind == 4:
            place = f"area+{self.r.randrange(AREA)}"
            if self.r.random() < 0.5:
                self.say(f"mov {place}, %{part('rax', size)}")
            self.say(f"lock cmpxchg %{part(of, size)}, {place}")
        else:
            self.say(f"mov %{part(of, size)}, {place}")

    def vector(self):
        """Registers of 32 bytes are 0 to 3; of those from 4 on parts are written, too (docs/sums.md has what is not exact)."""
        loads = [("vmovups {m}, %ymm{w}", 32), ("movups {m}, %xmm{w}", 16), ("movups {m}, %xmm{p}", 16), ("movss {m}, %xmm{p}", 4),
                 ("movsd {m}, %xmm{p}", 8), ("movhps {m}, %xmm{p}", 8), ("movlps {m}, %xmm{p}", 8), ("movq {m}, %mm{p}", 8),
                 ("fldt {m}\n\tfstpt {n}", 10), ("fldl {m}\n\tfstps {n}", 8)]
        stores = [("vmovups %ymm{w}, {m}", 32), ("movups %xmm{p}, {m}", 16), ("movups %xmm{w}, {m}", 16), ("movss %xmm{p}, {m}", 4),
                  ("movhps %xmm{p}, {m}", 8), ("movsd %xmm{w}, {m}", 8)]
        others = ["movss %xmm{q}, %xmm{p}", "pinsrw ${q}, %eax, %xmm{p}", "vaddps %ymm{w}, %ymm{v}, %ymm{w}", "movq %xmm{p}, %rdx",
                  "movd %ecx, %xmm{p}", "vaddps %xmm{p}, %xmm{q}, %xmm{w}", "movhlps %xmm{p}, %xmm{q}", "vzeroupper"]
        r = self.r.randrange
        names = {"w": r(4), "v": r(4), "p": 4 + r(4), "q": 4 + r(4), "n": f"area+{r(AREA)}"}
        kind = r(7)
        if kind < 3:
            text, size = self.r.choice(loads)
            self.say(text.format(m=self.loaded_from(size), **names))
        elif kind < 5:
            text, size = self.r.choice(stores)
            self.say(text.format(m=self.stored_at(size), **names))
        else:
            self.say(self.r.choice(others).format(**names))

    def stack(self):
        a, b = self.register(), self.register()
        kind = self.r.randrange(4)
        self.say(f"push %{a}" if kind else "push $9")
        self.depth += 8
        for _ in range(self.r.randrange(3)):
            self.operation()
        self.depth -= 8
        self.say(f"pop %{a if kind > 1 else b}")

    def copy(self):
        what, size = self.r.choice([("movsb", 1), ("movsb", 1), ("movsq", 8), ("stosb", 1), ("lodsw", 2)])
        self.say(f"lea area+{self.r.randrange(AREA)}, %rsi")
        self.say(f"lea {self.r.choice(['area', 'zeros'])}+{self.r.randrange(AREA)}, %rdi")
        times = self.r.choice([0, 1, 2, 3, 9])
        self.say(f"mov ${times}, %ecx")
        self.say(f"rep {what}")
        self.steps += times

    def masked(self):
        """Loads and stores that are made or not: in a block without x87, which valgrind cannot have in one with these."""
        first, last = self.label(), self.label()
        self.say(f"jmp {first}\n{first}:")
        self.say(f"pcmpeqd %xmm{4 + self.r.randrange(4)}, %xmm{4 + self.r.randrange(4)}")
        self.say(f"vmaskmovps area+{self.r.randrange(AREA)}, %xmm{4 + self.r.randrange(4)}, %xmm{4 + self.r.randrange(4)}")
        self.say(f"vmaskmovps %xmm{4 + self.r.randrange(4)}, %xmm{4 + self.r.randrange(4)}, area+{self.r.randrange(AREA)}")
        self.say(f"jmp {last}\n{last}:")

    def wide(self):
        """All of what instructions do that compilers use seldom."""
        r, text = self.r.randrange, self.r.choice(WIDE)
        if text == "frame":
            self.say("push %rbp\n\tmov %rsp, %rbp\n\tsub $24, %rsp")
            self.depth += 32
            for _ in range(r(1, 4)):
                self.operation()
            self.depth -= 32
            return self.say("mov %rbp, %rsp\n\tpop %rbp" if r(2) else "leave")
        if text == "all":
            # Who wrote each of them: more than a read has room for.
            names = self.r.sample(GENERAL, r(6, 16))
            for name in names:
                size = self.r.choice([2, 4, 8])
                self.say(f"test %{part(name, size)}, %{part(self.register(), size)}" if r(2) else f"add %{name}, %{name}")
            return None
        names = {"a": self.register(), "x": 4 + r(4), "y": 4 + r(4), "w": r(4), "n": f"area+{r(AREA)}", "o": f"wide+{16 * r(8)}",
                 "v": f"wide+{r(60)}", "k": r(2), "c": r(8), "l": self.label(), "s": self.r.choice(["ax", "bx", "cx", "dx"]),
                 "t": self.r.choice([1, 2, 5]), "f": f"{self.depth + 8 * r(12)}(%rsp)"}
        for line in text.format(**names).split("; "):
            self.say(line)
        return None

    def around(self):
        """Parts of a vector are written anew in the same straight code, before and behind others."""
        r, x = self.r.randrange, self.r.randrange(8)
        whole = ["vmovups {m}, %ymm{x}", "vmovups {m}, %ymm{x}", "movups {m}, %xmm{x}", "vaddps %ymm{y}, %ymm{x}, %ymm{x}"]
        # All of the second eight bytes are not taken: docs/sums.md has what is not exact.
        pieces = ["pinsrb ${b}, {m}, %xmm{x}", "pinsrb ${b}, {m}, %xmm{x}", "pinsrw ${w}, {m}, %xmm{x}", "pinsrd ${d}, %ecx, %xmm{x}",
                  "movlps {m}, %xmm{x}", "movss %xmm{y}, %xmm{x}", "insertps ${i}, %xmm{y}, %xmm{x}"]
        reads = ["vmovups %ymm{x}, {m}", "movups %xmm{x}, {m}", "movhps %xmm{x}, {m}", "vaddps %ymm{x}, %ymm{y}, %ymm{y}", "pextrb ${b}, %xmm{x}, {m}"]
        lines = [self.r.choice(whole)] + [self.r.choice(pieces) for _ in range(r(1, 4))] + [self.r.choice(reads) for _ in range(r(2))]
        for line in lines:
            self.say(line.format(m=f"area+{r(AREA)}", x=x, y=r(8), b=r(16), w=r(8), d=r(2), i=16 * r(2)))

    def index(self):
        """Addresses that are another one and a number, which stands on either side of the sum, or is taken away."""
        r = self.r.randrange
        a, b = self.r.sample(GENERAL, 2)
        self.say(f"and ${self.r.choice([7, 31])}, %{b}")
        lines = [f"movb ${r(90)}, area+{r(60)}(%{b})", f"mov $area+{r(60)}, %{a}", f"movb ${r(90)}, (%{a},%{b})", f"add $-{r(9)}, %{a}", f"addb $1, {r(60)}(%{a},%{b})",
                 f"lea area+{r(60)}(%{b}), %{a}", f"incb -{r(5)}(%{a})", f"sub $-{r(20)}, %{a}", f"movb $1, {r(20)}(%{a})"]
        for line in lines[:r(2, 6)] + lines[5:r(6, 10)]:
            self.say(line)

    def branch(self):
        over = self.label()
        self.say(f"cmp %{self.register()}, %{self.register()}")
        self.say(f"{self.r.choice(['jc', 'jne', 'je', 'js', 'jle'])} {over}")
        for _ in range(self.r.randrange(1, 4)):
            self.operation()
        self.text.append(over + ":")

    def loop(self):
        again, times, steps = self.label(), self.r.randrange(2, 6), self.steps
        self.say(f"push ${times}")
        self.depth += 8
        self.text.append(again + ":")
        for _ in range(self.r.randrange(1, 4)):
            self.operation()
        self.say("decl (%rsp)")
        self.say(f"jnz {again}")
        self.depth -= 8
        self.say("lea 8(%rsp), %rsp")
        self.steps += (self.steps - steps) * (times - 1)

    def call(self):
        to = self.program.callee(MOST - self.steps)
        if to is None:
            return
        kind = self.r.randrange(6)
        if self.has("stubs") and self.r.random() < 0.6:
            self.say(f"call {self.r.choice(['stub', 'stub', 'lazy'])}{to.number}")
        elif self.has("high") and not self.has("stubs") and self.r.random() < 0.3:
            self.say(f"movabs $f{to.number} + {FAR - 0x400000}, %rax")
            self.say("call *%rax")
        elif kind == 0:
            self.say(f"mov $f{to.number}, %rax")
            self.say("call *%rax")
        elif kind == 1:
            self.say(f"call *table+{8 * to.number}")
        else:
            self.say(f"call f{to.number}")
        self.steps += to.steps

    def system(self):
        kind = self.r.randrange(4)
        self.say(f"lea area+{self.r.randrange(AREA)}, %rsi")
        self.say(f"mov ${self.r.choice([0, 1, 3, 8, 40])}, %edx")
        if kind == 0:
            self.say("mov $1, %edi")
        else:
            self.say("mov null, %edi")
        self.say(f"mov ${0 if kind == 2 else 1}, %eax" if kind < 3 or self.has("still") else "mov $39, %eax")
        self.say("syscall")

    def random_bytes(self):
        """The kernel writes into the middle of what was stored."""
        if self.has("still"):
            return
        self.say(f"lea area+{self.r.randrange(AREA)}, %rdi")
        self.say(f"mov ${self.r.choice([1, 5, 16])}, %esi")
        self.say("xor %edx, %edx")
        self.say("mov $318, %eax")
        self.say("syscall")

    # ---- what is done only if it is asked for ----

    def calls(self, number, **registers):
        """A system call; without `eax`."""
        for name, value in registers.items():
            self.say(f"mov {value}, %{name}")
        self.say(f"mov ${number}, %eax")
        self.say("syscall")

    def far(self, size):
        """A place far above."""
        index = self.register()
        self.say(f"mov ${FAR + 0x100000 + self.r.choice([0, 4096, 8192, 8192]) - self.r.randrange(size + 20) + 20}, %{index}")
        return f"{self.r.randrange(20)}(%{index})"

    def far_pages(self):
        """They come and go, or are the program's file."""
        at, bytes_ = FAR + 0x100000 + 4096 * self.r.randrange(2), 4096 * self.r.randrange(1, 3) - self.r.randrange(100)
        if self.r.random() < 0.5:
            return self.calls(9, rdi=f"${at}", esi=f"${bytes_}", edx="$3", r10="$0x32", r8="$-1", r9="$0")
        return self.calls(9, rdi=f"${at}", esi=f"${bytes_}", edx="$3", r10="$0x12", r8="own", r9="$0x1000")

    def tight(self):
        """Stores go into the middle of others, which are read in pieces, by the kernel, too."""
        r, choice = self.r.randrange, self.r.choice
        middle = r(TIGHT)
        # In pages that may be moved, too: over the border of two.
        of = choice(["tight"] + [str(at + 4096 * r(1, PAGES) - TIGHT // 2) for at in (LOW_PAGES, LOW_PAGES, HIGH_PAGES)]) if self.has("memory") else "tight"
        near = lambda size: f"{of}+{min(max(0, middle - size // 2 + r(-4, 5)), TIGHT)}"
        for _ in range(r(2, 7)):
            kind, a = r(10), self.register()
            size = choice([1, 1, 2, 2, 4, 4, 8, 8, 16, 32])
            if kind < 5:
                text = f"mov %{part(a, size)}, {near(size)}" if size <= 8 else f"{'movups %xmm' if size == 16 else 'vmovups %ymm'}{r(4)}, {near(size)}"
                self.say(text)
            elif kind < 8:
                text = f"mov {near(size)}, %{part(a, size)}" if size <= 8 else f"{'movups' if size == 16 else 'vmovups'} {near(size)}, %{'xy'[size // 32]}mm{r(4)}"
                self.say(text)
            elif kind == 8:
                # Within one region: docs/sums.md has what is not exact.
                place, bytes_ = near(8), r(1, 30)
                self.calls(1, edi="null", esi=f"${place if of == 'tight' else 'tight'}", edx=f"${bytes_}")
            elif r(3):
                self.say(choice([f"fstpt {near(10)}", f"fldt {near(10)}", f"addl $1, {near(4)}", f"lock incq {near(8)}", f"movlps {near(8)}, %xmm{r(4)}"]))
            elif not self.has("still"):
                self.calls(318, edi=f"${near(8)}", esi=f"${choice([1, 3, 12])}", edx="$0")

    def peek(self):
        """Of another thread's stack: what it has saved, and where it returns to."""
        size = self.r.choice([1, 4, 8, 8, 8])
        self.say(f"mov stacks+{16384 * self.r.randrange(1, 5) - 8 * self.r.randrange(1, 40)}, %{part(self.register(), size)}")

    def maybe_spoilt(self, places):
        """Each time or not, what is saved is overwritten or read otherwise."""
        over = self.label()
        self.say(f"incl turns\n\ttestl ${self.r.choice([1, 2, 3, 4])}, turns")
        self.say(f"{self.r.choice(['jz', 'jnz'])} {over}")
        for at in places:
            a = self.register()
            kind = self.r.randrange(4)
            if kind == 0:
                self.say(f"mov %{a}, {at}(%rsp)")
            elif kind == 1:
                self.say(f"mov {at}(%rsp), %{a}")
            elif kind == 2:
                self.say(f"mov {at + self.r.randrange(5)}(%rsp), %{part(a, 2)}")
        self.text.append(over + ":")

    def fed(self, names):
        """What has just been restored is read: all of it, or a part."""
        for name in names:
            if self.r.random() < 0.6:
                continue
            size = self.r.choice([1, 2, 4, 8, 8])
            self.say(self.r.choice([f"add %{part(name, size)}, %{part('rax', size)}", f"mov %{part(name, size)}, {self.r.choice(['area', 'zeros'])}+{self.r.randrange(AREA)}",
                                    f"test %{part(name, size)}, %{part(name, size)}", f"movzbl %{part(name, 1)}, %ecx", f"lea 3(%{name},%{self.register()}), %rdx"]))

    def turn(self):
        self.calls(24)

    def raised(self):
        self.calls(186)
        self.say("mov %eax, %edi")
        self.calls(200, esi=f"${self.r.choice([10, 12])}")
        self.steps += 300

    def plain(self):
        """The handler returns to what it has interrupted, as to a caller: nothing else ends it."""
        here, act = self.label(), f"act{self.number}_{self.labels}"
        self.say(f".data\n{act}:\t.quad handler{self.r.randrange(HANDLED + 1)}, 0x44000004, {here}, 0\n\t.text")
        self.calls(13, edi="$16", esi=f"${act}", edx="$0", r10="$8")
        # Its frame lies below: functions have their stack pointer again.
        self.say("mov %rsp, plain_stack")
        self.calls(186)
        self.say("mov %eax, %edi")
        self.calls(200, esi="$16")
        self.text.append(here + ":")
        self.say("mov plain_stack, %rsp")
        self.steps += 300

    def pages(self):
        r = self.r.randrange
        first = r(PAGES)
        count = r(PAGES - first) + 1
        low, high, bytes_ = LOW_PAGES + 4096 * first, HIGH_PAGES + 4096 * first, 4096 * count - r(100)
        fresh = lambda at: self.calls(9, edi=f"${at}", esi=f"${bytes_}", edx="$3", r10="$0x32", r8="$-1", r9="$0")
        kind = r(7)
        if kind == 0:
            self.calls(11, edi=f"${low}", esi=f"${bytes_}")
            fresh(low)
        elif kind == 1:
            fresh(self.r.choice([low, high]))
        elif kind == 2:
            # Moved; what is left behind is mapped again.
            self.calls(25, edi=f"${low}", esi=f"${bytes_}", edx=f"${bytes_}", r10="$3", r8=f"${high}")
            fresh(low)
        elif kind == 3:
            self.calls(28, edi=f"${low}", esi=f"${bytes_}", edx="$4")
        elif kind == 4:
            # The program's own file: its sections lie there.
            self.calls(9, edi=f"${low}", esi=f"${min(bytes_, 8000)}", edx="$3", r10="$0x12", r8="own", r9="$0x1000")
        elif kind == 5:
            # Grows, is written to, shrinks, and grows again: what was written is gone.
            at = 4096 + r(200)
            for size in (50000 + r(3000), 4096 + r(100), self.r.choice([45000, 5000]) + r(3000)):
                self.say("mov heap, %rdi")
                self.say(f"add ${size}, %rdi")
                self.calls(12)
                self.say("mov heap, %rsi")
                self.say(f"mov %rcx, {at}(%rsi)" if size >= 45000 else "nop")
                self.say(f"mov {at + r(9)}(%rsi), %r8" if size < 45000 and at + 20 < size else f"mov {r(4000)}(%rsi), %r9")
        else:
            self.calls(10, edi=f"${low}", esi=f"${bytes_}", edx="$3")

    def file(self):
        self.calls(17, edi="own", esi=f"$area+{self.r.randrange(AREA)}", edx=f"${self.r.choice([1, 4, 30])}", r10="$64")

    def caught(self):
        """What jumps out of functions comes here."""
        here = self.label()
        self.say("push caught_stack")
        self.say("push caught_at")
        self.depth += 16
        self.say("mov %rsp, caught_stack")
        self.say(f"movq ${here}, caught_at")
        for _ in range(self.r.randrange(1, 4)):
            self.operation()
        self.call()
        self.text.append(here + ":")
        self.say("mov caught_stack, %rsp")
        self.say("pop caught_at")
        self.say("pop caught_stack")
        self.depth -= 16

    def thrown(self):
        over = self.label()
        self.say("cmpq $0, caught_at")
        self.say(f"je {over}")
        self.say(f"test $1, %{part(self.register(), 1)}")
        self.say(f"jz {over}")
        self.say("mov caught_stack, %rsp")
        self.say("jmp *caught_at")
        self.text.append(over + ":")

    def mark(self):
        self.say("lea marks, %rax\n\txor %edx, %edx\n\trol $3, %rdi\n\trol $13, %rdi\n\trol $61, %rdi\n\trol $51, %rdi\n\txchg %rbx, %rbx")

    def stop(self):
        self.say("call stop")

    def more(self):
        """What else it may do, and how often."""
        of = {"wide": [(self.wide, 5)], "threads": [(self.turn, 1)], "memory": [(self.pages, 0.7), (self.file, 0.3)], "marks": [(self.mark, 0.3)],
              "high": [(self.far_pages, 0.3)], "tight": [(self.tight, 2)], "peek": [(self.peek, 2)], "around": [(self.around, 3)], "index": [(self.index, 3)]}
        # Handlers call the first ones.
        if self.number > HANDLED:
            of["signals"] = [(self.raised, 0.4)]
            of["plain"] = [(self.plain, 0.6)]
            of["jumps"] = [(self.caught, 0.6), (self.thrown, 0.8)]
            of["stop"] = [(self.stop, 0.5)]
        return [one for name in self.program.more for one in of.get(name, [])]

    def operation(self):
        what = [(self.move, 6), (self.load, 7), (self.store, 7), (self.vector, 4), (self.stack, 2), (self.copy, 0.6), (self.branch, 1.2),
                (self.loop, 0.6), (self.call, 2.5), (self.system, 0.5), (self.random_bytes, 0.3), (self.masked, 0.2)]
        what += self.more()
        if self.steps < MOST:
            self.r.choices([w for w, _ in what], [n for _, n in what])[0]()

    def body(self, operations):
        self.text.append(f"\t.globl f{self.number}\n\t.type f{self.number}, @function\nf{self.number}:")
        for name in self.saved:
            self.say(f"push %{name}")
        if self.frame:
            self.say(f"sub ${self.frame}, %rsp")
        vector = self.whole
        if vector is not None:
            self.say(f"vmovups %ymm{vector}, (%rsp)" if vector & 1 else f"movups %xmm{vector}, 8(%rsp)")
        for _ in range(operations):
            self.operation()
        if vector is not None:
            self.say(f"vmovups (%rsp), %ymm{vector}" if vector & 1 else f"movups 8(%rsp), %xmm{vector}")
        left = list(reversed(self.saved))
        if self.has("fed") and left and self.r.random() < 0.6:
            self.maybe_spoilt([self.frame + 8 * i for i in range(len(left)) if self.r.random() < 0.6])
        # Restores by loads, in parts, of another register.
        for i, name in enumerate(left):
            kind, at = self.r.randrange(12), self.frame + 8 * i
            if kind == 0:
                self.say(f"mov {at}(%rsp), %{name}")
            elif kind == 1:
                self.say(f"mov {at}(%rsp), %{part(name, 4)}")
            elif kind == 2:
                self.say(f"mov {at}(%rsp), %{self.register()}")
        if self.frame:
            self.say(f"add ${self.frame}, %rsp")
        for name in left:
            self.say(f"pop %{name}")
            if self.has("fed"):
                self.fed([name])
        if self.has("fed"):
            self.fed(left)
        tail = self.program.callee(300) if self.r.random() < 0.2 else None
        if tail:
            self.say(f"jmp {self.r.choice(['f', 'stub', 'lazy']) if self.has('stubs') else 'f'}{tail.number}")
            self.steps += tail.steps
        else:
            self.say("ret")
        self.text.append(f"\t.size f{self.number}, .-f{self.number}")


class Program:
    def __init__(self, seed, operations, more=()):
        self.r, self.functions, self.more = random.Random(seed), [], more
        # Those that are called are made first.
        for number in range(self.r.randrange(6, 26)):
            made = Function(self, number)
            made.body(self.r.randrange(1, operations))
            self.functions.append(made)

    def callee(self, most):
        few = [f for f in self.functions if f.steps <= most]
        return self.r.choice(few) if few else None

    def begin(self):
        """What the program does before all else."""
        lines = ["\tmov $2, %eax\n\tlea name, %rdi\n\tmov $2, %esi\n\tsyscall", "\tmov %eax, null"]
        if "memory" in self.more or "high" in self.more:
            lines.append("\tmov $2, %eax\n\tlea itself, %rdi\n\txor %esi, %esi\n\tsyscall\n\tmov %eax, own")
        if "high" in self.more:
            # The text once more, and pages.
            for number, at, size, what, flags, file, offset in ((9, FAR + 0x1000, "$etext - 0x401000", 5, 0x12, "own", 0x1000), (9, FAR + 0xff000, "$20480", 3, 0x32, "$-1", 0)):
                lines.append(f"\tmov ${number}, %eax\n\tmov ${at}, %rdi\n\tmov {size}, %esi\n\tmov ${what}, %edx\n\tmov ${flags}, %r10\n\tmov {file}, %r8\n\tmov ${offset}, %r9\n\tsyscall")
        if "memory" in self.more:
            lines.append("\tmov $12, %eax\n\txor %edi, %edi\n\tsyscall\n\tmov %rax, heap\n\tlea 4096(%rax), %rdi\n\tmov $12, %eax\n\tsyscall")
            for at in (LOW_PAGES, HIGH_PAGES):
                lines.append(f"\tmov $9, %eax\n\tmov ${at}, %edi\n\tmov ${4096 * PAGES}, %esi\n\tmov $3, %edx\n\tmov $0x32, %r10\n\tmov $-1, %r8\n\txor %r9, %r9\n\tsyscall")
        if "signals" in self.more:
            for number, act in ((10, 0), (12, 1), (14, 2)):
                lines.append(f"\tmov $13, %eax\n\tmov ${number}, %edi\n\tmov $act{act}, %esi\n\txor %edx, %edx\n\tmov $8, %r10\n\tsyscall")
            lines.append("\tmov $38, %eax\n\txor %edi, %edi\n\tmov $timer, %esi\n\txor %edx, %edx\n\tsyscall")
        return lines

    def thread(self, number):
        """A thread begins; it calls some functions and ends."""
        calls = "".join(f"\n\tcall f{self.r.choice(self.functions).number}" for _ in range(self.r.randrange(1, 4)))
        again, self.threads = f".Lt{self.threads}", self.threads + 1
        # The kernel stores 0 where it ends. What it stores for its parent is told when the parent's call ends, which is later.
        flags = 0x250f00
        return (f"\tmov $56, %eax\n\tmov ${flags}, %edi\n\tlea stacks+{16384 * (number + 1)}, %rsi\n\tlea numbers+{8 * number}, %rdx"
                f"\n\tlea numbers+{8 * number}, %r10\n\tmovq $1, numbers+{8 * number}\n\txor %r8, %r8\n\tsyscall\n\ttest %eax, %eax\n\tjnz {again}{calls}"
                f"\n\tmov $60, %eax\n\txor %edi, %edi\n\tsyscall\n{again}:")

    def waited(self, number):
        again, self.threads = f".Lt{self.threads}", self.threads + 1
        return f"{again}:\n\tmov $24, %eax\n\tsyscall\n\tcmpl $0, numbers+{8 * number}\n\tjne {again}"

    def main(self):
        calls = [f"\tcall f{made.number}" for made in reversed(self.functions)]
        # The root, which has no caller, stores what others left in registers where no frame is, and loads it again.
        for at in range(len(calls) if self.more else 0):
            name, place = self.r.choice(KEPT), self.r.choice(["area", "zeros"]) + f"+{8 * self.r.randrange(12)}"
            calls[at] += f"\n\tmov %{name}, {place}" + (f"\n\tmov {place}, %{name}" if self.r.random() < 0.6 else "")
        if "fed" in self.more:
            # It saves on its stack, which may be read otherwise before it is restored.
            for at in range(len(calls)):
                name, other = self.r.choice(KEPT), self.r.choice(["nop", "nop", "mov (%rsp), %rcx", "movw $7, 3(%rsp)", "movzwl 2(%rsp), %ecx"])
                if self.r.random() < 0.6:
                    calls[at] = f"\tpush %{name}\n{calls[at]}\n\t{other}\n\tpop %{name}\n\tadd %{name}, %rax"
        if "threads" not in self.more:
            return calls
        lines, runs, self.threads = [], set(), 0
        for _ in range(70 if "crowd" in self.more else 0):
            lines += [self.thread(0), self.waited(0)]
        for call in calls:
            number = self.r.randrange(4)
            if number in runs:
                lines.append(self.waited(number))
                runs.discard(number)
            elif self.r.random() < 0.7:
                lines.append(self.thread(number))
                runs.add(number)
            lines.append(call)
        # Some end with the program.
        return lines + [self.waited(number) for number in runs if self.r.random() < 0.7]

    def stubs(self):
        """A linkage table: entries jump, or say their number to what finds the function."""
        lines = ['\t.section .plt, "ax", @progbits', "\t.balign 16", "head:\tpush one(%rip)\n\tjmp *finder(%rip)\n\t.balign 16"]
        for made in self.functions:
            n = made.number
            lines.append(f"stub{n}:\tendbr64\n\tjmp *table+{8 * n}(%rip)\n\t.balign 16" if n % 3 else f"stub{n}:\tjmp *table+{8 * n}(%rip)\n\t.balign 16")
        for made in self.functions:
            lines.append(f"lazy{made.number}:\t.byte 0x68\n\t.long {made.number}\n\tjmp head\n\t.balign 16")
        # What it finds is where the number says; it may call a function, which has made its own arguments.
        lines += ["\t.text\n\t.type find, @function\nfind:\tpush %rbx\n\tpush %rax"]
        lines += ["\tcall f0"] if self.r.random() < 0.5 else []
        lines += ["\tmov 24(%rsp), %rbx\n\tmov table(,%rbx,8), %r11\n\tpop %rax\n\tpop %rbx\n\tadd $16, %rsp\n\tjmp *%r11\n\t.size find, .-find"]
        return lines + ["\t.data\none:\t.quad 1\nfinder:\t.quad find\n\t.text"]

    def __str__(self):
        lines = ["\t.text"]
        for made in self.functions:
            lines += made.text
        lines += ["\t.globl _start\n\t.type _start, @function\n_start:"] + self.begin() + self.main()
        lines += [f"\txor %edi, %edi\n\tmov ${231 if self.more else 60}, %eax\n\tsyscall\n\t.size _start, .-_start"]
        if "signals" in self.more:
            for number in range(HANDLED + 1):
                # What is looked at all the time may take longer than the timer does: that ends.
                rings = "\tdecl rings\n\tjnz .Lrings\n\tmov $38, %eax\n\txor %edi, %edi\n\tmov $never, %esi\n\txor %edx, %edx\n\tsyscall\n.Lrings:\n" if number == HANDLED else ""
                lines.append(f"\t.type handler{number}, @function\nhandler{number}:\n{rings}\tcall f{number}\n\tret\n\t.size handler{number}, .-handler{number}")
            lines.append("\t.type restorer, @function\nrestorer:\n\tmov $15, %eax\n\tsyscall\n\t.size restorer, .-restorer")
        if "stubs" in self.more:
            lines += self.stubs()
        if "stop" in self.more:
            stop = Function(self, 99)
            stop.mark()
            lines += ["\t.globl stop\n\t.type stop, @function\nstop:"] + stop.text
            lines += ["\txor %edi, %edi\n\tmov $231, %eax\n\tsyscall\n\t.size stop, .-stop"]
        lines += ["\t.section .rodata", "fixed:\t.fill 256, 1, 3", 'name:\t.string "/dev/null"']
        lines += ["\t.data", "area:\t.fill 512, 1, 5", "table:"] + [f"\t.quad f{made.number}" for made in self.functions]
        if "tight" in self.more:
            lines.append(f"\t.balign 8\n\t.skip 16, 3\ntight:\t.fill {TIGHT + 80}, 1, 0")
        if "fed" in self.more:
            lines.append("turns:\t.long 0")
        if "plain" in self.more:
            lines.append("plain_stack:\t.quad 0")
        if "wide" in self.more:
            lines.append("\t.balign 64\nwide:\t.fill 1024, 1, 0")
        lines += ["null:\t.long 0", "edge:", "\t.bss", "zeros:\t.zero 512", "many:\t.zero 8192"]
        if self.more:
            acts = "".join(f"\nact{n}:\t.quad handler{n}, {flags}, restorer, 0" for n, flags in enumerate([0x44000004, 0x04000004, 0x04000000]))
            lines += ["\t.data", "own:\t.quad 0\nheap:\t.quad 0\ncaught_stack:\t.quad 0\ncaught_at:\t.quad 0\nnumbers:\t.zero 64"]
            lines += ["marks:\t.quad 0x41460002, 7, 0, 0, 0, 0\ntimer:\t.quad 0, 2000, 0, 2000\nnever:\t.quad 0, 0, 0, 0\nrings:\t.long 400" + (acts if "signals" in self.more else "")]
            lines += ['itself:\t.string "/proc/self/exe"', "\t.bss", "\t.balign 16\nstacks:\t.zero 65536"]
        return "\n".join(lines) + '\n\t.section .note.GNU-stack, ""'


if __name__ == "__main__":
    print(Program(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16, sys.argv[3:]))
