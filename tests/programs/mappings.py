#!/usr/bin/env python3
"""mappings.py FILES < events: what tests/programs/mappings.c did to memory that is a file's, and what was told of it.

FILES: what that program prints. Events: the lines of recorders/stream/dump.py behind "# ". Each page is looked at alone: of
which file it is, where, and whether others see what is stored there. Says what differs, and how much was compared.
"""

import collections
import sys

PAGE = 4096
SHARED, ANONYMOUS, TRUNCATES, APPENDS = 1, 0x20, 0o1000, 0o2000
NOBODY = (1 << 64) - 2


def up(n):
    return -(-n // PAGE) * PAGE


class Files:
    def __init__(self, text):
        self.of, self.size, self.position = {}, collections.Counter(), collections.Counter()
        self.named = {}
        for line in text.splitlines():
            device, inode, fd, name = line.split()
            key = int(device, 16), int(inode, 16)
            self.of[int(fd)] = self.named[int(name, 16)] = self.appends = key


class Memory:
    """Pages by number: (file, offset, whether it is shared)."""

    def __init__(self, files):
        self.files, self.page, self.was_shared = files, {}, set()

    def put(self, start, length, what):
        for n in range(start // PAGE, (start + up(length)) // PAGE):
            if what is None:
                self.page.pop(n, None)
            else:
                file, offset, shared = what
                self.page[n] = file, offset + n * PAGE - start, shared

    def lost(self, file, first, last):
        """Bytes that are gone with those of a file."""
        gone = set()
        for n, (of, offset, shared) in self.page.items():
            low = first if shared else up(first)
            if of == file:
                gone |= {n * PAGE + i - offset for i in range(max(low, offset), min(last, offset + PAGE))}
        return gone

    def call(self, number, a, result, error):
        """What is to be told: shares, bytes that are as new, pieces of files that are written to."""
        files, shares, fresh, written = self.files, [], set(), None
        if number == 28 and a[2] in (4, 8, 9, 24) and (not error or result == 12):
            for n in range(a[0] // PAGE, (a[0] + up(a[1])) // PAGE):
                if a[2] == 9 or not self.page.get(n, (0, 0, False))[2]:
                    fresh |= set(range(n * PAGE, n * PAGE + PAGE))
        if error:
            return shares, fresh, written
        if number == 9:
            named, shared = not a[3] & ANONYMOUS, bool(a[3] & SHARED)
            file = files.of[a[4]] if named else (NOBODY, object())
            what = (file, a[5] if named else 0, shared) if named or shared else None
            self.put(result, a[1], what)
            if shared:
                shares.append((result, up(a[1]), file, what[1]))
                self.was_shared.add(file)
        elif number == 11:
            self.put(a[0], a[1], None)
        elif number == 25:
            moved = self.page.get(a[0] // PAGE)
            if moved:
                self.put(a[0], a[1], None)
            self.put(result, a[2], moved)
            if moved and moved[2]:
                shares.append((result, up(a[2]), moved[0], moved[1]))
        elif number in (76, 77):
            file = files.named[a[0]] if number == 76 else files.of[a[0]]
            files.size[file] = a[1]
            fresh = self.lost(file, a[1], 1 << 62)
        elif number in (2, 85, 257):
            path, flags = (a[1], a[2]) if number == 257 else (a[0], a[1])
            if number == 85 or flags & TRUNCATES:
                file = files.named[path]
                files.size[file] = 0
                fresh = self.lost(file, 0, 1 << 62)
        elif number == 285:
            file, mode, first, length = files.of[a[0]], a[1], a[2], a[3]
            if mode & 8:
                files.size[file] -= length
            elif mode & 32:
                files.size[file] += length
            elif not mode & 1:
                files.size[file] = max(files.size[file], first + length)
            if mode & (2 | 8 | 16 | 32):
                fresh = self.lost(file, first, 1 << 62 if mode & 40 else first + length)
        elif number == 8:
            files.position[files.of[a[0]]] = result
        elif number in (1, 18, 20, 296, 40, 326) and result:
            written = self.write(number, a, result)
        return shares, fresh, written

    def write(self, number, a, result):
        files, file = self.files, self.files.of[a[2] if number == 326 else a[0]]
        at = a[3] if number in (18, 296) else files.position[file]
        # Where it was to be written a pointer says: that is told behind it.
        if number == 326 and a[3]:
            at = None
        elif file == files.appends:
            at = files.size[file]
        if number not in (18, 296) and at is not None:
            files.position[file] = at + result
        if at is not None:
            files.size[file] = max(files.size[file], at + result)
        return (file, at, result, number in (40, 326)) if file in self.was_shared else None


def main():
    files = Files(open(sys.argv[1]).read())
    memory, compared = Memory(files), collections.Counter()
    lines = [line.split() for line in sys.stdin]
    borders = [i for i, line in enumerate(lines) if line[:1] == ["syscall"] and int(line[1], 16) == 110]
    begun, told, calls, keys = None, [], [], {}
    for line in lines[borders[0] + 1:borders[1]]:
        if line[0] == "syscall":
            begun, told = [int(word, 16) for word in line[1:]], []
        elif line[0] == "syscall_end" and begun:
            calls.append((begun[0], begun[2:] + [0] * 6, int(line[2], 16), int(line[1], 16) != 0, told))
        else:
            told.append(line)
    for number, a, result, error, told in calls:
        shares, fresh, written = memory.call(number, a, result, error)
        numbers = lambda kind: [[int(word, 16) for word in t[1:]] for t in told if t[0] == kind]
        had = numbers("share")
        want = [(start, length, file if file[0] != NOBODY else (NOBODY, row[3]), offset)
                for (start, length, file, offset), row in zip(shares, had)] if len(had) == len(shares) else shares
        what = f"call {number} {[hex(n) for n in a]}: {result}"
        assert [(r[0], r[1], (r[2], r[3]), r[4]) for r in had] == want, f"{what}: shares {had}, and not {shares}"
        # No two files have the same name.
        for (_, _, file, _), row in zip(shares, had):
            assert keys.setdefault((row[2], row[3]), file) == file, f"{what}: {row} is another file"
        pieces = numbers("fresh")
        bytes_ = {b for start, length in pieces for b in range(start, start + length)}
        assert bytes_ == fresh, f"{what}: as new {[[hex(n) for n in p] for p in pieces]}, and not {ranges(fresh)}"
        parts = numbers("file_write")
        if written is None:
            assert not parts, f"{what}: written {parts}"
        else:
            file, at, length, copies = written
            at = parts[0][2] if at is None and parts else at
            for device, inode, offset, size, address in parts:
                assert (device, inode, offset) == (*file, at), f"{what}: written {parts}, and not at {at}"
                assert (address == 0) == copies, f"{what}: {parts}"
                at += size
                length -= size
            assert length == 0, f"{what}: written {parts}, and not {written}"
        compared["shares"] += len(shares)
        compared["fresh"] += bool(fresh)
        compared["written"] += written is not None
    print(compared["shares"], compared["fresh"], compared["written"])


def ranges(numbers):
    found = []
    for n in sorted(numbers):
        if found and found[-1][1] == n:
            found[-1][1] = n + 1
        else:
            found.append([n, n + 1])
    return [[hex(a), hex(b)] for a, b in found]


main()
