"""Storm's files: what is written comes back, what Storm wrote is read as Storm means it, what cannot be meant is refused."""

import gzip

import numpy as np
import pytest

import sojourn
from sojourn.errors import AssumptionError, FileError
from sojourn.hidden_characters import has_hidden
from sojourn.model.ctmdp import CTMDP

CTMC = """// Exported by storm
@type: CTMC
@value_type: double
@parameters

@reward_models
cust
@nr_states
3
@nr_choices
3
@model
state 0 !1.5 [0] init
\taction 0 [0]
\t\t1 : 1.5
state 1 !3.5 [1]
\taction 0 [2.857142857]
\t\t0 : 2
\t\t2 : 1.5
state 2 !2 [2]
\taction 0 [0]
\t\t1 : 2
"""
AUTOMATON = """@type: Markov Automaton
@parameters

@reward_models
cust
@nr_states
4
@nr_choices
5
@model
state 0 !0 [0] init
\taction a [5]
\t\t1 : 0.5
\t\t2 : 0.5
\taction b [0]
\t\t2 : 1
state 1 !3 [1]
\taction 0 [0]
\t\t0 : 1
state 2 !2 [2]
\taction 0 [0]
\t\t0 : 0.75
\t\t3 : 0.25
state 3 !0 [3]
\taction 0 [0]
\t\t1 : 1
"""


def read(tmp_path, text, **more):
    path = tmp_path / "model.drn"
    path.write_text(text)
    return sojourn.load(path, **more)


@pytest.mark.parametrize("name", ["tandem", "river-swim", "three-state", "machine-repair", "customer-selection"])
def test_a_written_model_comes_back_number_for_number_without_its_events(tmp_path, name):
    model = sojourn.make(name)
    model.save(tmp_path / "model.drn")
    assert sojourn.load(tmp_path / "model.drn").equals(model.replace(events=None))


def test_names_bounds_and_unreached_states_come_back_too(tmp_path):
    model = CTMDP.from_arrays([[[0, 1.0, 0]], [[1.0, 0, 0]], [[0.25, 0.75, 0]]], [[2.0], [3.0], [1.0]], [[1.0], [0.0], [7.0]],
                              states=[(0, 1), (1, 0), (2, 2)], actions=["go on"], rate_bounds=(0.5, 4), name="a name")
    model.save(tmp_path / "model.drn")
    assert sojourn.load(tmp_path / "model.drn").equals(model)
    steps = CTMDP.from_mdp([[[0.5, 0.5]], [[1.0, 0.0]]], [[1.0], [-2.0]])
    steps.save(tmp_path / "steps.drn")
    assert sojourn.load(tmp_path / "steps.drn").equals(steps)


def test_rewards_on_transitions_are_written_as_their_mean(tmp_path):
    model = sojourn.make("admission")
    model.save(tmp_path / "model.drn")
    assert model.transition_reward is not None
    assert sojourn.solve(sojourn.load(tmp_path / "model.drn")).gain == pytest.approx(sojourn.solve(model).gain, rel=1e-12)


def test_files_written_by_storm_have_the_value_that_storm_gives(tmp_path):
    assert sojourn.solve(read(tmp_path, CTMC)).gain == pytest.approx(150 / 37, rel=1e-9)  # Storm: 4.0540541780
    model = read(tmp_path, AUTOMATON)
    assert sojourn.solve(model).gain == pytest.approx(137 / 11, rel=1e-12)  # Storm: 12.454545530
    assert sorted(model.actions) == ["0", "a", "b"] and sorted(model.states) == ["0", "2", "3"]


