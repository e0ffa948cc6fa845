"""jumar."""
