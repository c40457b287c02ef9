"""``python -m autotune_lab`` is ``autotune-lab``."""

from autotune_lab.cli.app import main

if __name__ == "__main__":
    main()
