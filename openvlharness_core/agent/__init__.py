"""One question, turn by turn: the engine decides, the runner performs."""
