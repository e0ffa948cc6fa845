"""`jumar`, and `python -m jumar`.

Loading the command line takes a moment. Ctrl-C in that moment ends the program as it does later:
with exit code 130 and without a traceback. So nothing is loaded outside `run`.

Linear algebra runs in one thread, unless the environment says otherwise. Vectors here are short:
several threads wait for each other longer than they compute (a log with 20,000 observations took
81 s beside other work, and 14 s with one thread), and sums depend on how many there are.
"""

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def run() -> None:
    """Run the command line of this process."""
    try:
        import os

        for name in THREADS:
            os.environ.setdefault(name, "1")  # read when numpy is loaded
        from jumar.cli import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    run()
