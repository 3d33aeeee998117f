"""Sessions and runs that somebody made on purpose: right checksums around what compiled code must never be given."""

import hashlib
import io
import zipfile

import numpy as np
import pytest

import sojourn
from sojourn.errors import FileError, ModelError
from sojourn.model.pack import pack, unpack
from sojourn.simulation.run_file import PastLearner

KNOWN = sojourn.make("three-state").knowledge()


def written(session, path, change):
    """Write a session whose content was changed, under the checksum of what it is now."""
    session.save(path)
    top = unpack(path.read_bytes())
    tree = unpack(top["content"])
    change(tree)
    content = pack(tree)
    path.write_bytes(pack({**top, "content": content, "sha256": hashlib.sha256(content).hexdigest()}))
    return path


def lived(name="ct-ucrl"):
    session, rng = sojourn.Session(name, "A", knowledge=KNOWN, seed=1), np.random.default_rng(1)
    for _ in range(30):
        assert session.action is not None
        session.report(float(rng.exponential()), KNOWN.states[int(rng.integers(3))])
    return session


def put(*keys):
    *way, last, value = keys

    def change(tree):
        for key in way:
            tree = tree[key]
        tree[last] = value(tree[last]) if callable(value) else value

    return change


WRONG = {
    "slots in a ring": (("session", "counts", "slot_next", lambda a: np.zeros_like(a)), "slots"),
    "a slot beyond the last": (("session", "learner", "counts", "head", lambda a: a + 10**6), "slots"),
    "a successor that does not exist": (("session", "counts", "slot_state", lambda a: a + 7), "positions of 3 states"),
    "more slots than there are": (("session", "counts", "used", lambda a: a + 10**9), "an array of"),
    "more room for successors than for their counts": (("session", "counts", "slot_state", lambda a: np.tile(a, 2)), "as long as"),
    "visits of another model": (("session", "counts", "visits", lambda a: a[:2]), "6 numbers"),
    "visits below zero": (("session", "counts", "visits", lambda a: a - 100), "at least 0"),
    "times that are none": (("session", "counts", "holding_sum", lambda a: a * np.nan), "at least 0"),
    "values of another shape": (("session", "learner", "values", lambda a: np.zeros(77)), "shape"),
    "a pair of another state": (("session", "pair", 10**9), "pending pair"),
    "a state beyond the last": (("session", "state", 99), "IndexError"),
    "actions that do not exist": (("knowledge", "pair_action", lambda a: a + 99), "positions from 0 to"),
    "choices that fall": (("knowledge", "pair_start", lambda a: a[::-1].copy()), "rise from 0"),
    "2^40 actions": (("knowledge", "actions", {"names": 2**40}), "for 6 pairs|Error"),
    "rewards as truth values": (("knowledge", "reward", lambda a: a > 0), "finite numbers"),
    "a parameter of the call": (("learner", "parameters", {"seed": 5}), "parameters"),
    "parameters that are none": (("learner", "parameters", [1]), "parameters"),
    "a plan of another size": (("session", "episode", "policy", lambda a: np.zeros(99, dtype=np.int64)), "policy"),
    "no learner": (("learner", None), "a part is missing"),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG)
def test_a_session_made_on_purpose_is_refused_in_words_that_name_the_file(tmp_path, change, words):
    path = written(lived(), tmp_path / "made.session", put(*change))
    with pytest.raises(FileError, match=rf"made\.session.*({words})"):
        sojourn.Session.load(path)


@pytest.mark.parametrize("name", ["default", "ct-psrl", "ct-ce"])
def test_policies_that_a_learner_searches_from_must_be_pairs(tmp_path, name):
    def change(tree):
        learner = tree["session"]["learner"]
        for key in {"policy_pair", "sampled_pair", "greedy_pair"} & set(learner):
            learner[key] = learner[key] + 10**6

    with pytest.raises(FileError, match="pairs from 0 to 5"):
        sojourn.Session.load(written(lived(name), tmp_path / "a.session", change))


def test_a_session_with_a_name_of_before_opens_and_new_ones_are_refused(tmp_path):
    path = written(lived(), tmp_path / "a.session", put("knowledge", "states", {"names": ["A\u200b", "B", "C"]}))
    with pytest.raises(FileError, match="knew another model"):  # its learner was told other names; the names themselves are taken
        sojourn.Session.load(path)
    with pytest.raises(ModelError, match="nobody sees"):
        sojourn.Knowledge.from_choices({"A\u200b": {"go": 1.0}}, (0.1, 1))


