"""docs/zoo.md is in step with the catalogue."""

from pathlib import Path

import pytest

from sojourn.errors import FileError
from sojourn.zoo.catalogue import families
from sojourn.zoo.page import generated, main, renewed

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"


def test_the_page_of_the_zoo_is_in_step_with_the_catalogue():
    text = PAGE.read_text(encoding="utf-8")
    assert renewed(text) == text, "run `python -m sojourn.zoo.page docs/zoo.md`"
    for name in families():
        assert f"## {name}\n" in text


def test_renewing_a_page_keeps_what_people_wrote(tmp_path):
    page = tmp_path / "zoo.md"
    text = PAGE.read_text(encoding="utf-8")
    page.write_text(text.replace(generated(), "old\n"), encoding="utf-8")
    main([str(page)])
    assert page.read_text(encoding="utf-8") == text


def test_a_page_without_marks_is_refused():
    with pytest.raises(FileError, match="0 of"):
        renewed("# The zoo")
