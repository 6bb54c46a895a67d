"""What a Tarmac trace says, without addfg: reads, their bytes, writes, their bytes, then calls as `caller callee number`, functions by address.
count.py TRACE SYMBOLS, the symbols as `readelf -sW` prints them."""
import re, sys
from collections import Counter

functions = sorted(int(w[1], 16) for w in map(str.split, open(sys.argv[2])) if len(w) == 8 and w[3] == "FUNC")
function = lambda pc: [a for a in functions if a <= pc][-1]
count, calls, last = Counter(), Counter(), None
for line in open(sys.argv[1]):
    if step := re.search(r"\bI([TS]) \(\d+\) ([0-9a-f]+) \w+ \w \w+ :\s*(\w+)", line):
        pc = int(step[2], 16)
        if last and last[1] in ("BL", "BLX", "BLR"):
            calls[function(last[0]), function(pc)] += 1
        # gem5 writes that a load of a pair stores.
        pair, last = step[3] == "LDP", (pc, step[3]) if step[1] == "T" else None
    elif access := re.search(r"\bM([RW])(\d+) ", line):
        kind = "R" if pair else access[1]
        count[kind] += 1
        count[kind + "B"] += int(access[2])
print(*(count[k] for k in ("R", "RB", "W", "WB")))
for (caller, callee), number in sorted(calls.items()):
    print(caller, callee, number)
