#!/usr/bin/env python3
"""Writes logs as simulators write them, from QEMU's (`-singlestep -d nochain,cpu,fpu,in_asm`) of programs of one processor.

simulators.py AARCH64.log RISCV64.log   the good fixtures of this folder, from those of tiny.c (record.sh)
simulators.py FORMAT QEMU.log LOG       a log of FORMAT tarmac (AArch64, ARM), spike, gem5, sail, renode or dynamorio (RISC-V);
                                        several formats with commas between them: LOG.FORMAT of each
"""
import re
import sys

REGISTER = re.compile(r"\b(PC|pc|X\d\d|SP|R\d\d|PSTATE|PSR|Q\d\d|x\d+/\w+|f\d+/\w+)\s*=?\s*([0-9a-f]{16}:[0-9a-f]{16}|[0-9a-f]{16}|[0-9a-f]{8})\b")
LISTED = re.compile(r"0x0*([0-9a-f]+):\s+([0-9a-f ]+?)\s{2,}(.*)")


def steps(path):
    """(pc, code digits, text, registers before) of each step."""
    out, known = [], {}
    for line in open(path):
        if line.startswith("0x"):
            listed = LISTED.match(line)
            text = re.sub(r"\s+", " ", re.sub(r"\s{2,}# 0x.*", "", listed[3])).strip()
            # The mode of rounding stands behind the registers elsewhere.
            text = re.sub(r"^(f\S+) (?:dyn|rne|rtz|rdn|rup|rmm),", r"\1 ", text)
            # QEMU names integer registers where both are of floating point.
            text = re.sub(r"^(f(?:mv|abs|neg)\.[sd]) ([ast]\d+), ?([ast]\d+)$", r"\1 f\2,f\3", text)
            known[int(listed[1], 16)] = (listed[2].replace(" ", ""), text)
            continue
        for name, value in REGISTER.findall(line):
            value = int(value.replace(":", ""), 16)
            if name in ("PC", "pc", "R00"):
                out.append([value, {}])
            if name == "R15":
                out[-1][0] = value
            if out and name.lower() != "pc":
                out[-1][1][name.split("/")[-1]] = value
    return [(pc, *known[pc], registers) for pc, registers in out if pc in known]


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


# Accesses of a step: (is_write, address, size, name of the register that is stored or loaded), as the manuals say.


def accesses(text, registers):
    """RISC-V: by the text, which names the size and one address. A store-conditional of a single processor stores."""
    word, _, operands = text.partition(" ")
    if match := re.fullmatch(r"(lr|sc|amo\w+)\.([wd])(?:\.\w+)?", word):
        names = re.split(r"[,()]+", operands)
        address, size = registers[names[-2]], 4 if match[2] == "w" else 8
        return [(write, address, size, names[1 if write else 0]) for write in (False, True) if match[1] != ("lr" if write else "sc")]
    size = {"b": 1, "h": 2, "w": 4, "d": 8}.get(word.removeprefix("f")[1:2])
    match = re.fullmatch(r"(\w+), ?(-?\d*)\((\w+)\)", operands)
    if not match or not size or not re.fullmatch(r"f?[ls][bhwd]u?", word):
        assert not match or word in ("jalr", "jr"), text
        return []
    address = registers[match[3]] + int(match[2] or 0) & 2**64 - 1
    return [(word.removeprefix("f")[0] == "s", address, size, match[1])]


