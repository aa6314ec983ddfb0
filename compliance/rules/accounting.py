"""A text cut into its sentences, and whether a register accounts for each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TYPED = str.maketrans({"“": '"', "”": '"', "’": "'", "\xa0": " "})
_END = re.compile(r"[.;]\"?[)\]]*(?:\[\d\])? +(?=[\"(\[]?[A-Z§\[])")
_ABBREVIATED = re.compile(r"(?:\b(?:Ch|Chs|Wis|Adm|Stats|No|Nos|Ord|Art|Sec|etc)|\b[A-Z])\.$")
_LABEL = re.compile(r"[(\[]?(?:[A-Za-z]|\d{1,2}|[ivx]{1,4})[)\].]+")


def plain(text: str) -> str:
    """Text with plain quotes and one space between words, to look for a few words in."""
    return " ".join(text.translate(_TYPED).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence, heading or table line. begin: where it starts in the plain text of all."""

    begin: int
    words: str


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text, each line a paragraph; a label such as ``(a)`` alone is none."""
    found: list[Sentence] = []
    begin = 0
    for line in text.splitlines():
        paragraph = plain(line)
        if not paragraph:
            continue
        found += _cut(paragraph, begin)
        begin += len(paragraph) + 1
    return tuple(found)


def _cut(paragraph: str, begin: int) -> Iterator[Sentence]:
    start = 0
    ends = [m.end() for m in _END.finditer(paragraph) if not _is_abbreviation(paragraph, m)]
    for end in (*ends, len(paragraph)):
        words = paragraph[start:end].strip()
        if words and not _LABEL.fullmatch(words):
            yield Sentence(begin=begin + start, words=words)
        start = end


def _is_abbreviation(paragraph: str, end: re.Match[str]) -> bool:
    return _ABBREVIATED.search(paragraph[: end.start() + 1]) is not None


def unaccounted(text: str, anchors: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What a register gets wrong of a text, a sentence each; empty where it accounts for all.

    anchors: clause and words, in the order of the text. An anchor must stand after the one before,
    and every sentence must hold one.
    """
    whole, faults, at, held = plain(text), [], 0, []
    for clause, words in anchors:
        found = whole.find(plain(words), at)
        if found >= 0:
            held.append(found)
            at = found + 1
            continue
        where = "stands before the row above it" if plain(words) in whole else "is not in the text"
        faults.append(f"{clause}: the anchor {words!r} {where}")
    return (*faults, *_bare(whole, sentences(text), held))


def _bare(whole: str, cut: tuple[Sentence, ...], held: list[int]) -> Iterator[str]:
    ends = [*(one.begin for one in cut[1:]), len(whole)]
    for one, end in zip(cut, ends, strict=True):
        if not any(one.begin <= at < end for at in held):
            yield f"no row for: {one.words[:90]}"
