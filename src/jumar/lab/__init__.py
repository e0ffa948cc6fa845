"""Where the truth is known: models, their exact values, planners, environments, studies, the paper.

Nothing outside imports it, but for the command line: what improves a policy cannot look at the
truth. Models, figures and studies may be changed freely; what `evaluate` returns is held to exact
values by tests, and the tables of the paper do not move.
"""
