"""Whether a second setting earns its place: how often the elimination keeps one that is worth little or none.

The search's best has two settings. The first is worth 90 %, the second as much as the table says. The
elimination (`certainty/elimination.py`) has the ten trials of a quick run; its trials differ by the noise of
the row, as three of the default have shown it.

SEEDS in the environment sets how many eliminations of each kind (200), FIRST_SEED the first of them (0).
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "certainty"))
from test_elimination import second_setting_stays  # type: ignore[import-not-found]

SEEDS = int(os.environ.get("SEEDS", "200"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))
NOISES = (0.01, 0.03)
WORTHS = (0.0, 0.03, 0.05, 0.08, 0.15)


def main() -> None:
    """Prints the table."""
    print(f"| noise | {' | '.join(f'worth {worth:.0%}' for worth in WORTHS)} |")
    print(f"| ---: |{' ---: |' * len(WORTHS)}")
    for noise in NOISES:
        seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
        stays = (sum(second_setting_stays(worth, seed, noise) for seed in seeds) for worth in WORTHS)
        print(f"| {noise:.0%} | {' | '.join(map(str, stays))} |")


if __name__ == "__main__":
    main()
