"""The report of a study: one page that holds everything, figures included, and from which the study can be run again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from sojourn.errors import FileError, ParameterError
from sojourn.hidden_characters import visible
from sojourn.learn.saving import settings_in_words
from sojourn.model.files import replacing
from sojourn.report.curves import model_labels
from sojourn.report.figures import FIGURES
from sojourn.report.inline import inline_svg
from sojourn.report.look import save
from sojourn.report.study_words import ALT, about_bound, caption, findings, model_sentences, notes, opening, told_the_model
from sojourn.report.style import PAGE
from sojourn.report.tables import html_table
from sojourn.study.failures import failure_lines
from sojourn.study.schema import from_store
from sojourn.study.store import Store, StoredModel
from sojourn.study.summary import REGRETS, Summary, summarize
from sojourn.study.words import (
    COMPARISON_HEAD,
    DEBT_HEAD,
    FINAL_HEAD,
    STOPPING_HEAD,
    comparison_rows,
    debt_rows,
    fenced,
    final_rows,
    horizon_words,
    in_markdown,
    latex,
    markdown,
    number,
    stopping_refusals,
    stopping_rows,
    stopping_words,
    structure_lines,
)

if TYPE_CHECKING:
    from sojourn.report.look import Figure

MAX_FILE = 200_000  # characters of a model that a page takes in


def write_report(
    store: str | PathLike[str], path: str | PathLike[str], kind: str | None = None, regret: str = "pseudo", band: str = "t"
) -> Path:
    """Write the report of a store to `path` as HTML (one self-contained file) or Markdown (figures in a folder beside it)."""
    path = Path(path)
    kind = kind or path.suffix.lstrip(".")
    if kind not in ("html", "md"):
        raise ParameterError(f"{path.name!r} does not say what to write; a report ends in .html or .md (or give --format).")
    with Store(store) as opened:
        page = Page(opened, regret, band)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = visible(page.html() if kind == "html" else page.markdown(path))
    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise FileError(f"cannot write {str(path)!r}: {error.strerror or error}. Nothing was written there.") from error
    return path


class Page:
    """Everything the report says, taken from the store once."""

    @from_store
    def __init__(self, store: Store, regret: str, band: str):
        self.summary: Summary = summarize(store, regret, band)
        self.words = REGRETS[regret][1]
        self.learners = store.learners()
        self.models = store.models()
        *self.earlier, self.spec = store.specs()
        self.files = dict(_files(self.models))
        self.codes = [versions for _, _, versions in store.codes()]
        self.hash = store.content_hash()
        self.finished = sum(store.counts().values())
        self.replications = store.replications

    # ---- sentences ----------------------------------------------------------------------------------------------

    def facts(self) -> str:
        """Return one line: how much of what was run."""
        h = self.summary.horizon
        return (
            f"{len(self.models)} model{'s' * (len(self.models) > 1)}, "
            f"{len(self.learners)} learner{'s' * (len(self.learners) > 1)}, "
            f"{self.finished} replication{'s' * (self.finished != 1)} of {horizon_words(h)}; seed {h['seed']}"
            + (", common random numbers" if h["common_random_numbers"] else "")
        )

    def knew(self) -> list[tuple[str, ...]]:
        """Return what each learner was, knew and is proved to do."""
        rows: list[tuple[str, ...]] = []
        for entry in self.learners:
            rows.append(
                (
                    entry.label,
                    entry.source["name"],
                    settings_in_words(entry.settings) or "none",
                    entry.source["knows"],
                    entry.source["proved"],
                )
            )
        return rows

    def model_rows(self) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for stored in self.models:
            model, bounds = stored.model, self.summary.bounds[stored.label]
            lo, hi = model.bounds
            found.append(
                (
                    stored.label,
                    str(model.n_states),
                    str(model.n_pairs),
                    f"{lo:g} to {hi:g}",
                    number(bounds.gain),
                    number(bounds.constant),
                    ", ".join(f"{name} {number(c)}" for name, c in self.summary.floors(stored.label).items()) or "-",
                    stored.key[:12],
                )
            )
        return found

    MODEL_HEAD = ("model", "states", "pairs", "rates", "optimal gain", "C(M)", "bounds used", "content")
    KNEW_HEAD = ("learner", "algorithm", "parameters", "knew beforehand", "proved")

    def again(self) -> str:
        return "sojourn study run study.toml && sojourn study report study.sqlite"

    # ---- the page -----------------------------------------------------------------------------------------------

    def figures(self, model: str) -> Iterator[tuple[str, Figure]]:
        for name, draw in FIGURES.items():
            figure = draw(self.summary, model)
            if figure is not None:
                yield name, figure

    def html(self) -> str:
        """Return the page as one HTML file without scripts and without a request to anywhere."""
        s = self.summary
        body = [f"<header><h1>{escape(s.name)}</h1><p>{escape(self.facts())}</p></header>"]
        if s.missing:
            body.append(
                f'<p class="warn">{s.missing} replications are still missing; the figures are of those that are finished.</p>'
            )
        for line in failure_lines(s.failures):
            body.append(f'<p class="warn">{escape(line)}.</p>')
        body += [f"<p>{escape(text)}</p>" for text in opening(s, len(self.learners), self.replications)]
        body.append(_list(f"<b>{escape(label)}</b>: {escape(text)}" for label, text in model_sentences(s, self.models)))
        body.append("<h2>What follows</h2>" + _list(map(escape, findings(s, self.learners)), "findings"))
        body.append("<h3>What the lower bound says, and what not</h3>")
        body += [f'<p class="bound">{escape(text)}</p>' for text in about_bound(s)]
        body.append(f"<h2>Final {escape(self.words)}</h2>" + html_table(FINAL_HEAD, final_rows(s), strong=self._best_rows()))
        for i, model in enumerate(model_labels(s)):
            body.append(f'<h2>{escape(model)}</h2>\n<div class="figures">')
            body += [self._figure(f"m{i}-{name}", name, model, figure) for name, figure in self.figures(model)]
            body.append("</div>")
        if s.stopping:
            said = _list(map(escape, [stopping_words(s), *stopping_refusals(s)]))
            body.append("<h2>When learning could stop</h2>" + html_table(STOPPING_HEAD, stopping_rows(s)) + said)
        if structure_lines(s):
            body.append("<h2>Do the declared events hold?</h2>" + _list(map(escape, structure_lines(s))))
        if s.comparisons:
            body.append("<h2>Comparisons</h2>" + html_table(COMPARISON_HEAD, comparison_rows(s)))
        if s.debts:
            table = html_table(DEBT_HEAD, debt_rows(s))
            body.append(f"<details><summary>Visits that the bound asks for, in numbers</summary>{table}</details>")
        body.append("<h2>Models</h2>" + html_table(self.MODEL_HEAD, self.model_rows()))
        body.append("<h2>What each learner knew</h2>" + html_table(self.KNEW_HEAD, self.knew()))
        body.append("<h2>How the figures were made</h2>" + _list(map(escape, notes(s))))
        body.append(
            f"<h2>To run it again</h2><p>Save this as <code>study.toml</code>, then <code>{escape(self.again())}</code></p>"
            f"<pre>{escape(self.spec)}</pre>"
        )
        for what, text in self._with_it().items():
            body.append(f"<details><summary>{escape(what)}</summary><pre>{escape(text)}</pre></details>")
        body.append("<details><summary>The final table in LaTeX</summary><pre>" + escape(latex(s)) + "</pre></details>")
        body.append(f"<footer>{escape(self._versions())}<br>Hash of all results: <code>{self.hash}</code></footer>")
        return PAGE.format(title=escape(s.name), body="\n".join(body))

    def _figure(self, place: str, name: str, model: str, figure: Figure) -> str:
        headline, text = caption(self.summary, name, model, figure)
        drawn = inline_svg(figure, place, f"{ALT[name]} on {model}")
        return f"<figure>{drawn}<figcaption><b>{escape(headline)}.</b> {escape(text)}</figcaption></figure>"

    def _with_it(self) -> dict[str, str]:
        """Return what else is needed to run it again: model files, and earlier study files of the same store."""
        files = {f"The model file {name}, to be saved beside it": text for name, text in self.files.items()}
        return files | {f"Earlier study file {i} of this store": text for i, text in enumerate(self.earlier, 1)}

    def _best_rows(self) -> list[int]:
        """Return the row of the learner that loses least on each model, of those that were not shown the model."""
        told = told_the_model(self.learners)
        rows = [(i, r) for i, r in enumerate(self.summary.rows) if r.learner not in told]
        on = {model: [(r.mean, i) for i, r in rows if r.model == model] for model in model_labels(self.summary)}
        return [min(found)[1] for found in on.values() if found]

    def _versions(self) -> str:
        shown = ["Made with " + ", ".join(f"{name} {version}" for name, version in versions.items()) for versions in self.codes]
        return "; ".join(shown)

    def markdown(self, path: Path) -> str:
        """Return the page as Markdown; the figures are PNG files in a folder beside it."""
        s, folder = self.summary, path.with_name(path.stem + "-figures")
        folder.mkdir(parents=True, exist_ok=True)
        parts = [f"# {in_markdown(s.name)}", self.facts() + "."]
        if s.missing:
            parts.append(f"**{s.missing} replications are still missing.**")
        parts += [f"**{in_markdown(line)}.**" for line in failure_lines(s.failures)]
        parts += map(in_markdown, opening(s, len(self.learners), self.replications))
        said = model_sentences(s, self.models)
        parts.append("\n".join(f"- **{in_markdown(label)}**: {in_markdown(text)}" for label, text in said))
        parts += ["## What follows", _items(findings(s, self.learners))]
        parts += ["### What the lower bound says, and what not", *map(in_markdown, about_bound(s))]
        parts += [f"## Final {self.words}", markdown(FINAL_HEAD, final_rows(s))]
        for model in model_labels(s):
            parts.append(f"## {in_markdown(model)}")
            for name, figure in self.figures(model):
                file = folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', model).strip('-')}-{name}.png"
                save(figure, file, "png")
                headline, text = caption(s, name, model, figure)
                place = f"{quote(folder.name)}/{file.name}"
                parts.append(f"![{ALT[name]} on {in_markdown(model)}]({place})\n\n**{headline}.** *{in_markdown(text)}*")
        if s.stopping:
            table = markdown(STOPPING_HEAD, stopping_rows(s))
            parts += ["## When learning could stop", table, _items([stopping_words(s), *stopping_refusals(s)])]
        if structure_lines(s):
            parts += ["## Do the declared events hold?", _items(structure_lines(s))]
        if s.comparisons:
            parts += ["## Comparisons", markdown(COMPARISON_HEAD, comparison_rows(s))]
        if s.debts:
            parts += ["## Exploration debt", markdown(DEBT_HEAD, debt_rows(s))]
        parts += [
            "## Models",
            markdown(self.MODEL_HEAD, self.model_rows()),
            "## What each learner knew",
            markdown(self.KNEW_HEAD, self.knew()),
            "## How the figures were made",
            _items(notes(s)),
            "## To run it again",
            f"Save this as `study.toml`, then `{self.again()}`",
            fenced(self.spec, "toml"),
            *(f"{in_markdown(what)}:\n\n{fenced(text)}" for what, text in self._with_it().items()),
            f"{in_markdown(self._versions())}. Hash of all results: `{self.hash}`",
        ]
        return "\n\n".join(parts) + "\n"


def _files(models: list[StoredModel]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of every model that came from a file or from Python, unless it is too large for a page."""
    for stored in models:
        if "zoo" not in stored.source:
            said = Path(str(stored.source.get("file", f"{stored.label}.json")))
            with TemporaryDirectory() as folder:
                stored.model.save(Path(folder) / "model.json")
                text = (Path(folder) / "model.json").read_text(encoding="utf-8")
            if len(text) <= MAX_FILE:
                yield str(said if said.suffix == ".json" else said.with_suffix(".json")), text


def _items(texts: Iterable[str]) -> str:
    """Return texts as a list in Markdown."""
    return "\n".join(f"- {in_markdown(text)}" for text in texts)


def _list(items: Iterable[str], kind: str = "") -> str:
    """Return a list of items that are HTML already."""
    return (f'<ul class="{kind}">' if kind else "<ul>") + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
