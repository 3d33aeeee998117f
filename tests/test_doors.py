"""A learner by name, by module:Class, as a class or as an object, everywhere; a model in words; entry points of others."""

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest

import sojourn
from command_line import run as sojourn_command
from sojourn.errors import OutsideWarning, ParameterError
from sojourn.learn.catalogue import Catalogue, learner, learner_class
from sojourn.learn.ct_ucrl import CTUCRL
from sojourn.zoo import catalogue as zoo

MINE = '''
from sojourn.learn import Learner, Plan
class Mine(Learner):
    """Plays the first action for ever."""
    knows = "nothing much"
    def __init__(self, knowledge, seed=0, length=7):
        super().__init__(knowledge, seed)
        self.length = length
    def plan(self):
        first = self.knowledge.pair_action[self.knowledge.pair_start[:-1]]
        return Plan(first, max_epochs=self.length)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A file with a learner, in the current folder."""
    (tmp_path / "mine_of_doors.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    yield "mine_of_doors:Mine"
    sys.modules.pop("mine_of_doors", None)


MODEL = zoo.make("three-state")
WAYS = ["ct-ucrl", "sojourn.learn.ct_ucrl:CTUCRL", CTUCRL]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_to_say_a_learner_gives_the_run_of_the_object(way):
    subject = learner("ct-ucrl", MODEL.knowledge(), seed=4, delta=0.1)
    wanted = sojourn.simulate(MODEL, subject, max_epochs=300, seed=4)
    run = sojourn.simulate(MODEL, way, max_epochs=300, seed=4, parameters={"delta": 0.1})
    assert np.array_equal(run.visits, wanted.visits) and np.array_equal(run.regret, wanted.regret)
    session = sojourn.Session(way, state=0, knowledge=MODEL.knowledge(), seed=4, parameters={"delta": 0.1})
    assert session.action == sojourn.Session(learner("ct-ucrl", MODEL.knowledge(), seed=4, delta=0.1), state=0).action


@pytest.mark.parametrize("way", [*WAYS, learner("ct-ucrl", MODEL.knowledge(), horizon=50)], ids=str)
def test_a_study_takes_every_way_to_say_a_learner(way, tmp_path):
    study = sojourn.Study("ways", models=["three-state"], learners=[way], epochs=50, replications=1, store=tmp_path / "a.sqlite")
    assert study.run(workers=1).summary().rows[0].replications == 1


def test_gymnasium_is_driven_by_a_class():
    import gymnasium

    from sojourn.gym import drive

    env = gymnasium.make("sojourn.gym:sojourn/ThreeState-v0")
    assert len(drive(env, CTUCRL, max_epochs=20, delta=0.1).state) == 20


def test_the_oracle_is_shown_the_model_by_name():
    assert sojourn.simulate(MODEL, "oracle", max_epochs=100).pseudo_regret[-1] == pytest.approx(0, abs=1e-9)


def test_parameters_beside_a_finished_learner_are_refused():
    subject = learner("random", MODEL.knowledge())
    with pytest.raises(ParameterError, match="made already"):
        sojourn.simulate(MODEL, subject, max_epochs=10, parameters={"delta": 0.1})
    with pytest.raises(ParameterError, match="made already"):
        sojourn.Session(subject, state=0, parameters={"delta": 0.1})


def test_a_class_that_workers_cannot_import_is_refused_by_a_study():
    class Local(CTUCRL):
        pass

    with pytest.raises(ParameterError, match="put the class into a file of its own"):
        sojourn.Study("local", models=["three-state"], learners=[Local], epochs=10)


def test_the_command_line_finds_a_class_in_a_file_of_the_current_folder(mine):
    done = sojourn_command("learn", "three-state", "--learner", mine, "--epochs", "100", "--param", "length=5")
    assert done.code == 0, done.err
    assert "mine_of_doors:Mine, 20 episodes" in done.out


def test_a_study_file_finds_a_class_in_a_python_file_beside_it(mine, tmp_path, monkeypatch):
    (tmp_path / "beside.toml").write_text(
        '[study]\nname = "beside"\nepochs = 50\nreplications = 2\n[[models]]\nzoo = "admission:servers=2"\n'
        f'[[learners]]\nclass = "{mine}"\n[[learners]]\nname = "{mine}"\nlabel = "short"\nlength = 3\n')
    monkeypatch.chdir("/")
    study = sojourn.Study.from_toml(tmp_path / "beside.toml")
    assert [entry.knows for entry in study.spec.learners] == ["nothing much"] * 2
    assert study.run(workers=2).status()["missing"] == 0
    assert study.repeat("admission:servers=2", "short", 1).done


def test_two_files_of_one_name_in_two_folders_are_two_modules(tmp_path):
    for text in ("one", "two"):
        (tmp_path / text).mkdir()
        (tmp_path / text / "same_name_of_doors.py").write_text(f"class It:\n    text = {text!r}\n    act = None\n")
    kinds = [learner_class("same_name_of_doors:It", tmp_path / text) for text in ("one", "two")]
    sys.modules.pop("same_name_of_doors", None)
    assert [kind.text for kind in kinds] == ["one", "two"]


def test_a_model_is_made_by_the_words_of_the_command_line():
    assert sojourn.make("admission:servers=2,capacity=5").equals(sojourn.make("admission", servers=2, capacity=5))
    with pytest.raises(ParameterError, match="given twice"):
        sojourn.make("admission:servers=2", servers=3)
    with pytest.raises(ParameterError, match="no parameter of admission named 'server'; did you mean 'servers'"):
        sojourn.make("admission:server=2")


def test_a_learner_is_called_as_it_was_asked_for():
    assert repr(sojourn.simulate(MODEL, "default", max_epochs=20)).startswith("<Run of default: 20 decisions")
    assert repr(sojourn.simulate(MODEL, CTUCRL(MODEL.knowledge(), 0.1), max_epochs=20)).startswith("<Run of CTUCRL: ")
    said = sojourn_command("learn", "three-state", "--epochs", "20").out
    assert "learner        default, " in said and "CTIMED" not in said


def test_a_model_of_the_zoo_is_validated_once(monkeypatch):
    from sojourn.model.ctmdp import CTMDP

    seen, validate = [], CTMDP.__post_init__
    monkeypatch.setattr(CTMDP, "__post_init__", lambda self: (seen.append(1), validate(self))[1])
    assert zoo.make("river-swim:length=4").name == "river-swim:length=4"
    assert len(seen) == 1


# ---- entry points -----------------------------------------------------------------------------------------------


def points(monkeypatch, *named):
    """Let the entry points be these (name, value)."""
    found = [SimpleNamespace(name=name, value=value, dist=None, load=EntryPoint(name, value, "x").load) for name, value in named]
    monkeypatch.setattr("sojourn.outside.entry_points", lambda group: found)


def test_entry_points_bring_learners_and_a_broken_or_taken_one_is_left_out_in_words(monkeypatch):
    points(monkeypatch, ("another", "sojourn.learn.ct_ucrl:CTUCRL"), ("ct-psrl", "sojourn.learn.ct_ucrl:CTUCRL"),
           ("broken", "no_such_module:Thing"), ("number", "math:pi"))
    ours = learner_class("ct-psrl").__name__
    with pytest.warns(OutsideWarning) as said:
        found = Catalogue([sojourn.learn.LEARNERS["ct-psrl"]])
        assert list(found) == ["ct-psrl", "another"]
    words = "\n".join(str(each.message) for each in said)
    assert "'ct-psrl'" in words and "built in" in words and "no_such_module" in words and "math:pi" in words
    assert found["another"].summary.startswith("Plans on the best model") and not found["another"].built_in
    assert ours == "CTPSRL"


def queue_of_doors(servers: int = 2, rate: float = 1.5):
    """A queue by a plain function."""
    return zoo.make("admission", servers=servers, arrival_rate=rate)


def test_entry_points_bring_models_as_families_or_as_plain_functions(monkeypatch):
    monkeypatch.setitem(sys.modules, "doors_of_others", SimpleNamespace(queue=queue_of_doors, FAMILY=zoo.family("two-state")))
    points(monkeypatch, ("queue", "doors_of_others:queue"), ("pair", "doors_of_others:FAMILY"))
    zoo._brought.cache_clear()
    try:
        assert zoo.families()[-2:] == ["pair", "queue"]
        assert zoo.make("queue:servers=3").name == "queue:servers=3" and zoo.make("pair").name == "pair"
        assert "A queue by a plain function" in zoo.family("queue").explain()
        with pytest.raises(ParameterError, match="no parameter of queue named 'x'"):
            zoo.make("queue:x=3")
    finally:
        zoo._brought.cache_clear()
