"""A study file is checked strictly, and every mistake is reported at once."""

import tomllib

import pytest

from sojourn.errors import FileError, ParameterError
from sojourn.model.ctmdp import CTMDP
from sojourn.study.spec import checked_study, read_study

GOOD = """
[study]
name = "x"
epochs = 1e4
replications = 3

[[models]]
zoo = "admission"
servers = 2

[[models]]
file = "mine.json"

[[learners]]
name = "ct-ucrl"
delta = 0.01
reward_range = [0, 10]
"""


def write(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def problems_of(raw):
    with pytest.raises(ParameterError) as caught:
        checked_study(raw)
    return str(caught.value)


def test_a_study_file_becomes_a_checked_study(tmp_path):
    CTMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[1.0], [2.0]], [[1.0], [0.0]]).save(tmp_path / "mine.json")
    spec = read_study(write(tmp_path, GOOD))
    assert spec.epochs == 10_000 and spec.replications == 3 and spec.seed == 0 and spec.time is None
    assert [m.label for m in spec.models] == ["admission:servers=2", "mine"]
    assert spec.learners[0].label == "ct-ucrl (delta=0.01, reward_range=[0, 10])"
    assert spec.text == GOOD


def test_all_mistakes_are_reported_at_once_with_the_nearest_right_name(small_raw):
    raw = small_raw(epochs=-3, replicatons=4, seed=True, checkpoints=1)
    raw["models"] = [{"zoo": "two-stat"}, {"zoo": "admission", "server": 3}, {"zoo": "two-state", "file": "x.json"}]
    raw["learners"] = [{"name": "ct-ucl"}, {"name": "ct-ucrl", "delt": 0.1}]
    raw["modles"] = []
    text = problems_of(raw)
    for expected in (
        "10 problems", "epochs is -3", "'replicatons'; did you mean 'replications'?", "seed is True", "checkpoints is 1",
        "did you mean 'two-state'?", "did you mean 'servers'?", "gives zoo and file", "did you mean 'ct-ucrl'?",
        "did you mean 'delta'?", "'modles'; did you mean 'models'?",
    ):  # fmt: skip
        assert expected in text, (expected, text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epochs": 10**17}, "epochs is 100000000000000000"),
        ({"epochs": 1.5}, "epochs is 1.5"),
        ({"time": 3.0}, "both epochs = 400 and time = 3.0"),
        ({"name": " "}, "name is ' '"),
        ({"replications": 0}, "replications is 0"),
        ({"replications": "7"}, "replications is '7'"),
        ({"seed": -1}, "seed is -1"),
        ({"checkpoints": [5, 3]}, "checkpoints is [5, 3]"),
        ({"checkpoints": [5, 5000]}, "checkpoints is [5, 5000]"),
        ({"checkpoints": [5, 10.5]}, "checkpoints holds 10.5; of a study in epochs they must be whole numbers"),
        ({"checkpoints": [float("nan")]}, "checkpoints is [nan]"),
        ({"name": "\ud800"}, "name is '\\ud800'"),
        ({"models": [{"zoo": "two-state", "label": "\ud800"}]}, "label is '\\ud800'"),
        ({"learners": [{"name": "random", "label": "\ud800"}]}, "label is '\\ud800'"),
        ({"common_random_numbers": 1}, "common_random_numbers is 1"),
        ({"start": "nowhere"}, "nowhere"),
        ({"start": 1.5}, "start is 1.5"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(small_raw, changes, said):
    assert said in problems_of(small_raw(**changes))


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"models": []}, "no [[models]] table"),
        ({"learners": "ct-ucrl"}, "no [[learners]] table"),
        ({"models": [{"zoo": "two-state", "rate_bounds": [3, 1]}]}, "rate_bounds is (3.0, 1.0)"),
        ({"models": [{"zoo": "two-state", "holding_times": "erlan:stages=2"}]}, "erlang"),
        ({"models": [{"file": "none.json"}]}, "none.json"),
        ({"models": [{"zoo": "two-state"}, {"zoo": "two-state"}]}, "same label"),
        ({"models": [{"zoo": "two-state"}, {"zoo": "two-state", "label": "again"}]}, "same content"),
        ({"learners": [{"name": "ct-ucrl", "delta": 2.0}]}, "delta is 2.0"),
        ({"learners": [{"name": "ct-ucrl", "supports": 1}]}, "supports is 1"),
        ({"learners": [{"class": "nowhere:Thing"}]}, "cannot be imported"),
        ({"learners": [{"name": "ct-ucrl", "class": "a:B"}]}, "it must be a table with name"),
    ],
)
def test_a_wrong_entry_is_named_with_its_rule(small_raw, tables, said):
    raw = small_raw()
    raw.update(tables)
    assert said in problems_of(raw)


