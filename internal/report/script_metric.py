def understudy_metric(name, value, recorded):
    """Prints the metric, and says so if it is not what the session came to."""
    import sys

    sys.stdout.write(f"\n{name} = {value}\n")
    sys.stdout.flush()
    if value != recorded:
        sys.stderr.write(f"this differs from the session's {name}, which was {recorded}\n")
