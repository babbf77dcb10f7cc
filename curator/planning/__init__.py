"""What to expect before anybody is asked: growers, depths and mechanisms tried on public records.

``plan`` returns a ``Plan``: expected accuracy with its uncertainty, the best choice, bytes per
report, what it would take to reach a wanted accuracy, and whether collecting is worth it at all.
No private record is involved, so planning costs no privacy.
"""

from privet.curator.planning.outlook import Choice, Figure, Outlook, Plan, Requirement, Verdict
from privet.curator.planning.planner import plan, plan_table

__all__ = [
    "Choice",
    "Figure",
    "Outlook",
    "Plan",
    "Requirement",
    "Verdict",
    "plan",
    "plan_table",
]
