"""What is told of a user's files, in a process that runs none of the user's code."""
