"""Policy iteration and linear systems on the model of a log.

Free to change: how fast, and by which way. Held in place: values are exact to rounding, for
certificates are computed from them; `sweeps` may be rough, for what it values is tested anyway.
"""
