"""``privet``, which is ``python -m privet.curator``."""

import sys


def main() -> int:
    """Run the command line; the exit code. Says what to install where it cannot run."""
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "privet":
            raise
        from privet.protocol.installing import install_command

        print(
            f"The command privet needs {error.name}, which is not installed: "
            f"{install_command('curator')}",
            file=sys.stderr,
        )
        return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