def test_immediate_states_behind_each_other_become_one_choice(tmp_path):
    text = AUTOMATON.replace("\taction b [0]\n\t\t2 : 1", "\taction b [0]\n\t\t3 : 1").replace("@nr_choices\n5", "@nr_choices\n6")
    two = "state 3 !0 [3]\n\taction x [1]\n\t\t1 : 1\n\taction y [0]\n\t\t2 : 1"
    model = read(tmp_path, text.replace("state 3 !0 [3]\n\taction 0 [0]\n\t\t1 : 1", two))
    assert {model.actions[model.pair_action[k]] for k in range(model.pair_start[0], model.pair_start[1])} == {"a", "b/x", "b/y"}
    k = model.pair("0", "b/x")
    assert model.rate[k] == 3 and model.reward[k] == 1


def test_truncated_probabilities_are_renormalized_and_others_refused(tmp_path):
    third = AUTOMATON.replace("0 : 0.75\n\t\t3 : 0.25", "0 : 0.333333\n\t\t3 : 0.333333\n\t\t1 : 0.333333")
    model = read(tmp_path, third)
    np.testing.assert_allclose(np.add.reduceat(model.probability, model.row_start[:-1]), 1, rtol=1e-15)
    with pytest.raises(FileError, match=r"state 2 sum to 0\.65"):
        read(tmp_path, AUTOMATON.replace("0 : 0.75", "0 : 0.4"))


def test_a_reward_model_is_asked_for_where_there_are_several(tmp_path):
    two = CTMC.replace("\ncust\n", "\none two\n")
    for old, new in (("[0]", "[0, 1]"), ("[1]", "[1, 1]"), ("[2]", "[2, 1]"), ("[2.857142857]", "[2.857142857, 0]")):
        two = two.replace(old, new)
    with pytest.raises(FileError, match=r"one, two.*--reward one"):
        read(tmp_path, two)
    assert sojourn.solve(read(tmp_path, two, reward="one")).gain == pytest.approx(150 / 37, rel=1e-9)
    with pytest.raises(FileError, match="three"):
        read(tmp_path, two, reward="three")
    with pytest.raises(FileError, match="Leave it out"):
        sojourn.load(tmp_path / "model.json", reward="one")


def test_two_parts_that_never_meet_are_solved_from_the_initial_state_only(tmp_path):
    apart = CTMC.replace("\t\t0 : 2\n\t\t2 : 1.5", "\t\t0 : 3.5").replace("\t\t1 : 2\n", "\t\t2 : 2\n")
    model = read(tmp_path, apart)
    assert model.n_states == 2
    both = apart.replace("state 2 !2 [2]", "state 2 !2 [2] init")
    with pytest.raises(AssumptionError, match="depends on the state"):
        sojourn.solve(read(tmp_path, both))


@pytest.mark.parametrize(("old", "new", "match"), [
    ("@type: Markov Automaton", "@type: POMDP", "POMDP"),
    ("@parameters\n\n", "@parameters\np q\n", "values first"),
    ("state 1 !3", "state 7 !3", "without gaps"),
    ("state 1 !3", "state 1 !-3", "0 or positive"),
    ("\t\t1 : 1\n", "\t\t0 : 1\n", "no meaning in time"),  # the immediate states 0 and 3 ... by way of action c below
    ("1 : 0.5", "9 : 0.5", "ids run from 0 to 3"),
    ("1 : 0.5", "1 : inf", "not finite"),
    ("@nr_states\n4", "@nr_states\n5", "complete"),
    ("state 1 !3 [1]", "state 1 !3 Fail [1]", "before its labels"),
    ("state 1 !3 [1]", "state 1 [1]", "needs its rate"),
    ("[5]", "[5", "not closed"),
    ("action a [5]", "action a b [5]", "stands behind the name"),
    ("1 : 0.5", "1 : [0.2, 0.8]", "an interval"),
    ("1 : 0.5", "1 : $p", "cannot be read"),
    ("1 : 0.5", "1 : 0_1", "no number"),
    ("1 : 0.5", "1_0 : 0.5", "no id"),
    ("@parameters\n\n", "@value_type: double-interval\n", "within every interval"),
    ("@type: Markov Automaton", "@type: SMG", "different aims"),
    ("@model", "@modell", "did you mean 'model'"),
    ("@nr_states\n4", "@nr_states\n4\n@nr_states\n4", "given twice"),
    ("@nr_states\n4", "@nr_states\n5", "complete"),
    ("@type: Markov Automaton", "@type: CTMC", "nothing to decide"),
    ("@type: Markov Automaton", "@type: MDP", "discrete time"),
    ("0 : 0.75\n\t\t3 : 0.25", "3 : 1\nstate 3 !0 [3]\n\taction 0 [0]\n\t\t3 : 1", "leads to itself"),
    ("1 : 0.5", "1 : 1/0", "cannot be read"),
    ("1 : 0.5", "1 : 1e308\n\t\t2 : 1e308", "sum to inf"),
])
def test_what_cannot_be_meant_is_refused_with_the_reason(tmp_path, old, new, match):
    text = AUTOMATON.replace("\taction b [0]\n\t\t2 : 1", "\taction b [0]\n\t\t3 : 1") if "time" in match else AUTOMATON
    text = text.replace(old, new)
    if match == "leads to itself":  # the file's own state 3 goes
        text = text.rpartition("state 3")[0]
    with pytest.raises(FileError, match=match):
        read(tmp_path, text)


