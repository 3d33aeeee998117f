"""The table of the paper's labels is true: every label that is used has a name here, the name exists, and its docstring says so."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "sojourn"
LABEL = re.compile(r"(?<![\w/])((?:(?:eq|thm|lem|alg|remark): ?|step:)[A-Za-z0-9][\w-]*(?::\w+)?|assume-[a-z]+|regret-def)")
NOT_LABELS = re.compile(r"\b(?:eq|lem|step|remark|alg|thm): (?=[a-z])(?!coro:)")  # a word and a colon


def plain(label):
    return label.replace(": ", ":")


def rows():
    """Return {label: (printed as, name here)} of the table."""
    found = {}
    for line in (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").split("## Labels")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            assert len(cells) == 5, line
            found[plain(cells[0].strip("`"))] = cells[1], cells[4]
    return found


def names_in(cell):
    """Return the names of a cell, with their parts: `Run.regret`, `lower_bound(time=T)` -> Run, regret, lower_bound."""
    quoted = [name for name in re.findall(r"`([^`]+)`", cell) if not LABEL.fullmatch(name)]
    return {part for name in quoted for part in name.split("(")[0].split(".")}


def defined_and_citing():
    """Return (every name defined in the source, {label: names of the functions and classes whose docstring cites it})."""
    defined, citing = set(), {}

    def visit(node, inside):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            inside = (*inside, node.name)
            defined.add(node.name)
            for label in LABEL.findall(ast.get_docstring(node) or ""):
                citing.setdefault(plain(label), set()).update(inside)
        elif isinstance(node, (ast.AnnAssign, ast.Assign, ast.arg, ast.Attribute)):
            for target in getattr(node, "targets", [getattr(node, "target", node)]):
                defined.add(getattr(target, "id", getattr(target, "attr", getattr(target, "arg", ""))))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    for path in SRC.rglob("*.py"):
        defined.add(path.stem)
        visit(ast.parse(path.read_text(encoding="utf-8")), ())
    return defined, citing


def test_every_label_that_source_docs_or_tests_use_has_a_row_with_a_name_or_says_that_there_is_none():
    table = rows()
    pages = [*SRC.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").glob("**/*.md"), ROOT / "README.md"]
    used = {plain(label): path.name for path in pages if "_build" not in path.parts and path != Path(__file__)
            for label in LABEL.findall(NOT_LABELS.sub("", path.read_text(encoding="utf-8")))}
    assert not {label: where for label, where in used.items() if label not in table}
    assert not [label for label, (_, name) in table.items() if not names_in(name) and "no name" not in name]


def test_every_name_of_the_table_exists():
    defined, _ = defined_and_citing()
    assert not {label: names_in(name) - defined for label, (_, name) in rows().items() if names_in(name) - defined}


def test_a_label_that_a_docstring_cites_is_named_after_one_that_cites_it():
    _, citing = defined_and_citing()
    table = rows()
    known = {label: (who, table[label][1]) for label, who in citing.items() if label in table}
    assert not {label: (sorted(who), name) for label, (who, name) in known.items() if not who & names_in(name)}


def test_the_numbers_go_up_within_each_section_and_kind():
    seen = {}
    for label, (printed, _) in rows().items():
        kind, section, number = re.fullmatch(r"(\D*?)\(?(\d+)(?:\.(\d+))?\)?(?:, line \d+)?", printed).groups()
        if number is None:
            continue
        count = (kind == "", section)
        seen.setdefault(count, []).append((int(number), label))
    assert all(len({number for number, _ in part}) == len(part) for part in seen.values())
