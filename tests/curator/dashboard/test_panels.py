"""A panel on the dashboard: its own page and those of its waves, before and after reports."""

from datetime import UTC, datetime, timedelta

from tests.curator import samples
from tests.curator.http.conftest import Http
from tests.manual_clock import ManualClock


async def test_a_panel_and_its_waves_have_pages(http: Http, clock: ManualClock) -> None:
    """Nobody meets an error there."""
    now = datetime.fromtimestamp(clock(), UTC)
    ends = [now + timedelta(days=days) for days in (-1, 1, 30, 40)]
    waves = [f"{a.isoformat()}/{b.isoformat()}" for a, b in (ends[:2], ends[2:])]
    made = await http.create(samples.survey(), label="label", epsilon=1, depth=1, waves=waves)
    assert made.status_code == 201, made.text
    panel = made.json()
    ids = [panel["id"], *(wave["id"] for wave in panel["waves"])]
    for task_id in ids:
        page = await http.get(f"/tasks/{task_id}")
        assert page.status_code == 200, page.text
    overview = await http.get("/")
    assert overview.status_code == 200
    seen = await http.get(f"/v1/tasks/{panel['id']}/waves", headers=http.admin)
    assert [wave["wave"] for wave in seen.json()["waves"]] == [1, 2]
