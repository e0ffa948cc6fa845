"""What a log can tell: bounds, certificates, off-policy estimates, tests and checks."""
