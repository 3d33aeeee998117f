"""Say which tests could not run for want of a system package; `make test` ends with this."""

import shutil

NEEDED = {  # program: what it is needed for and the Debian package that brings it
    "chromium": "the report in a real browser (tests/report/test_browser.py): apt-get install chromium; pip install playwright",
}


def missing() -> list[str]:
    """Return one line for each program that is not installed."""
    return [f"NOT RUN: {reason}" for program, reason in NEEDED.items() if shutil.which(program) is None]


if __name__ == "__main__":
    for line in missing():
        print(line)
