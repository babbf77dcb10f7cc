"""The tables of what variants gained: signs, units and what counts as a difference."""

from scripts.reproduce.gains import gains


def row(
    name: str, epsilon: float, variant: str, mean: float, difference: float, error: float
) -> dict[str, str | float]:
    return {
        "set": name,
        "epsilon": epsilon,
        "method": "drift",
        "variant": variant,
        "mean": mean,
        "difference": difference,
        "standard_error": error,
        "runs": 2,
    }


def test_points_of_accuracy_over_all_settings() -> None:
    """Of +1, -3 and +0.1 points the first two are beyond two standard errors."""
    rows = [
        row("rice", epsilon, variant, 0.9 + difference, difference, 0.004)
        for epsilon, gain in ((0.5, 0.01), (2.0, -0.03), (8.0, 0.001))
        for variant, difference in (("plain", 0.0), ("other", gain))
    ]
    assert gains(rows, "plain").splitlines()[2:] == [
        "| drift | other | -0.6, -3.0, +1.0 | 1 / 1 of 3 |"
    ]


def test_a_smaller_error_of_numbers_is_a_gain_in_per_cent() -> None:
    """From 5 to 4.5 is a gain of 10 %; sets with classes are left out."""
    rows = [
        row("abalone", 2.0, "plain", 5.0, 0.0, 0.0),
        row("abalone", 2.0, "other", 4.5, -0.5, 0.1),
        row("rice", 2.0, "plain", 0.9, 0.0, 0.0),
        row("rice", 2.0, "other", 0.8, -0.1, 0.01),
    ]
    assert gains(rows, "plain", numbers=True).splitlines()[2:] == [
        "| drift | other | +10.0, +10.0, +10.0 | 1 / 0 of 1 |"
    ]
