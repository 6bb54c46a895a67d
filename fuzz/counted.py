#!/usr/bin/env python3
"""Programs that count their own calls, or the bytes that each of their functions reads of what another one wrote, compiled for
several processors in many ways, recorded, and compared: the truth comes from the program, not from addfg.

    fuzz/counted.py ADDFG FIRST..LAST [PROCESSOR,...]

For each seed one program of calls (loops, tables of functions, switches, variable arguments, structures, `qsort`, tail calls) and one of
bytes (loads, stores and atomic additions of all sizes, vectors, copies, `pread`). Prints what differs; ends with 1 if something does.

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
    for what, text in programs:
        source, program, db = (os.path.join(folder, name) for name in ("program.c", "program", "run.duckdb"))
        with open(source, "w") as file:
            file.write(text)
        subprocess.run([compiler, *COMMON, *flags, "-o", program, source], check=True)
        printed = subprocess.run([*([emulator] if emulator else []), program], capture_output=True, text=True).stdout
        truth = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in printed.splitlines()}
        if what == "bytes":
            modes = [["--detail", "full"]]
        else:
            modes = [[], ["--detail", "instance"]] + ([["--no-steps"]] if not emulator else [])
        for mode in modes:
            by = ["--qemu", emulator] if emulator else []
            command = [addfg, "record", "--quiet", "--force", *mode, *by, "-o", db, "--", program]
            subprocess.run(command, stdout=subprocess.DEVNULL)
            found = asked(addfg, db, CALLS if what == "calls" else BYTES)
            # Other functions of the program's libraries are called, too.
            own = truth if what == "calls" else {**truth, **found}
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
