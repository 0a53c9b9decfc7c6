"""A random generator and the bytes of a file in; the file out with one change that knows nothing
of its structure, or only what looks odd in its format."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.sources.fuzz_seeds import ENDINGS, seeds

Change = Callable[[bytes, Random], bytes]
_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "utf-8-sig", "cp037")
_DIGITS = re.compile(rb"-?\d+(?:\.\d+)?")
PIECES: dict[str, tuple[bytes, ...]] = {
    "code": (b"\r", b"\n\n", b"\x0c", b"\t", b'"""', b"\\\n", b"{", b"}"),
    "text": (b"\r", b"\n\n", b"\x0c", b"1.1 ", b"ARTICLE IV ", b"Contents\n", b" .... 7\n", b"```"),
    "transcript": (
        b"User: ",
        b"[",
        b"10:61 ",
        b"\n**A:** ",
        b"```\n",
        b"Me:\n",
        b"9999-99-99 1:1 ",
    ),
    "markdown": (
        *(b"---\n", b"...\n", b"a: &b c\n", b"? [a]\n", b"d: 1.0e+999\n", b'u: "\\UFFFFFFFF"\n'),
        *(b"%YAML " + b"9" * 5_000 + b"\n", b"x: !!python/object:os.system\n", b"2024-13-41\n"),
        *(
            b"> " * 60,
            b"- " * 60,
            b"| a |\n|--|\n",
            b"```",
            b"<!--",
            b"[a]: <",
            b"&#xd800;",
            b"&#0;",
        ),
        *(
            b"[" * 500,
            b"*" * 500,
            b"\\",
            b"<script>",
            b"\t",
            b"s: -.inf\n",
            b"t: 2024-01-01 99:99\n",
        ),
    ),
    "html": (
        *(b"&#0;", b"&#xd800;", b"<!--", b"<![CDATA[", b"<plaintext>", b"<select>", b"<table>"),
        *(b"<meta charset=utf-7>", b"<meta charset=hex>", b"<div>" * 600, b"<b><p>" * 300),
        *(b"</p>", b"<pre>", b"<svg><title>", b"<template>", b"<frameset>", b"<", b"<a b='"),
    ),
    "json": (
        b"\\ud800",
        b"\\u0000",
        b"NaN",
        b"[" * 2_000,
        b"{",
        b"1e999",
        b"9" * 5_000,
        b",",
        b'"',
    ),
    "xml": (
        *(b"&#0;", b"&#xd800;", b"&a;", b"<!---->", b"<![CDATA[x]]>", b"<?a b?>", b"]]>", b"<a:b>"),
        *(b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"<a>" * 300, b'<?xml version="1.0" encoding="x"?>'),
    ),
    "pdf": (
        b"/Kids",
        b"<<",
        b">>",
        b"endobj",
        b"stream",
        b"1 0 R",
        b"/Prev 0",
        b"BT",
        b"Tj",
        b"q ",
    ),
}


def change_bytes(data: bytes, random: Random) -> bytes:
    a, b = sorted(random.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + random.choice((1, 4, 50, 5_000)))
    change = random.randrange(7)
    if change == 0:
        return data[:a]
    if change == 1:
        return data[:a] + data[b:]
    if change == 2:
        return data[:a] + data[a:b] * random.choice((2, 3, 50)) + data[b:]
    if change == 3:
        return data[:a] + random.randbytes(random.choice((1, 3, 100))) + data[a:]
    if change == 4:
        c = random.randrange(len(data) + 1)
        return data[:a] + data[c : c + b - a] + data[b:]
    if change == 5:
        return data[b:] + data[a:b] + data[:a]
    flipped = bytearray(data)
    for _ in range(random.choice((1, 3, 20)) if data else 0):
        flipped[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def inserter(family: str) -> Change:
    def insert(data: bytes, random: Random) -> bytes:
        at = random.choice((0, len(data), random.randrange(len(data) + 1), data.find(b"\n") + 1))
        piece = random.choice(PIECES[family]) * random.choice((1, 1, 1, 20))
        return data[:at] + piece + data[at:]

    return insert


def recoded(data: bytes, random: Random) -> bytes:
    text = data.decode("utf-8", errors="ignore")
    return text.encode(random.choice(_ENCODINGS), errors="ignore")


def spliced(data: bytes, random: Random) -> bytes:
    """Begins as this file and ends as another, perhaps of another format."""
    other = random.choice(seeds(random.choice(list(ENDINGS))))
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other)) :]


def change_numbers(data: bytes, random: Random) -> bytes:
    """Numbers at the edge of what a reader expects."""
    found = list(_DIGITS.finditer(data))
    some = random.sample(found, min(len(found), random.choice((1, 3, 12))))
    for place in sorted(some, key=lambda match: -match.start()):
        worth = random.choice((b"0", b"-1", b"1e38", b"99999999999", b"4294967295", b"-0.00001"))
        data = data[: place.start()] + worth + data[place.end() :]
    return data
