#!/usr/bin/env python3
"""Checks that the pages are written in the project's plain English.

    .ci/words.py                      the pages of PAGES
    .ci/words.py FILE...              these files
    .ci/words.py --program ADDFG      also: each option of `addfg help` has a word in some page

Prints `file:line: rule: text` for each finding. Exit code: 0 nothing found, 1 something found.
Code blocks are not checked. A row of a table may be of any length; its sentences are checked.
An inline code span or a link counts as its text; a code span is one word.
"""

import glob
import os
import re
import subprocess
import sys

# Pages that keep the rules. Add a page here once it does.
PAGES = """
README.md ARCHITECTURE.md CONTRIBUTING.md
docs/views.md docs/record.md docs/semantics.md docs/questions.md docs/exports.md
docs/csi.md docs/dcfg.md docs/xray.md docs/wet.md docs/giano.md docs/symbols.md docs/stream.md docs/layout.md
docs/simulators.md docs/convert.md docs/sums.md docs/reliability.md docs/reach.md docs/report.md docs/index.md docs/speed.md docs/schema.md
docs/tutorial-split.md docs/tutorial-buffers.md docs/tutorial-value.md docs/tutorial-firmware.md
""".split()

WORDS = 25  # in a sentence
WIDTH = 120  # characters in a line
LINES = 6  # in a paragraph
LONGEST = {"README.md": 150}  # lines of a page

# What a reader has to read twice, and the history of the project, which belongs into CHANGELOG.md.
BANNED = [
    (r"\b(?:is|are|was|were) (?:no|none)\b", "say what it is, or use `not`"),
    (r"\bof which\b", "begin a new sentence"),
    (r"\bbehind\b", "`after`"),
    (r"\banew\b", "`again`"),
    (r"\b(?:whoever|whatever|whichever)\b", "say which"),
    (r"\b(?:tells?|told) of\b", "`has`, `reports`"),
    (r"\b(?:a|one) (?:line|row|file|step|slice|lane|word) an? ", "`per`"),
    (r"\bbeside\b", "`besides`, `next to`, `in addition to`"),
    (r"\bsuch ones\b", "name them"),
    (r"\bthat it has\b", "name the owner"),
    (r"\bbut for\b", "`except`"),
    (r"\bso (?:much|many) of\b", "name the number"),
    (r"\bas ever\b", "`as usual`"),
    (r"\bto the letter\b", "`exact`"),
    (r"\b(?:was|were|been) (?:mended|held to)\b", "history: CHANGELOG.md"),
    (r"\b(?:so far|until now|formerly|in a slow hour|by hand|used to be|not yet)\b", "history: CHANGELOG.md"),
]
QUESTION_WORD = re.compile(r"^What\b")


def plain(text):
    """Text without marks: a code span is one word, a link is its text, a picture is nothing."""
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"(`+)(.+?)\1", "CODE", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "")


def sentences(text):
    """The sentences of a paragraph."""
    return [s for s in re.split(r"(?<=[.!?])[\"')]*\s+", text) if s.strip()]


def words(sentence):
    """Words of a sentence: what has a letter or a digit."""
    return [w for w in re.split(r"[\s/]+", sentence) if re.search(r"\w", w)]


def paragraphs(lines):
    """(line, count of lines, text, kind) of each heading, paragraph, list item and cell, outside of code."""
    fence, begin, part = None, 0, []

    def flush():
        nonlocal part
        if part:
            yield begin, len(part), " ".join(part), "text"
        part = []

    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        opened = re.match(r"(```+|~~~+)", stripped)
        if fence:
            if stripped == fence:
                fence = None
        elif opened:
            yield from flush()
            fence = opened.group(1)
        elif not stripped:
            yield from flush()
        elif stripped.startswith("#"):
            yield from flush()
            yield number, 1, stripped.lstrip("# "), "heading"
        elif stripped.startswith("|"):
            yield from flush()
            if not re.fullmatch(r"[|\s:-]+", stripped):
                for cell in re.split(r"(?<!\\)\|", stripped)[1:-1]:
                    yield number, 1, cell.strip(), "cell"
        else:
            item = re.match(r"(?:[-+*]|\d+\.)\s+", stripped)
            if item:
                yield from flush()
                stripped = stripped[item.end():]
            if not part:
                begin = number
            part.append(stripped)
    yield from flush()


def check(name, text):
    """(line, rule, text) of all that breaks a rule in a page."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if len(lines) > LONGEST.get(name, len(lines)):
        yield len(lines), "page", f"{len(lines)} lines, {LONGEST[name]} at most"
    fence = None
    for number, line in enumerate(lines, 1):
        opened = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            if line.strip() == fence:
                fence = None
        elif opened:
            fence = opened.group(1)
        elif len(line) > WIDTH and not line.lstrip().startswith("|"):
            yield number, "line", f"{len(line)} characters, {WIDTH} at most"
    for number, count, text, kind in paragraphs(lines):
        if count > LINES:
            yield number, "paragraph", f"{count} lines, {LINES} at most"
        bare = plain(text)
        for pattern, remedy in BANNED:
            for found in re.finditer(pattern, bare, re.IGNORECASE):
                yield number, "phrase", f"`{found.group(0)}`: {remedy}"
        for sentence in sentences(bare):
            count = len(words(sentence))
            if count > WORDS:
                yield number, "sentence", f"{count} words, {WORDS} at most: {sentence[:60]}..."
            if QUESTION_WORD.match(sentence) and not sentence.endswith("?"):
                yield number, "what", f"`What` is the subject: {sentence[:60]}"


def undocumented(program, pages):
    """Options of the program's help that no page has."""
    help_of = lambda *args: subprocess.run([program, *args], capture_output=True, text=True, check=True).stdout
    for command in re.findall(r"^  ([a-z]+) ", help_of("--help"), re.MULTILINE):
        if command == "help":
            continue
        for short, option in re.findall(r"^ {2,8}(?:(-\w), )?(--[a-z-]+)", help_of("help", command), re.MULTILINE):
            names = [re.escape(name) + r"(?![a-z-])" for name in (short, option) if name]
            if option != "--help" and not re.search(r"(?<![\w-])(?:" + "|".join(names) + ")", pages):
                yield f"addfg {command}", option


def main(arguments):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    program = None
    if arguments[:1] == ["--program"]:
        program, arguments = arguments[1], arguments[2:]
    found = 0
    for name in arguments or PAGES:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        for line, rule, what in sorted(check(name, text)):
            print(f"{name}:{line}: {rule}: {what}")
            found += 1
    if program:
        files = glob.glob(os.path.join(root, "docs", "*.md")) + [os.path.join(root, "README.md")]
        pages = "".join(open(file, encoding="utf-8").read() for file in files)
        for command, option in undocumented(program, pages):
            print(f"{command}: option: {option} is in no page of docs and not in README.md")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
