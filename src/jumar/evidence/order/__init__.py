"""How much memory does a log ask for? Tests of one memory against a finer one, with how much the
finer one tells."""

from jumar.evidence.order.gaps import Gap
from jumar.evidence.order.testing import OrderTest, order_test, order_tests, suggested

__all__ = ["Gap", "OrderTest", "order_test", "order_tests", "suggested"]
