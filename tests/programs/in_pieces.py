#!/usr/bin/env python3
"""Stands for valgrind in the PATH: runs the next one there, and hands on what it and addfg say to each other on --sums-fd.

Answers come in pieces of any size, some with more behind what is asked for than there is room for, and words that ask for
the sums (docs/sums.md) before and behind them. The file that IN_PIECES names gets how often they were asked for, and how often
they came. With an odd IN_PIECES_SEED the recorder is given memory that counts the bytes, else none. IN_PIECES_LAST=N: addfg
is gone behind N answers; with a fraction, so much of the next one comes. Of `rows`: when the first rows have come.
"""

import mmap
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

ASKS = b"\xff" * 4
ROWS, SNAPSHOT = 4, 9


def whole(connection, length):
    """Bytes of a stream; None at its end."""
    got = b""
    while len(got) < length:
        try:
            more = connection.recv(length - len(got))
        except OSError:
            more = b""
        if not more:
            return None
        got += more
    return got


def first(addfg, recorder, seed):
    """The first message has memory for what each end has sent. Gives what sends to the recorder."""
    socket.recv_fds(addfg, 4, 1)
    if seed % 2 == 0:
        recorder.sendall(bytes(4))
        return recorder.sendall
    file = os.memfd_create("counts")
    os.ftruncate(file, mmap.PAGESIZE)
    counts = mmap.mmap(file, mmap.PAGESIZE)
    socket.send_fds(recorder, [bytes(4)], [file])

    def send(piece):
        recorder.sendall(piece)
        counts[:4] = struct.pack("<I", (struct.unpack("<I", counts[:4])[0] + len(piece)) % 2**32)

    return send


def to_recorder(addfg, recorder, counts):
    """Answers, with words that ask."""
    seed = int(os.environ.get("IN_PIECES_SEED", "0"))
    r, send = random.Random(seed), first(addfg, recorder, seed)
    left = float(os.environ.get("IN_PIECES_LAST", "inf").replace("rows", "1e8"))
    while (head := whole(addfg, 4)) is not None:
        body = whole(addfg, struct.unpack("<I", head)[0]) or b""
        if left < 1:
            # It ends in the middle of a word, or between two.
            send((head + body)[:int(left * (len(body) + 4))])
            recorder.shutdown(socket.SHUT_RDWR)
            recorder.close()
            return
        left -= 1
        # Nobody looks at what is behind the answer itself.
        body += bytes(r.choice([0, 0, 0, 0, 0, 0, 3, 65527, 65528, 65529, 65532, 65536, 200000]))
        answer = struct.pack("<I", len(body)) + body
        before, behind = r.choice([0, 0, 0, 0, 1, 2]), r.choice([0, 0, 0, 0, 1, 3])
        if counts[0] > 60 or left < 1e9:
            before = behind = 0
        counts[0] += before + behind
        # At once, or in some pieces. A word that asks comes whole, as addfg writes it.
        kind, words, at = r.randrange(3), [ASKS] * before, 0
        while at < len(answer):
            length = len(answer) if kind == 0 else r.randrange(1, 9) if len(answer) < 200 else len(answer) - r.randrange(1, 5) if at == 0 and kind == 1 else r.randrange(1, len(answer) + 1)
            words.append(answer[at:at + length])
            at += length
        words += [ASKS] * behind
        while words:
            count = len(words) if kind == 0 else r.randrange(1, 3)
            send(b"".join(words[:count]))
            del words[:count]
            if words:
                time.sleep(0.0005)


def to_addfg(recorder, addfg, counts):
    """What the recorder says."""
    while (head := whole(recorder, 8)) is not None:
        kind, length = struct.unpack("<II", head)
        counts[1] += kind == SNAPSHOT
        if kind == ROWS and os.environ.get("IN_PIECES_LAST") == "rows":
            # They are more than fit into the socket, whose other end waits.
            recorder.shutdown(socket.SHUT_RDWR)
            return recorder.close()
        addfg.sendall(head + (whole(recorder, length) or b""))


def main():
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if os.path.abspath(folder) != here]
    valgrind, arguments = shutil.which("valgrind", path=os.pathsep.join(others)), sys.argv[1:]
    given = [re.fullmatch(r"--sums-fd=(\d+)", argument) for argument in arguments]
    if not any(given):
        os.execv(valgrind, [valgrind, *arguments])
    at = next(i for i, one in enumerate(given) if one)
    addfg = socket.socket(fileno=int(given[at].group(1)))
    own, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
    arguments[at] = f"--sums-fd={theirs.fileno()}"
    theirs.set_inheritable(True)
    addfg.set_inheritable(False)
    program = subprocess.Popen([valgrind, *arguments], close_fds=False)
    theirs.close()
    counts = [0, 0]
    threading.Thread(target=to_recorder, args=(addfg, own, counts), daemon=True).start()
    to_addfg(own, addfg, counts)
    code = program.wait()
    with open(os.environ["IN_PIECES"], "w") as log:
        log.write(f"{counts[0]} {counts[1]}")
    sys.stdout.flush()
    os._exit(code)


main()
