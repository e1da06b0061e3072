"""The operator's plugins, as a session meets them."""
