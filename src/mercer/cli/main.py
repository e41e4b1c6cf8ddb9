"""The entry point of the ``mercer`` script, which imports nothing before it heeds Ctrl-C."""

__all__ = ["run"]

import sys


def run() -> None:
    """Run the command line; an interruption while its modules are imported ends it as any later one does."""
    try:
        from mercer.cli.app import app

        app()
    except KeyboardInterrupt:
        print("mercer: interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
