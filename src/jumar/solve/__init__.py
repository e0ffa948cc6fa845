"""Policy iteration and linear systems on the model of a log."""
