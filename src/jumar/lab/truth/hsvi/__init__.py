"""Heuristic search value iteration: bounds on the best value of a model, narrowed step by step.

Beliefs are sparse and need not sum to one. The best value is V(b) = max over policies of
Σ b(s) v(s), so V(c b) = c V(b) and V(b + b') ≤ V(b) + V(b'). What follows action a and observation
z is b M_az, whose mass is the probability of z: nothing has to be divided.

- `tables`: the model and the bounds as arrays
- `bounds`: what needs no search, and the bound from below, values of plans
- `points`: the bound from above, values at points and what lies between
- `trials`: the search

How a search goes may be changed freely, as long as the rounding below holds.

**Rounding.** With u = 2⁻⁵³, a sum of n products is wrong by at most n u / (1 - n u) times the sum
of their absolute values. All sums of one backup are sums of values of at most `scale` with weights
that add up to at most one, over at most S states, O observations and the outcomes of one pair.
`slack` is four times what that can be wrong, and each backup moves its bound outwards by it. So a
number that is stored *is* a bound, by induction; at most slack / (1 - γ) is given away.
"""
