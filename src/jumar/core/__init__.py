"""The nouns that everything else speaks of, and the ground they stand on."""
