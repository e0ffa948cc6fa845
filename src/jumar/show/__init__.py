"""Renderings for people and machines. Nothing is computed here."""
