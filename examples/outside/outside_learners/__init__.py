"""Learners and a model of a third party."""
