"""The page of the zoo: `python -m sojourn.zoo.page docs/zoo.md` renews what lies between its two marks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sojourn.errors import FileError
from sojourn.zoo.catalogue import families, family, make
from sojourn.zoo.family import ASSUMPTION_WORDS, Family

BEGIN = "<!-- generated from the catalogue by `python -m sojourn.zoo.page docs/zoo.md` -->"
END = "<!-- end of what is generated -->"
VERDICT = {True: "yes", False: "no", None: "not decided"}


def generated() -> str:
    """Return the table of all families and a section on each, in Markdown."""
    return "\n".join(_lines())


def renewed(text: str) -> str:
    """Return the page with what lies between the marks replaced."""
    if BEGIN not in text or END not in text:
        counts = f"{text.count(BEGIN)} of {BEGIN!r} and {text.count(END)} of {END!r}"
        raise FileError(f"the page holds {counts}; it needs one of each, and what lies between them is renewed.")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{generated()}\n{END}{after}"


def _lines() -> Iterator[str]:
    yield "| family | what it is | states by default | every policy irreducible |"
    yield "|---|---|---:|---|"
    for name in families():
        found = family(name)
        yield f"| [`{name}`](#{name}) | {found.summary} | {make(name).n_states} | {VERDICT[found.assumptions['irreducible']]} |"
    yield ""
    for name in families():
        yield from _section(family(name))


def _section(found: Family) -> Iterator[str]:
    yield f"## {found.name}"
    yield ""
    yield found.theory
    yield ""
    if found.parameters:
        yield "| parameter | default | unit | meaning | allowed |"
        yield "|---|---|---|---|---|"
        for p in found.parameters:
            default = "none" if p.default is None else str(list(p.default)) if isinstance(p.default, tuple) else str(p.default)
            yield f"| `{p.name}` | {default} | {p.unit} | {p.meaning} | {p.allowed} |"
        yield ""
    verdicts = "; ".join(f"{words}: {VERDICT[found.assumptions[key]]}" for key, words in ASSUMPTION_WORDS.items())
    yield f"**Assumptions** at the defaults: {verdicts}.{' ' + found.note if found.note else ''}"
    yield ""
    yield f"**Known answer.** {found.answer}"
    yield ""
    yield f"**Source.** {found.source}."
    yield ""
    yield f"**Gymnasium.** `{found.gym_id}`"
    yield ""


def main(paths: list[str]) -> None:
    """Renew the pages named on the command line."""
    for path in map(Path, paths):
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
