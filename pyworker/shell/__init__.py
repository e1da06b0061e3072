"""What a session asks of the shell: the magics of its cells, commands, installs."""
