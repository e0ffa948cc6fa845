"""What is to be said about a result, computed once, before anything is shown."""
