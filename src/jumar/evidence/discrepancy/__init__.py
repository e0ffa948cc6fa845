"""Do values learned step by step agree with what episodes paid? The λ-discrepancy of a memory."""

from jumar.evidence.discrepancy.testing import Discrepancy, lambda_discrepancy

__all__ = ["Discrepancy", "lambda_discrepancy"]
