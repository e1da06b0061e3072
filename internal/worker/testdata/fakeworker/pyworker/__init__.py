"""A worker that can be told to break the protocol. It knows no captures and no errors."""