def test_damaged_files_are_read_or_refused_in_a_sentence(tmp_path):
    rng = np.random.default_rng(0)
    refused = 0
    for i in range(400):
        data = bytearray((AUTOMATON if i % 2 else CTMC).encode())
        for _ in range(rng.integers(1, 6)):
            at, kind = int(rng.integers(len(data))), rng.integers(4)
            if kind == 0:
                data[at] = int(rng.integers(256))
            elif kind == 1:
                del data[at : at + int(rng.integers(1, 30))]
            elif kind == 2:
                data[at:at] = data[at : at + int(rng.integers(1, 30))]
            else:
                data[at:at] = rng.choice([b"-", b"1e999", b"nan", b"!", b"[", b"]", b":", b"/0", b"\n", b"state ", b"\x00"]).item()
        path = tmp_path / "model.drn"
        path.write_bytes(data)
        try:
            assert isinstance(sojourn.load(path), CTMDP)
        except FileError as error:
            assert "model.drn" in str(error)
            refused += 1
    assert 100 < refused < 400


def test_convert_goes_both_ways_with_a_reward(tmp_path):
    from click.testing import CliRunner

    from sojourn.cli.convert import command

    there, back = tmp_path / "a.drn", tmp_path / "b.json"
    assert CliRunner().invoke(command, ["tandem", str(there)]).exit_code == 0
    assert CliRunner().invoke(command, [str(there), str(back), "--reward", "cost"]).exit_code == 0
    tandem = sojourn.make("tandem")
    assert sojourn.load(back).equals(tandem.replace(running=-tandem.running, events=None))


@pytest.mark.parametrize("names, bounds", [(f"[2, {10**30}]", "null"), ("[2, 1000000000]", "null"), ("[2, 1]", f"[1, {10**400}]")])
def test_a_comment_of_ours_with_numbers_beyond_reason_is_no_comment_of_ours(tmp_path, names, bounds):
    path = tmp_path / "damaged.drn"
    CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[1.0], [2.0]]).save(path)
    said = path.read_text()
    assert '"names": [2, 1]' in said and '"rate_bounds": null' in said
    path.write_text(said.replace('"names": [2, 1]', f'"names": {names}').replace('"rate_bounds": null', f'"rate_bounds": {bounds}'))
    assert sojourn.load(path).n_states == 2


def gain(tmp_path, text, **more):
    return sojourn.solve(read(tmp_path, text, **more)).gain


def test_a_choice_that_may_lead_back_at_once_is_repeated(tmp_path):
    """Action a takes itself with 1/5: it is as if 5/8 and 3/8 stood there and a quarter more were paid."""
    back = AUTOMATON.replace("1 : 0.5\n\t\t2 : 0.5", "0 : 0.2\n\t\t1 : 0.5\n\t\t2 : 0.3")
    plain = AUTOMATON.replace("1 : 0.5\n\t\t2 : 0.5", "1 : 0.625\n\t\t2 : 0.375").replace("[5]", "[6.25]")
    assert gain(tmp_path, back) == pytest.approx(gain(tmp_path, plain), rel=1e-12)


