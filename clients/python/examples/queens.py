"""Counts the ways to place N queens, for several N at once: `python queens.py nqueens.wasm 8 9 10`."""

import sys

import sateen


def main(module: str, numbers: list[str]) -> int:
    with sateen.Client() as client:
        try:
            for number, count in zip(numbers, client.map(module, numbers)):
                print(f"{number} queens:", count)
        except sateen.RunFailed as failure:
            print(failure, file=sys.stderr)
            return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