def test_a_file_that_is_not_toml_or_not_there_is_said_so(tmp_path):
    with pytest.raises(FileError, match="not TOML"):
        read_study(write(tmp_path, "[study\nname=1"))
    with pytest.raises(FileError, match="no study file"):
        read_study(tmp_path / "none.toml")


def test_a_study_adds_no_parameter_of_its_own(small_spec):
    spec = small_spec(learners=["ct-ucrl"], models=["three-state"])
    assert spec.learners[0].parameters == {} and spec.learners[0].label == "ct-ucrl"
    assert spec.learners[0].make(spec.models[0].model, seed=0).delta == 0.01


def test_a_study_made_in_python_writes_itself_as_a_file_that_reads_back(small_spec, tmp_path):
    spec = small_spec(common_random_numbers=True, checkpoints=[10, 400], start=1)
    again = checked_study(tomllib.loads(spec.text))
    assert again.horizon == spec.horizon and again.replications == spec.replications
    assert [m.key for m in again.models] == [m.key for m in spec.models]
    assert [e.key for e in again.learners] == [e.key for e in spec.learners]


def test_the_content_key_of_a_model_does_not_depend_on_its_name(small_spec):
    spec = small_spec(models=[{"zoo": "two-state", "label": "another name"}])
    assert spec.models[0].key == small_spec(models=["two-state"]).models[0].key
    assert spec.models[0].key != small_spec(models=[{"zoo": "two-state", "holding_times": "deterministic"}]).models[0].key


def test_a_learners_value_is_tried_even_when_no_model_could_be_built(small_raw):
    text = problems_of(small_raw(models=[{"zoo": "two-stat"}], learners=[{"name": "ct-ucrl", "delta": 2.0}]))
    assert "2 problems" in text and "did you mean 'two-state'?" in text and "delta" in text


@pytest.mark.parametrize(("text", "words"), [
    ("x = " + "[" * 100_000, "nests its brackets too deep"),
    ("x = " + "9" * 5000, "is not TOML"),
    ("a" + ".a" * 20_000 + " = 1", "a key of more than 100 parts"),  # 400 kB took longer than a minute
    ("x = {a" + r'."\""' * 20_000 + " = 1}", "a key of more than 100 parts"),
    ("[a" + " . 'a'" * 20_000 + "]", "a key of more than 100 parts"),
])
def test_a_file_that_tomllib_gives_up_on_is_refused_in_words(tmp_path, text, words):
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=words):
        read_study(path)


def test_a_study_file_that_is_too_long_is_told_of_no_way_that_there_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("sojourn.study.spec.MAX_BYTES", 100)
    (tmp_path / "long.toml").write_text("#" * 101)
    with pytest.raises(FileError) as told:
        read_study(tmp_path / "long.toml")
    assert "a study never needs as much" in str(told.value) and "max_bytes" not in str(told.value)


def test_of_very_many_problems_the_first_are_said(tmp_path):
    (tmp_path / "many.toml").write_text("".join(f"[a{i}]\n" for i in range(500)))
    with pytest.raises(ParameterError, match=r"has 50\d problems") as told:
        read_study(tmp_path / "many.toml")
    assert str(told.value).count("\n") == 31 and str(told.value).splitlines()[-1].endswith(" more")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800.toml"])
def test_a_path_that_no_file_can_have_is_refused(path):
    with pytest.raises(FileError, match="the path is "):
        read_study(path)


@pytest.mark.parametrize("value", ["nan", "07:32:00", "[1, inf]", "{a = 1979-05-27}"])
def test_a_parameter_that_cannot_be_part_of_a_key_is_named(tmp_path, value):
    path = tmp_path / "odd.toml"
    path.write_text(GOOD + f'\n[[learners]]\nclass = "collections:Counter"\nodd = {value}\n')
    with pytest.raises(ParameterError, match=r"odd is .*; a parameter must be a finite number, a text"):
        read_study(path)


def test_a_folder_is_no_study_file(tmp_path):
    with pytest.raises(FileError, match="is a folder; a study is read from a file"):
        read_study(tmp_path)
