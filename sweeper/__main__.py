"""``python -m sweeper`` is ``sweep``."""

from sweeper.cli import main

if __name__ == "__main__":
    main()
