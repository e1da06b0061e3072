"""What becomes of a value: its echo, its figure or file, its JSON, its line in a list."""
