"""The verdict on an answer: what the judge asks, what a snapshot of the notebook tells."""
