"""Cassandra's `.POMDP` files, the common format of POMDP solvers: read and written.

    discount: 0.95
    values: reward
    states: good worn
    actions: run replace
    observations: ok noise
    start: good
    T: run                      # a matrix: (from, to)
    0.9 0.1
    0.0 1.0
    T: replace : * : good 1.0   # one cell, for every state to come from
    T: replace : * : worn 0.0
    O: * : good 0.8 0.2         # a row: what is seen after *arriving* in good
    O: * : worn uniform
    R: run : worn : * : * -1.0  # action : from : to : seen; later lines overwrite earlier ones

`parsing` reads the statements, `given` holds what they say of T, O and R, `reading` makes a `Pomdp`
of it, `writing` is the way back. How a model is written may be changed freely; every file that is
read keeps its numbers to the last bit.

What the format does not say, and what is done about it:

- *the first observation*: nothing is seen before the first action. The model gets one more symbol,
  `null`, which is seen first and never again. `first_observation` may name an observation that is
  always seen first, or, as "after:listen", an action whose observations come first too. Without
  `observations:` the state itself is seen, first as well.
- *the end*: nothing ends an episode, and exact values are those for ever. A simulation is cut off
  after the first number of steps with discount^steps < 0.001, unless `max_steps` says otherwise.
- *costs*: with `values: cost` rewards are the costs with a minus, and are written as costs again.

Rewards may depend on all of action, state, next state and observation; simulation pays them so.
They are looked up for outcomes that can happen, and no table of all combinations is ever built.
"""
