#!/usr/bin/env python3
"""wild.py SEED [OPERATIONS]: prints a random program in x86-64 assembly, which ends with code 0.

    wild.py 7 > wild.s; gcc -nostdlib -static -no-pie wild.s -o wild

Functions store, load, push, pop, copy, call and return as no compiler would: parts of registers and of stores, at
every offset, saves that are read otherwise, overwritten or restored in parts. Values do not matter: no address depends
on one that was not cut to its range. Every function is called.
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

    def label(self):
        self.labels += 1
        return f".L{self.number}_{self.labels}"

    def register(self):
        return self.r.choice(GENERAL)

    def stored_at(self, size):
        """A place for a store."""
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
        if kind == 0:
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
        self.say(f"mov ${0 if kind == 2 else 1}, %eax" if kind < 3 else "mov $39, %eax")
        self.say("syscall")

    def random_bytes(self):
        """The kernel writes into the middle of what was stored."""
        self.say(f"lea area+{self.r.randrange(AREA)}, %rdi")
        self.say(f"mov ${self.r.choice([1, 5, 16])}, %esi")
        self.say("xor %edx, %edx")
        self.say("mov $318, %eax")
        self.say("syscall")

    def operation(self):
        what = [(self.move, 6), (self.load, 7), (self.store, 7), (self.vector, 4), (self.stack, 2), (self.copy, 0.6), (self.branch, 1.2),
                (self.loop, 0.6), (self.call, 2.5), (self.system, 0.5), (self.random_bytes, 0.3), (self.masked, 0.2)]
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
        tail = self.program.callee(300) if self.r.random() < 0.2 else None
        if tail:
            self.say(f"jmp f{tail.number}")
            self.steps += tail.steps
        else:
            self.say("ret")
        self.text.append(f"\t.size f{self.number}, .-f{self.number}")


class Program:
    def __init__(self, seed, operations):
        self.r, self.functions = random.Random(seed), []
        # Those that are called are made first.
        for number in range(self.r.randrange(6, 26)):
            made = Function(self, number)
            made.body(self.r.randrange(1, operations))
            self.functions.append(made)

    def callee(self, most):
        few = [f for f in self.functions if f.steps <= most]
        return self.r.choice(few) if few else None

    def __str__(self):
        lines = ["\t.text"]
        for made in self.functions:
            lines += made.text
        lines += ["\t.globl _start\n\t.type _start, @function\n_start:", "\tmov $2, %eax\n\tlea name, %rdi\n\tmov $2, %esi\n\tsyscall",
                  "\tmov %eax, null"]
        lines += [f"\tcall f{made.number}" for made in reversed(self.functions)]
        lines += ["\txor %edi, %edi\n\tmov $60, %eax\n\tsyscall\n\t.size _start, .-_start"]
        lines += ["\t.section .rodata", "fixed:\t.fill 256, 1, 3", 'name:\t.string "/dev/null"']
        lines += ["\t.data", "area:\t.fill 512, 1, 5", "table:"] + [f"\t.quad f{made.number}" for made in self.functions]
        lines += ["null:\t.long 0", "edge:", "\t.bss", "zeros:\t.zero 512", "many:\t.zero 8192"]
        return "\n".join(lines) + '\n\t.section .note.GNU-stack, ""'


if __name__ == "__main__":
    print(Program(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16))
