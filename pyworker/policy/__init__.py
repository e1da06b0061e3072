"""The judge of code, which runs where no user code does."""