def test_what_takes_no_time_comes_before_what_takes_some(tmp_path):
    """State 3 has a rate and a choice besides: Storm's maximal progress never waits there."""
    both = AUTOMATON.replace("state 3 !0 [3]", "state 3 !7 [3]\n\taction 0 [9]\n\t\t0 : 1")
    assert gain(tmp_path, both.replace("@nr_choices\n5", "@nr_choices\n6")) == gain(tmp_path, AUTOMATON)


def test_choices_of_one_name_are_told_apart(tmp_path):
    model = read(tmp_path, AUTOMATON.replace("action b", "action a"))
    assert sorted(model.actions) == ["0", "a", "a#2"]
    unnamed = AUTOMATON.replace("action b", "action __NOLABEL__").replace("action a", "action __NOLABEL__")
    model = read(tmp_path, unnamed)
    assert sorted(model.actions) == ["0", "1"] and sojourn.solve(model).gain == pytest.approx(137 / 11, rel=1e-12)


def test_reward_models_without_a_name_and_beyond_the_declared_ones(tmp_path):
    """Storm writes a space for a reward model without a name, and calls numbers beyond the names rew1, rew2, ..."""
    unnamed = CTMC.replace("\ncust\n", "\n \n")
    assert gain(tmp_path, unnamed) == gain(tmp_path, unnamed, reward="") == pytest.approx(150 / 37, rel=1e-9)
    more = CTMC.replace("state 1 !3.5 [1]", "state 1 !3.5 [1, 37]")
    assert gain(tmp_path, more, reward="cust") == pytest.approx(150 / 37, rel=1e-9)
    assert gain(tmp_path, more, reward="rew1") == pytest.approx(12, rel=1e-9)
    with pytest.raises(FileError, match=r"rew1"):
        read(tmp_path, more)


def test_labels_comments_placeholders_and_fractions_are_understood(tmp_path):
    text = CTMC.replace("[0] init", '[0] "two words" a[0] "init"').replace("state 1", "//[x=1\t& !y]\nstate 1")
    text = text.replace("@reward_models", "@placeholders\n$0 : 1.5\n$one : 1e0\n@reward_models").replace("1 : 1.5", "1 : $0")
    text = text.replace("[1]", "[$one]").replace("2 : 1.5", "2 : 3/2").replace("@value_type: double", "@value_type: rational")
    assert gain(tmp_path, text) == pytest.approx(150 / 37, rel=1e-9)


def test_in_quotes_a_label_may_begin_with_any_sign(tmp_path):
    for label in ('"[odd] one"', '"["', '"!x"', '"a b" "[q"'):  # Storm reads these; without quotes it refuses them
        assert gain(tmp_path, CTMC.replace("[0] init", f"[0] init {label}")) == pytest.approx(150 / 37, rel=1e-9)
        with pytest.raises(FileError, match="before its labels"):
            read(tmp_path, CTMC.replace("[0] init", "[0] init " + label.replace('"', "")))


def test_a_packed_file_is_read_and_a_trap_refused(tmp_path):
    path = tmp_path / "model.drn.gz"
    path.write_bytes(gzip.compress(CTMC.encode()))
    assert sojourn.solve(sojourn.load(path, reward="cust")).gain == pytest.approx(150 / 37, rel=1e-9)
    path.write_bytes(gzip.compress(CTMC.encode())[:-20])
    with pytest.raises(FileError, match="cannot be unpacked"):
        sojourn.load(path)
    path.write_bytes(gzip.compress(CTMC.encode() + b"//" + b" " * 20_000_000))
    with pytest.raises(FileError, match="no model is that regular"):
        sojourn.load(path)
    with pytest.raises(FileError, match="Unpack it first"):
        sojourn.load(tmp_path / "model.drn.xz")


