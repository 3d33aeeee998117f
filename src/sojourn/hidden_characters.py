"""Which texts can be shown as they are: control characters, characters without width, signs that turn the direction of writing."""

from __future__ import annotations

import re
import unicodedata

DRAWN_AS_NOTHING = re.compile(  # letters, marks and places without one that have no width (Default_Ignorable_Code_Point of Unicode)
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]")


def has_control(text: str) -> bool:
    """Whether a text could break a terminal, a line or a file: control characters, lone surrogates, line separators."""
    return not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)


def has_hidden(text: str) -> bool:
    """Whether a text holds what nobody sees: control characters, others without width, signs that turn the direction of writing.

    >>> has_hidden("servers=2"), has_hidden("Zürich → 北京"), has_hidden("a\u200bb"), has_hidden("\u202egnp.exe")
    (False, False, True, True)
    """
    return (not text.isascii() and any(map(_is_hidden, text, f" {text}"))) or has_control(text)


def visible(text: str) -> str:
    """Return a text in which everything hidden (but the ends of lines and tabs) is written as Python would escape it.

    >>> print(visible("up\x1b[31m, \u202eback"))
    up\\x1b[31m, \\u202eback
    """
    if not has_hidden(text):
        return text
    return "".join(c.encode("unicode_escape").decode() if c not in "\n\t" and _is_hidden(c, before) else c
                   for c, before in zip(text, f" {text}"))


def _is_hidden(char: str, before: str) -> bool:
    """Whether a character behind `before` is not seen; a variant of a symbol is, as of those that can be drawn as an emoji."""
    if "\ufe00" <= char <= "\ufe0f":
        return unicodedata.category(before) not in ("So", "Sm")
    return DRAWN_AS_NOTHING.match(char) is not None or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