def a64_accesses(pc, word, registers):
    """Arm Architecture Reference Manual (DDI 0487), C4.1.66: loads and stores, but for atomics and interleaved vectors."""
    if word >> 25 & 5 != 4:
        return []
    vector, target, base = word >> 26 & 1, word & 31, word >> 5 & 31
    name = lambda n: "Q%02d" % n if vector else "X%02d" % n if n < 31 else None
    start = registers["SP" if base == 31 else "X%02d" % base]
    if word >> 27 & 7 == 5:  # a pair
        opc, index, load = word >> 30, word >> 23 & 3, word >> 22 & 1
        size = 4 << opc if vector else 8 if opc & 2 else 4
        address = start + (0 if index == 1 else signed(word >> 15 & 127, 7) * size)
        return [(not load, address + i * size, size, name(n)) for i, n in enumerate((target, word >> 10 & 31))]
    if word >> 27 & 7 == 3:  # beside the code
        size = 4 << (word >> 30) if vector else 8 if word >> 30 == 1 else 4
        return [(False, pc + signed(word >> 5 & 0x7FFFF, 19) * 4, size, name(target))]
    if word >> 24 & 0x3F == 8:  # exclusive, acquire, release: of a single processor, which stores
        assert not word >> 21 & 1, hex(word)
        return [(not word >> 22 & 1, start, 1 << (word >> 30), name(target))]
    if word >> 24 & 0x3F == 0xC:  # whole vectors, one after the other
        count, size = {7: 1, 10: 2, 6: 3, 2: 4}[word >> 12 & 15], 8 << (word >> 30 & 1)
        return [(not word >> 22 & 1, start + i * size, size, "Q%02d" % ((target + i) % 32)) for i in range(count)]
    assert word >> 27 & 7 == 7, hex(word)
    opc, scale = word >> 22 & 3, word >> 30
    scale += 4 if vector and opc & 2 else 0
    if word >> 24 & 1:
        address = start + ((word >> 10 & 0xFFF) << scale)
    elif not word >> 21 & 1:
        address = start + (0 if word >> 10 & 3 == 1 else signed(word >> 12 & 511, 9))
    else:
        assert word >> 10 & 3 == 2, hex(word)
        number, option = word >> 16 & 31, word >> 13 & 7
        index = registers["X%02d" % number] if number < 31 else 0
        index = index if option & 1 else index & 2**32 - 1
        index = signed(index, 32) if option == 6 else index
        address = start + (index << (scale if word >> 12 & 1 else 0))
    return [(not (opc & 1 if vector else opc), address & 2**64 - 1, 1 << scale, name(target))]


def a32_held(word, flags):
    """Whether the condition held. Arm Architecture Reference Manual (DDI 0406), A8.3."""
    n, z, c, v = (flags >> bit & 1 for bit in (31, 30, 29, 28))
    condition = word >> 28
    true = [z, c, n, v, c and not z, n == v, n == v and not z, True][min(condition, 15) >> 1]
    return bool(true) != (condition & 1 and condition < 15)


def a32_accesses(pc, word, registers):
    """Arm Architecture Reference Manual (DDI 0406), A5.3 and A5.5; a processor without coprocessors, no exclusive ones."""
    r = lambda n: registers["R%02d" % n] + (8 if n == 15 else 0)
    pre, up, load, base, target = word >> 24 & 1, word >> 23 & 1, word >> 20 & 1, word >> 16 & 15, word >> 12 & 15
    one = lambda size, offset, n=1: [
        (not load, (r(base) + ((offset if up else -offset) if pre else 0) + 4 * i) & 2**32 - 1, size, "R%02d" % (target + i)) for i in range(n)
    ]
    if word >> 26 & 3 == 1 and not (word >> 25 & 1 and word >> 4 & 1):
        offset = word & 0xFFF
        if word >> 25 & 1:
            amount, kind, offset = word >> 7 & 31, word >> 5 & 3, r(word & 15)
            assert kind < 2 or amount, hex(word)
            offset = (offset << amount, offset >> amount, signed(offset, 32) >> amount)[kind] & 2**32 - 1
        return one(1 if word >> 22 & 1 else 4, offset)
    if word >> 25 & 7 == 0 and word >> 4 & 9 == 9 and word >> 5 & 3:
        offset = word >> 4 & 0xF0 | word & 15 if word >> 22 & 1 else r(word & 15)
        kind = word >> 5 & 3
        if not load and kind > 1:  # two registers
            load = kind == 2
            return one(4, offset, 2)
        return one(1 if load and kind == 2 else 2, offset)
    if word >> 25 & 7 == 4:
        listed = [n for n in range(16) if word >> n & 1]
        first = r(base) + (0 if up else -4 * len(listed)) + (4 if pre == up else 0)
        return [(not load, first + 4 * i, 4, "R%02d" % n) for i, n in enumerate(listed)]
    assert word >> 26 & 3 != 3 or word >> 24 & 15 == 15, hex(word)
    return []


