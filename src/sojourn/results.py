"""Everything that Sojourn gives back, in one place: to name a type, or to look up what a result holds.

    from sojourn.results import Evaluation, Summary
"""

from sojourn.control.assumptions import Assumptions
from sojourn.control.controller import Observation
from sojourn.control.fit import Fit
from sojourn.control.fold import Alarm
from sojourn.control.log import Log
from sojourn.control.memory import PValues
from sojourn.instance.bound_against import BoundAgainst
from sojourn.instance.bound_at import BoundAt
from sojourn.instance.diameter import Diameter
from sojourn.instance.difficulty import Difficulty
from sojourn.instance.event_alternatives import HiddenEvents
from sojourn.instance.event_constant import LeastCost
from sojourn.instance.event_difficulty import EventDifficulty
from sojourn.instance.gain_gap import GainGap
from sojourn.instance.gaps import Optimum
from sojourn.instance.least_divergence import LeastDivergence
from sojourn.instance.proof import Proof
from sojourn.instance.regimes import Alternative
from sojourn.instance.regret_bounds import RegretBounds
from sojourn.instance.stopping_bound import StoppingBound
from sojourn.learn.certificate import Certificate
from sojourn.learn.estimate import Estimate
from sojourn.learn.event_estimate import EventEstimate
from sojourn.learn.learner import History, Plan
from sojourn.learn.structure_test import Evidence
from sojourn.model.checks import Checks, Verdict
from sojourn.model.closeness import Within
from sojourn.model.events import EventTable
from sojourn.model.names import Labels, Names
from sojourn.model.rates import Form
from sojourn.simulation.episodes import EpisodeRecord, Episodes
from sojourn.simulation.regret import Point
from sojourn.simulation.run import Run
from sojourn.simulation.session import SessionEpisode
from sojourn.solving.evaluate import Evaluation
from sojourn.solving.solution import Solution
from sojourn.study.bounds import Bounds, Floor
from sojourn.study.failures import Failure
from sojourn.study.run import Tally
from sojourn.study.statistics import Comparison
from sojourn.study.stopping import Stopping
from sojourn.study.summary import Curves, Debt, Row, Summary
from sojourn.study.task import Replication

__all__ = [
    "Alarm", "Alternative", "Assumptions", "BoundAgainst", "BoundAt", "Bounds", "Certificate", "Checks", "Comparison",
    "Curves", "Debt", "Diameter", "Difficulty", "EpisodeRecord", "Episodes", "Estimate", "Evaluation", "EventDifficulty",
    "EventEstimate", "EventTable", "Evidence", "Failure", "Fit", "Floor", "Form", "GainGap", "HiddenEvents", "History",
    "Labels", "LeastCost", "LeastDivergence", "Log", "Names", "Observation", "Optimum", "PValues", "Plan", "Point", "Proof",
    "RegretBounds", "Replication", "Row", "Run", "SessionEpisode", "Solution", "Stopping", "StoppingBound", "Summary",
    "Tally", "Verdict", "Within",
]