@pytest.mark.parametrize("name", ["a\u200bb", "\u202eb", "\ufeff", "a\u2066b", "x\u3164", "a\x7f", "soft\u00adhyphen",
                                  "variant\ufe0f", "a\U000e0100", "a\u180b", "a\U000e0fff", "a\u2065"])
def test_names_that_nobody_can_see_whole_are_refused_where_a_model_is_made(name, tmp_path):
    model = sojourn.make("two-state")
    for change in ({"states": [name, "b"]}, {"name": name}, {"actions": [name, *"bcdefgh"[: model.n_actions - 1]]}):
        with pytest.raises(ModelError, match=r"nobody sees|control characters"):
            model.replace(**change)
    with pytest.raises(ModelError, match="nobody"):
        sojourn.Rate(name, 1.0)
    model.replace(states=["A", "B"]).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text(encoding="utf-8").replace('"A"', f'"{name}"') if name != "a\x7f" else "{}"
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"m\.json"):
        sojourn.load(tmp_path / "m.json")
    columns = {"state": [name, "b"], "action": ["go", "go"], "holding_time": [1.0, 2.0], "next_state": ["b", name]}
    with pytest.raises(sojourn.errors.SojournError, match=r"nobody sees|control characters"):
        sojourn.fit(columns)


def test_letters_of_every_script_are_names():
    names = ["Zürich", "北京", "Αθήνα", "القاهرة", "हिन्दी", "a → b", "λ=2", "🙂", "⚠\ufe0f hot"]
    assert list(sojourn.Knowledge.from_choices({name: ["go"] for name in names}, (0.1, 1)).states) == names


def test_a_run_whose_columns_do_not_fit_is_refused(tmp_path):
    sojourn.simulate(sojourn.make("three-state"), "random", max_epochs=200, seed=1, record=True).save(tmp_path / "run.npz")
    with zipfile.ZipFile(tmp_path / "run.npz") as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}

    def array(values):
        out = io.BytesIO()
        np.save(out, values)
        return out.getvalue()

    for name, values in {"time": np.zeros(3), "visits": np.zeros((9, 9), dtype=np.int64), "bias": np.zeros(1), "gain": np.zeros(4),
                         "trajectory_state": np.full(200, 7), "epoch": np.zeros((2, 2))}.items():
        with zipfile.ZipFile(tmp_path / "made.npz", "w") as archive:
            for member, data in {**members, f"{name}.npy": array(values)}.items():
                archive.writestr(member, data)
        with pytest.raises(FileError, match=r"made\.npz"):
            sojourn.Run.load(tmp_path / "made.npz")


@pytest.mark.parametrize("place", [-1, 3, 10**30, 1.0, None])
@pytest.mark.parametrize("key", ["start", "state"])
def test_a_run_that_begins_or_ends_in_a_state_that_does_not_exist_is_refused(tmp_path, key, place):
    sojourn.simulate(sojourn.make("three-state"), "random", max_epochs=20, seed=1).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays = dict(file)
    content = pack(unpack(arrays["whole"].tobytes()[:-32]) | {key: place})
    arrays["whole"] = np.frombuffer(content + hashlib.sha256(content).digest(), dtype=np.uint8)
    np.savez_compressed(tmp_path / "made.npz", **arrays)
    with pytest.raises(FileError, match=r"made\.npz.*its states include number"):
        sojourn.Run.load(tmp_path / "made.npz")


def test_reading_a_run_asks_no_entry_points_and_imports_nothing(tmp_path, monkeypatch):
    sojourn.simulate(sojourn.make("three-state"), "ct-ucrl", max_epochs=100, seed=1).save(tmp_path / "run.npz")
    monkeypatch.setattr("sojourn.outside.entry_points", lambda **k: pytest.fail("entry points were looked up"))
    monkeypatch.setattr("sojourn.simulation.run_file.LEARNERS", sojourn.learn.catalogue.Catalogue(
        list(sojourn.learn.catalogue.LEARNERS.built_in.values())))
    assert not isinstance(sojourn.Run.load(tmp_path / "run.npz").learner, PastLearner)
