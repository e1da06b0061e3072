"""Processes: root, zygote, copies that sleep and step in, and what they leave behind."""