def chain(length, choices=1, back=""):
    """Return an automaton of immediate states behind each other, then one timed state."""
    states = [f"state {s} !0{' init' * (s == 0)}\n" + "".join(f"\taction {a}\n\t\t{s + 1} : 1\n" for a in range(choices))
              for s in range(length)]
    return "@type: Markov Automaton\n@model\n" + "".join(states) + f"state {length} !2\n\taction 0\n\t\t{back or 0} : 1\n"


def test_many_immediate_states_behind_each_other_are_read_or_refused_in_bounded_time(tmp_path):
    assert read(tmp_path, chain(3000)).n_states == 1
    with pytest.raises(FileError, match=r"more than 10,000 choices"):
        read(tmp_path, chain(20, choices=2))
    n = 2500  # every immediate state adds one timed state to those behind it: n * n / 2 jumps
    wide = "".join(f"state {s} !0{' init' * (s == 0)}\n\taction 0\n\t\t{s + 1} : 0.5\n\t\t{n + s} : 0.5\n" for s in range(n - 1))
    wide += f"state {n - 1} !0\n\taction 0\n\t\t{n} : 1\n"
    wide += "".join(f"state {n + s} !1\n\taction 0\n\t\t{s} : 1\n" for s in range(n))
    with pytest.raises(FileError, match=r"adds more than 3,000,000 jumps"):
        read(tmp_path, "@type: Markov Automaton\n@model\n" + wide)


HEAD = "@type: Markov Automaton\n@parameters\n\n@reward_models\npay\n@nr_states\n{}\n@nr_choices\n{}\n@model\n"


def test_rows_that_miss_one_by_little_are_shared_out_before_immediate_states_are_collapsed(tmp_path):
    half = "\t\t{} : 0.5000000009\n\t\t{} : 0.5\n"
    (tmp_path / "m.drn").write_text(HEAD.format(5, 5) + "state 0 !1 [1] init\n\taction a\n" + half.format(1, 3)
                                    + "state 1 !0 [0]\n\taction a\n" + half.format(2, 3)
                                    + "state 2 !0 [0]\n\taction a\n" + half.format(3, 4)
                                    + "state 3 !2 [0]\n\taction a\n\t\t0 : 1\nstate 4 !4 [0]\n\taction a\n\t\t0 : 1\n")
    found = sojourn.load(tmp_path / "m.drn")
    assert np.allclose(found.dense()["transition"][0, 0], [0, 0.875, 0.125], atol=1e-8) and sojourn.solve(found).gain > 0


def test_an_immediate_state_that_is_seldom_left_is_left_in_the_shares_of_its_other_jumps(tmp_path):
    (tmp_path / "m.drn").write_text(HEAD.format(3, 3) + "state 0 !0 [0] init\n\taction a\n\t\t0 : 0.9999\n\t\t1 : 0.0001\n"
                                    "\t\t2 : 0.0000000009\nstate 1 !1 [1]\n\taction a\n\t\t0 : 1\n"
                                    "state 2 !1 [0]\n\taction a\n\t\t0 : 1\n")
    assert sojourn.solve(sojourn.load(tmp_path / "m.drn")).gain == pytest.approx(1 / (1 + 9e-6), rel=1e-9)


def test_the_names_of_reward_models_are_shown_escaped_in_errors(tmp_path):
    text = CTMC.replace("cust\n", "re\x1b[2Jw\u202ex other\n")
    for number in ("0", "1", "2", "2.857142857"):
        text = text.replace(f"[{number}]", f"[{number}, 1]")
    (tmp_path / "m.drn").write_text(text, encoding="utf-8")
    for reward, words in {None: "it has the reward models", "no": "no reward model named"}.items():
        with pytest.raises(FileError, match=words) as told:
            sojourn.load(tmp_path / "m.drn", reward=reward)
        assert not has_hidden(str(told.value)) and r"re\x1b[2Jw\u202ex" in str(told.value)