def written(text, before, after):
    """(name, value) of the register that an instruction of RISC-V writes."""
    word, _, operands = text.partition(" ")
    # A system call that somebody outside of the log served.
    name = "a0" if word == "ecall" else operands.split(",")[0]
    none = word in ("jr", "j", "ret") or re.fullmatch(r"f?s[bhwd]|b\w+|csr[wsc]i?", word)
    changed = {n for n in after if after[n] != before[n]}
    assert changed <= (set() if none else {name}), (text, changed)
    return [(name, after[name])] if name in after and not none and name != "zero" else []


def tarmac(rows):
    wide = "SP" in rows[0][3]
    out, memory = ["0 clk cpu0 E 0000000000000000 00000001 CoreEvent_RESET", "0 clk cpu0 R cpsr 40000000"], {}
    if wide:
        out += ["0 clk cpu0 R SP_EL0 %016x" % rows[0][3]["SP"]]
    names = {"SP": "SP_EL0", "PSTATE": "cpsr", "PSR": "cpsr", "R13": "r13_usr", "R14": "r14_usr"}
    plain = lambda n: names.get(n) or {"X": "X%d", "Q": "V%d", "R": "r%d"}[n[0]] % int(n[1:])
    for i, (pc, code, text, before) in enumerate(rows):
        word = int(code, 16)
        held = wide or a32_held(word, before["PSR"])
        place = f"{pc:016x}:{pc:012x}" if wide else f"{pc:08x}"
        out.append(f"{i + 1} clk cpu0 {'IT' if held else 'IS'} ({i + 1}) {place} {code} {'O EL0t_ns' if wide else 'A usr'} : {text.upper()}")
        if not held:
            continue
        for write, address, size, name in (a64_accesses if wide else a32_accesses)(pc, word, before):
            if write:
                memory[address] = before[name] if name else 0
            elif i + 1 < len(rows):
                memory[address] = rows[i + 1][3][name]
            place = f"{address:016x}:{address:012x}_NS" if wide else f"{address:08x}"
            out.append(f"{i + 1} clk cpu0 M{'RW'[write]}{size} {place} {memory.get(address, 0) & (1 << 8 * size) - 1:0{2 * size}x}")
        if i + 1 < len(rows):
            first = re.split(r"[ ,{}]+", text.upper() + " ")[1]
            first = {"W": "X", "D": "Q", "S": "Q"}.get(first[:1], first[:1]) + first[1:].zfill(2) if first[1:].isdigit() else first
            for name, value in rows[i + 1][3].items():
                # What is written is told, whether it changes or not.
                if value != before[name] or name == first and not text.startswith(("st", "cmp", "cb", "tb", "b")):
                    digits = {"Q": 32, "X": 16, "S": 16}[name[0]] if wide and name != "PSTATE" else 8
                    if name != "R15":
                        out.append(f"{i + 1} clk cpu0 R {plain(name)} {value:0{digits}x}")
    return out


