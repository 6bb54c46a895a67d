#!/usr/bin/env python3
"""mappings.py FILES KERNEL < events: what tests/programs/mappings.c did to memory that is a file's, and what was told of it.

FILES: what that program prints. Events: the lines of recorders/stream/dump.py behind "# ". Each page is looked at alone: of
which file it is, where, and whether others see what is stored there. Bytes that the program planted there say whether what was
taken back is gone, and nothing else is. Says what differs, and how much was compared. KERNEL: `linux`, or `qemu`, which takes
memory back in one way only, and only where all of it is mapped.
"""

import collections
import itertools
import sys

PAGE = 4096
SHARED, ANONYMOUS, TRUNCATES, APPENDS = 1, 0x20, 0o1000, 0x10
ANYWHERE = (1 << 64) - 1
PUNCH, COLLAPSE, ZERO, INSERT = 2, 8, 16, 32
NOBODY = (1 << 64) - 2
END = 1 << 62
# No file here is longer.
LONGEST = 64 * PAGE


def up(n):
    return -(-n // PAGE) * PAGE


def lines_of(text, kind):
    return [line.split()[1:] for line in text.splitlines() if line.split()[0] == kind]


class Calls:
    """Names of calls, and their arguments as they are where words have 64 bits."""

    def __init__(self, text):
        self.name = {int(number): name for name, number in lines_of(text, "number")}
        (bytes_, even), = lines_of(text, "words")
        self.narrow, self.even = bytes_ == "4", int(even)

    def plain(self, number, a):
        name = self.name.get(number)
        if not self.narrow or name is None:
            return name, a
        two = lambda i: a[i] | a[i + 1] << 32
        if name == "mmap2":
            return "mmap", [*a[:5], a[5] * PAGE]
        if name in ("ftruncate64", "truncate64"):
            return name[:-2], [a[0], two(1 + self.even)]
        if name == "fallocate":
            return name, [*a[:2], two(2), two(4)]
        if name == "pwrite64":
            return name, [*a[:3], two(3 + self.even)]
        if name == "pwritev":
            return name, [*a[:3], two(3)]
        return name.replace("sendfile64", "sendfile"), a


class Files:
    def __init__(self, text):
        self.of, self.size, self.position = {}, collections.Counter(), collections.Counter()
        self.named = {}
        for device, inode, fd, name in lines_of(text, "file"):
            key = int(device, 16), int(inode, 16)
            self.of[int(fd)] = self.named[int(name, 16)] = self.appends = key


class Memory:
    """Pages by number: (file, offset, whether it is shared). `changed`: those that are another's by the last call; `all`: that are mapped.
    `gone`: by file, bytes that are gone and were not mapped shared then; what is mapped there next is as new."""

    def __init__(self, files, kernel):
        self.files, self.page, self.was_shared = files, {}, set()
        self.qemu, self.all, self.changed = kernel == "qemu", set(), set()
        self.gone = collections.defaultdict(set)

    def put(self, start, length, what, mapped=True):
        for n in range(start // PAGE, (start + up(length)) // PAGE):
            self.changed.add(n)
            (self.all.add if mapped else self.all.discard)(n)
            if what is None:
                self.page.pop(n, None)
            else:
                file, offset, shared = what
                self.page[n] = file, offset + n * PAGE - start, shared

    def lost(self, file, first, last, private=True):
        """Bytes that are gone with those of a file. `private`: with what a private mapping has of its own."""
        gone = set()
        for n, (of, offset, shared) in self.page.items():
            low = first if shared else up(first)
            if of == file and (shared or private):
                gone |= {n * PAGE + i - offset for i in range(max(low, offset), min(last, offset + PAGE))}
        if file in self.was_shared and not self.qemu:
            mapped = {i for of, offset, shared in self.page.values() if of == file and shared
                      for i in range(max(first, offset), min(last, offset + PAGE))}
            self.gone[file] = (self.gone[file] | set(range(first, min(last, LONGEST)))) - mapped
        return gone

    def there(self, start, length, file, offset):
        """A file is mapped shared: what of it is as new."""
        fresh = {start + i - offset for i in self.gone[file] if offset <= i < offset + up(length)}
        self.gone[file] -= set(range(offset, offset + up(length)))
        return fresh

    def advise(self, start, length, advice, result, error):
        pages = range(start // PAGE, (start + up(length)) // PAGE)
        done = self.all.issuperset(pages) if self.qemu else not error or result == 12 or advice == 9
        if error and result != 12:
            # Until it met what is not shared.
            pages = list(itertools.takewhile(lambda n: n not in self.all or self.page.get(n, (0, 0, False))[2], pages))
        if not done or advice not in ((4,) if self.qemu else (4, 8, 9, 24)):
            return set()
        taken = [n for n in pages if advice == 9 or not self.page.get(n, (0, 0, False))[2]]
        return {byte for n in taken for byte in range(n * PAGE, n * PAGE + PAGE)}

    def call(self, name, a, result, error):
        """What is to be told: shares, bytes that are as new, pieces of files that are written to."""
        files, shares, fresh, written = self.files, [], set(), None
        self.changed = set()
        if name == "madvise":
            fresh = self.advise(a[0], a[1], a[2], result, error)
        if error:
            return shares, fresh, written
        if name == "mmap":
            named, shared = not a[3] & ANONYMOUS, bool(a[3] & SHARED)
            file = files.of[a[4]] if named else (NOBODY, object())
            what = (file, a[5] if named else 0, shared) if named or shared else None
            self.put(result, a[1], what)
            if shared:
                shares.append((result, up(a[1]), file, what[1]))
                self.was_shared.add(file)
                fresh = self.there(*shares[-1])
        elif name == "munmap":
            self.put(a[0], a[1], None, False)
        elif name == "mremap":
            moved = self.page.get(a[0] // PAGE)
            self.put(a[0], a[1], None, False)
            self.put(result, a[2], moved)
            if moved and moved[2]:
                shares.append((result, up(a[2]), moved[0], moved[1]))
                fresh = self.there(*shares[-1])
        elif name in ("truncate", "ftruncate"):
            file = files.named[a[0]] if name == "truncate" else files.of[a[0]]
            files.size[file] = a[1]
            fresh = self.lost(file, a[1], END)
        elif name in ("open", "openat", "creat"):
            path, flags = (a[1], a[2]) if name == "openat" else (a[0], a[1])
            if path in files.named and (name == "creat" or flags & TRUNCATES):
                file = files.named[path]
                files.size[file] = 0
                fresh = self.lost(file, 0, END)
        elif name == "fallocate":
            file, mode, first, length = files.of[a[0]], a[1], a[2], a[3]
            if mode & COLLAPSE:
                files.size[file] -= length
            elif mode & INSERT:
                files.size[file] += length
            elif not mode & 1:
                files.size[file] = max(files.size[file], first + length)
            if mode & (PUNCH | ZERO | COLLAPSE | INSERT):
                shifts = mode & (COLLAPSE | INSERT)
                fresh = self.lost(file, first, END if shifts else first + length, bool(shifts))
        elif name == "lseek" and a[0] in files.of:
            files.position[files.of[a[0]]] = result
        elif name in WRITES and result and a[WRITES[name]] in files.of:
            written = self.write(name, a, result)
        return shares, fresh, written

    def write(self, name, a, result):
        files, file = self.files, self.files.of[a[WRITES[name]]]
        places = name in ("pwrite64", "pwritev") or name == "pwritev2" and a[3] != ANYWHERE
        appends = file == files.appends or name == "pwritev2" and a[5] & APPENDS
        at = a[3] if places else files.position[file]
        # Where it was to be written a pointer says: that is told behind it.
        pointed = name in ("copy_file_range", "splice") and a[3]
        if pointed:
            at = None
        elif appends:
            at = files.size[file]
        if not places and at is not None:
            files.position[file] = at + result
        if at is not None:
            files.size[file] = max(files.size[file], at + result)
        return (file, at, result, name in COPIES) if file in self.was_shared else None


# The argument that is the file that is written to.
WRITES = {"write": 0, "pwrite64": 0, "writev": 0, "pwritev": 0, "pwritev2": 0, "sendfile": 0, "copy_file_range": 2, "splice": 2}
COPIES = ("sendfile", "copy_file_range", "splice")


class Planted:
    """What the program saw of the bytes that it planted: by call those that stand behind it, and that do not any more."""

    def __init__(self, text):
        self.seen = collections.defaultdict(lambda: [set(), set()])
        for what, of in (("stands", 0), ("gone", 1)):
            for n, at in lines_of(text, what):
                self.seen[int(n)][of].add(int(at, 16))
        self.compared = collections.Counter()

    def check(self, n, memory, before, sizes, fresh, written, moves, what):
        stands, gone = self.seen[n]
        def beyond(at):
            of, offset, shared = before.get(at // PAGE, (None, 0, False))
            return shared and offset + at % PAGE >= sizes[of]
        wrong = {at for at in stands & fresh if not beyond(at)}
        # Bytes of a file that has moved may stand where others stood.
        if not moves:
            assert not wrong, f"{what}: told as new, but they stand: {ranges(wrong)}"
        for at in gone - fresh:
            of, offset, shared = before.get(at // PAGE, (None, 0, False))
            over = shared and written and written[0] == of and written[1] is None or \
                shared and written and written[0] == of and written[1] <= offset + at % PAGE < written[1] + written[2]
            # What is as new in a file is so wherever it is mapped.
            over = over or shared and any(before.get(b // PAGE, (0, 0, 0))[::2] == (of, True) and before[b // PAGE][1] + b % PAGE == offset + at % PAGE
                                          for b in fresh)
            assert over or beyond(at) or at // PAGE in memory.changed, f"{what}: gone, and not told: {at:#x}"
        self.compared["stand"] += len(stands)
        self.compared["gone"] += len(gone & fresh)


def main():
    text, kernel = open(sys.argv[1]).read(), sys.argv[2]
    files, names, planted = Files(text), Calls(text), Planted(text)
    memory, compared = Memory(files, kernel), collections.Counter()
    lines = [line.split() for line in sys.stdin]
    of_name = {name: number for number, name in names.name.items()}
    borders = [i for i, line in enumerate(lines) if line[:1] == ["syscall"] and int(line[1], 16) == of_name["getppid"]]
    begun, told, calls, keys, behind = None, [], [], {}, None
    for line in lines[borders[0] + 1:borders[1]]:
        if line[0] == "syscall":
            begun, told = [int(word, 16) for word in line[1:]], []
        elif line[0] == "syscall_end" and begun:
            calls.append((begun[0], begun[2:] + [0] * 6, int(line[2], 16), int(line[1], 16) != 0, told))
        else:
            told.append(line)
    for number, a, result, error, told in calls:
        name, a = names.plain(number, a)
        before, sizes = dict(memory.page), collections.Counter(files.size)
        shares, fresh, written = memory.call(name, a, result, error)
        numbers = lambda kind: [[int(word, 16) for word in t[1:]] for t in told if t[0] == kind]
        had = numbers("share")
        want = [(start, length, file if file[0] != NOBODY else (NOBODY, row[3]), offset)
                for (start, length, file, offset), row in zip(shares, had)] if len(had) == len(shares) else shares
        what = f"call {name} {[hex(n) for n in a]}: {result}"
        assert [(r[0], r[1], (r[2], r[3]), r[4]) for r in had] == want, f"{what}: shares {had}, and not {shares}"
        # No two files have the same name.
        for (_, _, file, _), row in zip(shares, had):
            assert keys.setdefault((row[2], row[3]), file) == file, f"{what}: {row} is another file"
        pieces = numbers("fresh")
        bytes_ = {b for start, length in pieces for b in range(start, start + length)}
        # Of pages that the program never had, nothing is to be taken back.
        if name == "madvise" and memory.qemu and not bytes_:
            fresh = set()
        assert bytes_ == fresh, f"{what}: as new {[[hex(n) for n in p] for p in pieces]}, and not {ranges(fresh)}"
        parts = numbers("file_write")
        if written is None:
            assert not parts, f"{what}: written {parts}"
        else:
            file, at, length, copies = written
            at = parts[0][2] if at is None and parts else at
            memory.gone[file] -= set(range(at, at + length))
            for device, inode, offset, size, address in parts:
                assert (device, inode, offset) == (*file, at), f"{what}: written {parts}, and not at {at}"
                assert (address == 0) == copies, f"{what}: {parts}"
                at += size
                length -= size
            assert length == 0, f"{what}: written {parts}, and not {written}"
        compared["shares"] += len(shares)
        compared["fresh"] += bool(fresh)
        compared["written"] += written is not None
        # The call behind a border, as the program saw it.
        if name == "getpgid":
            behind = a[0] - 0x7a000000
        elif behind is not None and (name in WRITES or name in CHANGES):
            if not (name == "write" and a[0] not in files.of):
                planted.check(behind, memory, before, sizes, fresh, written, name == "fallocate" and a[1] & (COLLAPSE | INSERT), what)
                behind = None
    print(compared["shares"], compared["fresh"], compared["written"], planted.compared["stand"], planted.compared["gone"])


CHANGES = ("mmap", "munmap", "mremap", "madvise", "ftruncate", "truncate", "open", "openat", "creat", "fallocate")


def ranges(numbers):
    found = []
    for n in sorted(numbers):
        if found and found[-1][1] == n:
            found[-1][1] = n + 1
        else:
            found.append([n, n + 1])
    return [[hex(a), hex(b)] for a, b in found]


main()
