"""``privet-holder``: see what a task asks, answer it privately, keep track of epsilon.

Exit status: 0 done; 1 the record, the task or the curator is at fault, or an answer was refused; 2
wrong usage; 3 this holder refuses, to protect its record; 4 the answer is kept but nobody has taken
it, so resend it; 5 a relay holds the answer and has not delivered it yet, so ask again with resend.
"""

import typer

from privet.protocol.calls import TASKS
from privet.protocol.help_texts import whole_paragraphs

from .commands import answer, budget, cap, check, code, page, resend, show

TASK = f"https://curator.example{TASKS}/c463082017fb"
KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

app = typer.Typer(
    help=whole_paragraphs(__doc__), no_args_is_help=True, pretty_exceptions_enable=False
)
for command, example in (
    (show, f"show {TASK}"),
    (answer, f"answer {TASK} --record docs/examples/patient.json"),
    (budget, "budget"),
    (cap, "cap --task 1 --year 2"),
    (resend, "resend"),
    (check, f"check --curator-key {KEY}"),
    (code, f"code {TASK}"),
    (page, f"page {TASK}"),
):
    says = whole_paragraphs(command.__doc__)
    app.command(help=says, epilog=f"Example: privet-holder {example}")(command)


def main() -> None:
    app()
