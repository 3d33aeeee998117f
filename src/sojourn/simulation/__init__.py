"""Walking a learner through a model: the simulator, its regrets, and a session for one epoch at a time."""