NUMBERS = {name: f"x{number}" for number, name in enumerate("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split())}
NUMBERS |= {
    name: f"f{number}"
    for number, name in enumerate("ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11".split())
}


def spike(rows):
    out = []
    for i, (pc, code, text, before) in enumerate(rows):
        out.append(f"core   0: 0x{pc:016x} (0x{code:0>8}) {text}")
        if text == "ecall" and i + 1 == len(rows):
            out.append(f"core   0: exception trap_user_ecall, epc 0x{pc:016x}")
            continue
        line = f"core   0: 0 0x{pc:016x} (0x{code})"
        for name, value in written(text, before, rows[i + 1][3]) if i + 1 < len(rows) else ():
            line += f" {NUMBERS[name]:<3} 0x{value:016x}"
        for write, address, size, name in accesses(text, before):
            line += f" mem 0x{address:016x}" + (f" 0x{before[name] & (1 << 8 * size) - 1:0{2 * size}x}" if write else "")
        out.append(line)
    return out


def gem5(rows):
    out = []
    for i, (pc, code, text, before) in enumerate(rows):
        found = accesses(text, before)
        # QEMU has words of its own for branches that compare with zero.
        if len(code) == 4 and text.startswith(("beqz", "bnez")):
            text = "c_" + text
        elif match := re.match(r"b(eq|ne|lt|ge)z (.*?),", text):
            text = f"b{match[1]} {match[2]}, zero,"
        elif match := re.match(r"b(le|gt)z (.*?),", text):
            text = f"b{ {'le': 'ge', 'gt': 'lt'}[match[1]] } zero, {match[2]},"
        line = f"{500 * i}: system.cpu: T0 : 0x{pc:x} @entry    : {text:<26} : {'MemWrite' if found and found[0][0] else 'MemRead' if found else 'IntAlu'} : "
        changed = [v for _, v in written(text, before, rows[i + 1][3])] if i + 1 < len(rows) and text != "ecall" else []
        if found and found[0][0]:
            changed = [before[found[0][3]]]
        line += "".join(f" D=0x{v:016x}" for v in changed[:1]) + "".join(f" A=0x{a:x}" for _, a, _, _ in found)
        out.append(line.rstrip())
    return out


def sail(rows):
    out = []
    for i, (pc, code, text, before) in enumerate(rows):
        out.append(f"[{i}] [U]: 0x{pc:016X} (0x{code.upper()}) {text}")
        for write, address, size, name in accesses(text, before):
            value = before[name] if write else rows[min(i + 1, len(rows) - 1)][3][name]
            out.append(f"mem[{'RW'[write]},0x{address:016X}] {'<-' if write else '->'} 0x{value & (1 << 8 * size) - 1:0{2 * size}X}")
        for name, value in written(text, before, rows[i + 1][3]) if i + 1 < len(rows) else ():
            out.append(f"{name} <- 0x{value:016X}")
    return out + ["trapping from U to M to handle u-call", "handling exc#0x08 at priv M with tval 0x0000000000000000", "CSR mstatus (0x300) <- 0x0000000A00000000"]


def renode(rows):
    out = []
    for pc, code, text, before in rows:
        out.append(f"0x{pc:x}:   {code:>8}  {text:<21} [entry (entry)]")
        out += [f"Memory{'Write' if write else 'Read'} with address 0x{address:X}" for write, address, _, _ in accesses(text, before)]
    return out


def dynamorio(rows):
    out = ["Output format:", "<--record#-> <--instr#->: <---tid---> <record details>", "-" * 60, "           1           0:       W0.T3 <marker: version 3>"]
    for i, (pc, code, text, before) in enumerate(rows):
        n = len(code) // 2
        code = " ".join(code[2 * j : 2 * j + 2] for j in reversed(range(n)))
        out.append(f"{len(out):>12}{i + 1:>12}:       W0.T3 ifetch {n:>7} byte(s) @ 0x{pc:016x} {code:<20}    {text}")
        for write, address, size, _ in accesses(text, before):
            out.append(f"{len(out):>12}{i + 1:>12}:       W0.T3 {'write' if write else 'read ':<5} {size:>8} byte(s) @ 0x{address:016x} by PC 0x{pc:016x}")
    return out


FORMATS = {"tarmac": tarmac, "spike": spike, "gem5": gem5, "sail": sail, "renode": renode, "dynamorio": dynamorio}


def write(path, lines):
    open(path, "w").write("\n".join(lines) + "\n")


if sys.argv[1] in FORMATS:
    write(sys.argv[3], FORMATS[sys.argv[1]](steps(sys.argv[2])))
elif "," in sys.argv[1]:
    rows = steps(sys.argv[2])
    for name in sys.argv[1].split(","):
        write(f"{sys.argv[3]}.{name}", FORMATS[name](rows))
else:
    aarch64, riscv64 = steps(sys.argv[1]), steps(sys.argv[2])
    for name, make in FORMATS.items():
        folder = f"layout/good-{name}.log" if name in ("sail", "renode", "dynamorio") else f"{name}/good.log"
        write(folder, make(aarch64 if name == "tarmac" else riscv64))
