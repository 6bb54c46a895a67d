#!/usr/bin/env python3
"""dump.py STREAM [--events]: prints a stream (docs/stream.md) as lackey would, with events between `#`s, or only these.

A second reader, written from the document alone, with which tests/it/stream.rs compares the one in Rust."""
import struct, sys, zlib

def varint(b, i):
    v = s = 0
    while True:
        c = b[i]; i += 1
        v |= (c & 127) << s; s += 7
        if c < 128: return v, i

def signed(v): return (v >> 1) ^ -(v & 1)

M = (1 << 64) - 1
KINDS = {1: "thread", 2: "thread_start", 3: "thread_end", 4: "map", 5: "unmap", 6: "syscall", 7: "kernel_read",
         8: "kernel_write", 9: "syscall_end", 10: "descriptor", 11: "signal", 12: "signal_end", 13: "marker",
         14: "stack", 15: "process", 16: "protect", 17: "move", 18: "exec", 19: "gap", 20: "allocate", 21: "free", 22: "reallocate",
         23: "share", 24: "fresh", 25: "file_write", 26: "fork", 27: "inherit",
         30: "called", 31: "exception", 32: "exception_return", 33: "copy", 34: "problem", 35: "values", 38: "stack_pointer"}
TEXT = {4: 4, 10: 1, 15: 1, 18: 0, 34: 1}  # numbers before the text

def dump(data, out, events=True, steps_too=True):
    assert data[:8] == b"addfg\r\n\x1a", "no stream"
    blocks, paths, last, nexts = [], [], [], []
    at, before = 16, None
    while at < len(data):
        if data[at:at + 8] == data[:8]:
            # Another process.
            blocks, paths, last, nexts, before = [], [], [], [], None
            if events: out.write("# stream\n")
            at += 16
            continue
        crc, kind, flags, length, _, steps = struct.unpack_from("<4xIBB2xIQQ", data, at)
        assert data[at:at + 4] == b"ADFG"
        b = data[at + 32:at + 32 + length]
        assert zlib.crc32(b, zlib.crc32(data[at + 8:at + 32])) == crc
        at += 32 + length
        i = 0
        if kind == 1:
            while i < len(b):
                tag = b[i]; i += 1
                if tag == 1:
                    n, i = varint(b, i)
                    insns, address = [], 0
                    for _ in range(n):
                        size = b[i]; i += 1
                        if size & 128: jump, i = varint(b, i); address = (address + signed(jump)) & M
                        size &= 127
                        insns.append((address, size)); address += size; i += size
                    n, i = varint(b, i)
                    accesses = []
                    for _ in range(n):
                        insn, i = varint(b, i); f = b[i]; i += 1; size, i = varint(b, i)
                        field = value = None
                        if f >> 1 == 1: field, i = varint(b, i)
                        if f >> 1 in (1, 2): value, i = varint(b, i); value = signed(value)
                        accesses.append((insn, f & 1, f >> 1, size, field, value))
                    blocks.append((insns, accesses))
                elif tag == 3:  # a note for an instruction: of no use here
                    _, i = varint(b, i); n, i = varint(b, i); i += n
                    f, i = varint(b, i); n, i = varint(b, i); i += n
                    if f & 4:
                        count, i = varint(b, i)
                        for _ in range(count): n, i = varint(b, i); i += n + 1
                elif tag == 4:  # a note for a block: which instructions had no effect
                    block, i = varint(b, i); _, i = varint(b, i); n, i = varint(b, i)
                    for _ in range(n): _, i = varint(b, i)
                    n, i = varint(b, i); i += n
                else:
                    block, i = varint(b, i); n, i = varint(b, i); k, i = varint(b, i)
                    insns, accesses = blocks[block]
                    fields = sum(a[2] in (0, 3) for a in accesses[:k])
                    paths.append((insns[:n], accesses[:k], fields)); last.append([0] * fields); nexts.append([None, None])
        elif kind == 2:
            if flags & 1:
                before = None
                last = [[0] * len(l) for l in last]; nexts = [[None, None] for _ in nexts]
            seen = 0
            while i < len(b):
                token, i = varint(b, i)
                if token == 1:
                    k = b[i]; i += 1
                    n, i = varint(b, i)
                    if events:
                        end, j, numbers = i + n, i, []
                        while j < end and len(numbers) < TEXT.get(k, 99):
                            v, j = varint(b, j); numbers.append(v)
                        text = ""
                        if k in TEXT: _, j = varint(b, j); text = b[j:end].decode(errors="replace")
                        out.write(f"# {KINDS.get(k, k)} {' '.join(map(hex, numbers))} {text}\n")
                    i += n
                    continue
                if token == 0: path = nexts[before][0]
                else:
                    path = nexts[before][1] if token == 2 else token - 3
                    if before is not None: nexts[before] = [path, nexts[before][0]]
                before = path
                insns, accesses, fields = paths[path]
                l = last[path]
                for f in range(fields):
                    d, i = varint(b, i); l[f] = (l[f] + signed(d)) & M
                f = a = 0
                seen += len(insns)
                if not steps_too: continue
                for k, (address, size) in enumerate(insns):
                    out.write(f"I  {address:08x},{size}\n")
                    while a < len(accesses) and accesses[a][0] == k:
                        _, w, how, size, field, value = accesses[a]; a += 1
                        if how in (0, 3): where = l[f]; f += 1
                        elif how == 1: where = (l[field] + value) & M
                        else: where = value & M
                        if how == 3 and where == M: continue
                        out.write(f" {'S' if w else 'L'} {where:08x},{size}\n")
            assert seen == steps, (seen, steps)
        elif kind == 3:
            code, i = varint(b, i)
            if events: out.write(f"# end {code}\n")

if __name__ == "__main__":
    dump(open(sys.argv[1], "rb").read(), sys.stdout, steps_too="--events" not in sys.argv[2:])
