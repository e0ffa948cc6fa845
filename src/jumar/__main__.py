"""`jumar`, and `python -m jumar`.

Loading the command line takes a moment. Ctrl-C in that moment ends the program as it does later:
with exit code 130 and without a traceback. So nothing is loaded outside `run`.
"""


def run() -> None:
    """Run the command line of this process."""
    try:
        from jumar.cli import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    run()
