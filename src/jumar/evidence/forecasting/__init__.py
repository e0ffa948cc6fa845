"""Forecasts of what controllers will earn, for a log of a process that changes under way.

    found = jm.forecast(log, behavior, new, discount=0.95)
    print(found.verdict)

An average over such a log tells what was, not what is. `trends` fits a smooth trend to one number
per episode and forecasts the next ones (after Chandak et al. 2020, "Towards Safe Policy Improvement
for Non-Stationary MDPs"); `procedure` makes these numbers of a log; `results` says it in words.
"""

from __future__ import annotations

from jumar.evidence.forecasting.procedure import forecast, forecast_of
from jumar.evidence.forecasting.results import Forecast
from jumar.evidence.forecasting.trends import FEWEST, FittedTrend

__all__ = ["FEWEST", "FittedTrend", "Forecast", "forecast", "forecast_of"]
