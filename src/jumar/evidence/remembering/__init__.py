"""What is worth remembering: a memory learned from a log."""

from jumar.evidence.remembering.learning import learn_memory

__all__ = ["learn_memory"]
