"""A learner's own copies of the releases: never written over, renewed when asked."""
