#!/usr/bin/env python3
"""faulting.py SEED: prints a random program in x86-64 assembly that is left in the middle of its blocks by faults.
faulting.py SEED PROGRAM < steps: whether steps and accesses as recorders/stream/dump.py prints them are all that it does.

Each of its pieces runs twice: the second time an instruction of it faults, and a handler goes on behind the piece. What it
does is known here, instruction by instruction: no value matters.
"""

import random
import subprocess
import sys

AREA, PIECES = 128, 60
# Texts and accesses: L and S, offset in the area, bytes; `=`, `+`: what it does to where %rsi points.
PLAIN = [("add area+{n}, %rax", "L{n}:8"), ("add {n}(%rbx), %rcx", "L{n}:8"), ("mov %cx, {n}(%rbx)", "S{n}:2"), ("lea 1(%rcx), %rcx", ""),
         ("mov %rcx, area+{n}", "S{n}:8"), ("lock incq {n}(%rbx)", "L{n}:8 S{n}:8"), ("addl $1, {n}(%rbx)", "L{n}:4 S{n}:4"),
         ("movups %xmm1, {n}(%rbx)", "S{n}:16"), ("lea {n}(%rbx), %rsi", "="), ("add 5(%rsi), %al", "L+5:1"), ("mov %al, -3(%rsi)", "S+-3:1"),
         ("add $4, %rsi", "+4"), ("sub $4, %rsi", "+-4"), ("mov %rsi, %rsi", ""), ("add area(%rbp), %dl", "L8:1"), ("nop", ""),
         ("add area+2(,%rbp,1), %dx", "L10:2"), ("xchg %rcx, {n}(%rbx)", "L{n}:8 S{n}:8"),
         ("lock xaddl %ecx, {n}(%rbx)", "L{n}:4 S{n}:4"), ("adc 9(%rsi), %rcx", "L+9:8")]
FAULTS = [("add (%r15), %rdx", "L64:8"), ("mov %rdx, (%r15)", "S64:8"), ("incq (%r15)", "L64:8 S64:8"), ("movups %xmm2, (%r15)", "S64:16"),
          ("lock incl (%r15)", "L64:4 S64:4"), ("add 8(%r15), %dl", "L72:1"), ("movsd %xmm2, 16(%r15)", "S80:8")]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.text, self.run, self.count = [], [], 0

    def say(self, line, does="", runs=True):
        """An instruction with a name; gives what it does when it runs."""
        self.count += 1
        self.text.append(f"i{self.count}:\t{line}")
        one = (f"i{self.count}", does.split())
        if runs:
            self.run.append(one)
        return one

    def call(self, number, *registers):
        for name, value in zip(("rdi", "rsi", "rdx", "r10"), registers):
            self.say(f"mov ${value}, %{name}")
        self.say(f"mov ${number}, %eax")
        self.say("syscall")

    def piece(self, number):
        """Gives its instructions, and which of them faults."""
        r, rows, at = self.r, [], None
        for _ in range(r.randrange(12)):
            text, does = r.choice(PLAIN)
            n = r.randrange(AREA - 16)
            does = does.format(n=n)
            if does == "=":
                at = n
            elif does[:1] == "+":
                if at is None or not 8 < at + int(does[1:]) < AREA - 16:
                    continue
                at += int(does[1:])
            elif does[1:2] == "+":
                if at is None or at < 8:
                    continue
                kind, more, size = does[0], *does[2:].split(":")
                rows.append(self.say(text, f"{kind}{at + int(more)}:{size}", False))
                continue
            rows.append(self.say(text.format(n=n), does if does[:1] in ("L", "S") else "", False))
        return rows

    def make(self):
        r = self.r
        self.call(13, 11, "act", 0, 8)
        self.say("mov $area, %rbx")
        self.say("mov $8, %ebp")
        handler = []
        for number in range(PIECES):
            self.say(f"mov $behind{number}, %r14")
            self.say("mov $area+64, %r15")
            first = self.say("mov %r14, %r13", "", False)
            self.text[-1] = f"again{number}:\n" + self.text[-1]
            before = self.piece(number)
            fault = [self.say(*r.choice(FAULTS), False)]
            rest = self.piece(number)
            jump = [self.say("xor %r15d, %r15d", "", False), self.say(f"jmp again{number}", "", False)]
            self.text.append(f"behind{number}:")
            self.run += [first] + before + fault + rest + jump
            self.run += [first] + before + fault[:-1]
            self.run.append("handler")
        self.call(60, 0)
        self.text.append("handler:")
        handler = [self.say("mov 88(%rdx), %rax", "L?:8", False), self.say("mov %rax, 168(%rdx)", "S?:8", False), self.say("ret", "L?:8", False)]
        self.text.append("restorer:")
        handler += [self.say("mov $15, %eax", "", False), self.say("syscall", "", False)]
        self.run = [one for row in self.run for one in (handler if row == "handler" else [row])]

    def __str__(self):
        return "\n".join(["\t.text\n\t.globl _start\n_start:", *self.text, "\t.data\nact:\t.quad handler, 0x04000004, restorer, 0",
                          f"area:\t.fill {AREA}, 1, 1", '\t.section .note.GNU-stack, ""\n'])


def main():
    program = Program(int(sys.argv[1]))
    program.make()
    if len(sys.argv) < 3:
        return print(program)
    listed = subprocess.run(["nm", sys.argv[2]], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines()}
    steps = []
    for line in sys.stdin:
        if line[0] == "#":
            continue
        address, size = line[3:].split(",")
        if line[0] == "I":
            steps.append((int(address, 16), []))
        else:
            steps[-1][1].append((line[1], int(address, 16), int(size)))
    wanted = []
    for name, does in program.run:
        accesses = [(d[0], d[1:].split(":")[0], int(d.split(":")[1])) for d in does]
        wanted.append((at[name], [(kind, None if to == "?" else at["area"] + int(to), size) for kind, to, size in accesses]))
    for number, ((address, accesses), (other, does)) in enumerate(zip(steps, wanted)):
        same = address == other and len(accesses) == len(does) and all(
            a[0] == b[0] and a[2] == b[2] and b[1] in (None, a[1]) for a, b in zip(accesses, does))
        assert same, f"step {number}: {address:#x} {accesses}, and not {other:#x} {does}"
    assert len(steps) == len(wanted), f"{len(steps)} steps, and not {len(wanted)}"
    return print(len(steps))


main()
