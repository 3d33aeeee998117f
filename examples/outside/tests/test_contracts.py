"""The contracts of sojourn.testing, inherited."""

from outside_learners.attains import Attains
from outside_learners.optimistic_q import OptimisticQ
from outside_learners.printers import two_printers
from outside_learners.ucrl2 import UniformizedUCRL2
from sojourn.testing import LearnerContract, ModelContract


class TestOptimisticQ(LearnerContract):
    def make_learner(self, knowledge):
        return OptimisticQ(knowledge, seed=3)


class TestUniformizedUCRL2(LearnerContract):
    def make_learner(self, knowledge):
        return UniformizedUCRL2(knowledge, seed=3)


class TestAttains(LearnerContract):
    def make_learner(self, knowledge):
        return Attains(knowledge, seed=3)


class TestTwoPrinters(ModelContract):
    def make_model(self):
        return two_printers()
