"""What a log can tell: bounds, certificates, off-policy estimates, tests and checks.

Free to change: words, and how estimates are computed. Held in place by theorems: every formula in
`bounds`, `robust` and `first_visits` (docs: bounds and certificates), what `practice` calls the
probability of an action, and what `plausible` lets a person see.
"""
