"""Writes customers.csv to standard output: who of 600 made-up customers has left.

    python make_customers.py > customers.csv

Nobody's data is in it, and it is free for any use (CC0). The same seed gives the
same file. What makes customers leave is known, so that it can be seen how much of it
a solution has found: a monthly contract, calls to support while the customer is new,
and a fee that is high for what is used. The region means nothing.
"""

import csv
import math
import random
import sys

CUSTOMERS = 600
SEED = 7
COLUMNS = [
    "tenure_months",
    "contract",
    "monthly_fee",
    "usage_gb",
    "support_calls",
    "region",
    "left",
]


def main(seed: int = SEED) -> None:
    """Writes the table, one line a customer, with a header."""
    rng = random.Random(seed)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["customer", *COLUMNS])
    for number in range(1, CUSTOMERS + 1):
        writer.writerow([f"C{number:04d}", *customer(rng)])


def customer(rng: random.Random) -> list:
    """Makes up one customer: what is known of them, and whether they have left."""
    tenure = 1 + int(72 * rng.random() ** 1.5)
    contract = "monthly" if rng.random() < 0.5 else "yearly" if rng.random() < 0.6 else "two years"
    fee = 15 + 60 * rng.random()
    usage = -20 * math.log(1 - rng.random())
    calls = sum(rng.random() < 0.3 for _ in range(8))
    region = ["north", "east", "south", "west"][int(4 * rng.random())]
    odds = -2.6 + {"monthly": 1.9, "yearly": 0.2, "two years": -1.2}[contract]
    odds += 0.9 * calls if tenure < 18 else 0.1 * calls
    odds += 0.035 * (fee - 30) if usage < 15 else -0.01 * usage
    left = int(rng.random() < 1 / (1 + math.exp(-odds)))
    known = "" if rng.random() < 0.08 else f"{usage:.1f}"
    return [tenure, contract, f"{fee:.2f}", known, calls, region, left]


if __name__ == "__main__":
    main()
