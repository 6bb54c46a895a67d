#!/usr/bin/env python3
"""Writes the good fixtures of simulators from QEMU's logs of tiny.c (record.sh): simulators.py AARCH64.log RISCV64.log"""
import re
import sys


def steps(path):
    """(pc, code digits, text, registers before) of each step of `-d nochain,cpu,in_asm -singlestep`."""
    out, known, pc = [], {}, None
    for line in open(path):
        listed = re.match(r"0x0*([0-9a-f]+):\s+([0-9a-f ]+?)\s{2,}(.*)", line)
        if listed:
            known[int(listed[1], 16)] = (listed[2].replace(" ", ""), re.sub(r"\s+", " ", re.sub(r"\s{2,}# 0x.*", "", listed[3])).strip())
            continue
        for name, value in re.findall(r"\b(PC|pc|X\d\d|SP|x\d+/\w+)\s*=?\s*([0-9a-f]{16})", line):
            if name.lower() == "pc":
                out.append((int(value, 16), {}))
            elif out:
                out[-1][1][name.split("/")[-1]] = int(value, 16)
    return [(pc, *known[pc], registers) for pc, registers in out if pc in known]


def accesses(text, registers, number):
    """(is_write, address, size, registers) by the text; enough for tiny.c."""
    word, _, operands = text.partition(" ")
    if match := re.match(r"(\w+), ?(-?\d*)\((\w+)\)", operands):
        size = {"d": 8, "w": 4}[word[1]]
        return [(word[0] == "s", registers[match[3]] + int(match[2] or 0), size, match[1])]
    if match := re.match(r"(.*?), \[(\w+)(?:, #(-?0x[0-9a-f]+|-?\d+))?\](!?)", operands):
        base = registers[number(match[2])] + (int(match[3], 0) if match[3] else 0)
        names = match[1].split(", ")
        size = 4 if names[0][0] == "w" else 8
        return [(word.startswith("st"), base + i * size, size, name) for i, name in enumerate(names)]
    return []


def written(text, before, after):
    """(name, value) of the register that an instruction of RISC-V writes."""
    word, _, operands = text.partition(" ")
    name = operands.split(",")[0]
    return [(name, after[name])] if name in after and word not in ("sd", "sw") else []


def tarmac(rows):
    out, memory = ["0 clk cpu0 E 0000000000000000 00000001 CoreEvent_RESET", "0 clk cpu0 R cpsr 40000000"], {}
    number = lambda n: "SP" if n == "sp" else "X%02d" % int(n[1:])
    out += ["0 clk cpu0 R SP_EL0 %016x" % rows[0][3]["SP"]]
    for i, (pc, code, text, before) in enumerate(rows):
        out.append(f"{i + 1} clk cpu0 IT ({i + 1}) {pc:016x}:{pc:012x} {code} O EL0t_ns : {text.upper()}")
        for write, address, size, name in accesses(text, before, number):
            if write:
                memory[address] = before[number(name)]
            out.append(f"{i + 1} clk cpu0 M{'RW'[write]}{size} {address:016x}:{address:012x}_NS {memory[address] & (1 << 8 * size) - 1:0{2 * size}x}")
        if i + 1 < len(rows):
            for name, value in rows[i + 1][3].items():
                if value != before[name]:
                    out.append(f"{i + 1} clk cpu0 R {'SP_EL0' if name == 'SP' else 'X%d' % int(name[1:])} {value:016x}")
    return out


def spike(rows):
    out, memory = [], {}
    x = {"ra": 1, "sp": 2, "s0": 8, "a0": 10, "a4": 14, "a5": 15, "a7": 17}
    for i, (pc, code, text, before) in enumerate(rows):
        out.append(f"core   0: 0x{pc:016x} (0x{code:0>8}) {text}")
        if text == "ecall":
            out.append(f"core   0: exception trap_user_ecall, epc 0x{pc:016x}")
            continue
        line = f"core   0: 0 0x{pc:016x} (0x{code})"
        for name, value in written(text, before, rows[i + 1][3]) if i + 1 < len(rows) else ():
            line += f" x{x[name]:<2d} 0x{value:016x}"
        for write, address, size, name in accesses(text, before, None):
            line += f" mem 0x{address:016x}" + (f" 0x{before[name] & (1 << 8 * size) - 1:0{2 * size}x}" if write else "")
        out.append(line)
    return out


def gem5(rows):
    out = []
    for i, (pc, code, text, before) in enumerate(rows):
        found = accesses(text, before, None)
        line = f"{500 * i}: system.cpu: T0 : 0x{pc:x} @entry    : {text:<26} : {'MemWrite' if found and found[0][0] else 'MemRead' if found else 'IntAlu'} : "
        changed = [v for _, v in written(text, before, rows[i + 1][3])] if i + 1 < len(rows) else []
        if found and found[0][0]:
            changed = [before[found[0][3]]]
        line += "".join(f" D=0x{v:016x}" for v in changed[:1]) + "".join(f" A=0x{a:x}" for _, a, _, _ in found)
        out.append(line.rstrip())
    return out


def sail(rows):
    out = []
    for i, (pc, code, text, before) in enumerate(rows):
        out.append(f"[{i}] [U]: 0x{pc:016X} (0x{code.upper()}) {text}")
        for write, address, size, name in accesses(text, before, None):
            value = before[name] if write else rows[i + 1][3][name]
            out.append(f"mem[{'RW'[write]},0x{address:016X}] {'<-' if write else '->'} 0x{value & (1 << 8 * size) - 1:0{2 * size}X}")
        for name, value in written(text, before, rows[i + 1][3]) if i + 1 < len(rows) else ():
            out.append(f"{name} <- 0x{value:016X}")
    return out + ["trapping from U to M to handle u-call", "handling exc#0x08 at priv M with tval 0x0000000000000000", "CSR mstatus (0x300) <- 0x0000000A00000000"]


def renode(rows):
    out = []
    for pc, code, text, before in rows:
        out.append(f"0x{pc:x}:   {code:>8}  {text:<21} [entry (entry)]")
        out += [f"Memory{'Write' if write else 'Read'} with address 0x{address:X}" for write, address, _, _ in accesses(text, before, None)]
    return out


def dynamorio(rows):
    out = ["Output format:", "<--record#-> <--instr#->: <---tid---> <record details>", "-" * 60, "           1           0:       W0.T3 <marker: version 3>"]
    for i, (pc, code, text, before) in enumerate(rows):
        n = len(code) // 2
        code = " ".join(code[2 * j : 2 * j + 2] for j in reversed(range(n)))
        out.append(f"{len(out):>12}{i + 1:>12}:       W0.T3 ifetch {n:>7} byte(s) @ 0x{pc:016x} {code:<20}    {text}")
        for write, address, size, _ in accesses(text, before, None):
            out.append(f"{len(out):>12}{i + 1:>12}:       W0.T3 {'write' if write else 'read ':<5} {size:>8} byte(s) @ 0x{address:016x} by PC 0x{pc:016x}")
    return out


aarch64, riscv64 = steps(sys.argv[1]), steps(sys.argv[2])
for path, lines in [("tarmac/good.log", tarmac(aarch64)), ("spike/good.log", spike(riscv64)), ("gem5/good.log", gem5(riscv64)),
                    ("layout/good-sail.log", sail(riscv64)), ("layout/good-renode.log", renode(riscv64)),
                    ("layout/good-dynamorio.log", dynamorio(riscv64))]:
    open(path, "w").write("\n".join(lines) + "\n")
