# The types of the public names, for mypy and editors: `__init__.py` imports each of them on first use.
# tests/test_types.py compares the two files; every name there has its line here.
from sojourn import control as control
from sojourn import errors as errors
from sojourn import gym as gym
from sojourn import instance as instance
from sojourn import learn as learn
from sojourn import model as model
from sojourn import report as report
from sojourn import results as results
from sojourn import simulation as simulation
from sojourn import solving as solving
from sojourn import study as study
from sojourn import testing as testing
from sojourn import zoo as zoo
from sojourn.control.controller import Controller as Controller
from sojourn.control.fit import fit as fit
from sojourn.errors import ModelError as ModelError
from sojourn.errors import SojournError as SojournError
from sojourn.instance.diameter import diameter as diameter
from sojourn.instance.difficulty import Difficulty as Difficulty
from sojourn.instance.difficulty import difficulty as difficulty
from sojourn.instance.gain_gap import gain_gap as gain_gap
from sojourn.instance.gaps import gaps as gaps
from sojourn.learn.catalogue import learner as learner
from sojourn.learn.ct_ucrl import CTUCRL as CTUCRL
from sojourn.learn.doubling import DoublingCTUCRL as DoublingCTUCRL
from sojourn.learn.learner import History as History
from sojourn.learn.learner import Learner as Learner
from sojourn.learn.learner import Plan as Plan
from sojourn.model.checks import check as check
from sojourn.model.closeness import within as within
from sojourn.model.ctmdp import CTMDP as CTMDP
from sojourn.model.events import EventTable as EventTable
from sojourn.model.events import event_table as event_table
from sojourn.model.explore import Choice as Choice
from sojourn.model.files import load as load
from sojourn.model.knowledge import Knowledge as Knowledge
from sojourn.model.rates import Rate as Rate
from sojourn.simulation.run import Run as Run
from sojourn.simulation.session import Session as Session
from sojourn.simulation.simulate import simulate as simulate
from sojourn.solving.evaluate import evaluate as evaluate
from sojourn.solving.solution import Solution as Solution
from sojourn.solving.solve import solve as solve
from sojourn.study.study import Study as Study
from sojourn.zoo.catalogue import make as make

__version__: str
__all__: list[str]
