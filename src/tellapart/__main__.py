"""`python -m tellapart` is the program, for launchers that start modules (torchrun, accelerate)."""

from tellapart.cli.main import main

if __name__ == "__main__":
    main()
