"""How much memory does a log ask for? Tests of one memory against a finer one, with how much the
finer one tells."""

from jumar.order.gaps import Gap
from jumar.order.testing import OrderTest, order_test, order_tests, suggested

__all__ = ["Gap", "OrderTest", "order_test", "order_tests", "suggested"]
