"""Say which tests could not run for want of a system package; `make test` ends with this.  Nothing is needed so far."""

import shutil

NEEDED: dict[str, str] = {}  # program: what it is needed for and the Debian package that brings it


def missing() -> list[str]:
    """Return one line for each program that is not installed."""
    return [f"NOT RUN: {reason}" for program, reason in NEEDED.items() if shutil.which(program) is None]


if __name__ == "__main__":
    for line in missing():
        print(line)
