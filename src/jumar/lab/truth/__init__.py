"""Where the process is known: models, exact values, simulation. No algorithm imports it."""
