"""What metrics say."""

from prometheus_client.parser import text_string_to_metric_families


def values(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a name by the values of their labels."""
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families("\n".join(lines))
        for sample in family.samples
        if sample.name == name
    }
