"""What a relay in front of the curator states of a task, for ``privet status --relay``."""

from typing import Any

from privet.curator.admin_client import CuratorClient
from privet.protocol.errors import PrivetError


def relay_status(relay_url: str, task_id: str, reports: int) -> dict[str, Any]:
    """The relay's own status of a task that the curator has counted ``reports`` of.

    Raises ``PrivetError`` if it is no relay's, or speaks of more reports than were counted.
    """
    found: dict[str, Any] = CuratorClient(relay_url).get(f"/v1/tasks/{task_id}/status")
    if not {"counted", "local_epsilon", "central"} <= set(found):
        raise PrivetError(f"{relay_url} is not a relay: give the address that holders send to.")
    if found["counted"] > reports:
        raise PrivetError(
            f"The relay speaks of {found['counted']} reports delivered and this curator counted "
            f"{reports}: it is a relay of another curator."
        )
    return found


def relay_facts(found: dict[str, Any], reports: int) -> dict[str, Any]:
    """The two guarantees, each on a line of its own."""
    through = f"{found['counted']} of {reports} reports, which came through this relay"
    central = found["central"]
    stated = f"no more than the local one, for {through}: too few went together"
    if central is not None:
        stated = (
            f"({central['epsilon']:.3g}, {central['delta']:g}) against who sees the curator's "
            f"side alone, for {through} in shuffled batches of {central['reports']} or more"
        )
    return {
        "local epsilon": f"{found['local_epsilon']:g} against everybody, for every report",
        "central (epsilon, delta)": stated,
    }
