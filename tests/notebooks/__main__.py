"""Strips the notebooks of outputs, as they are kept:  python -m tests.notebooks"""

from tests.notebooks.notebook import paths, read, stripped, text


def main() -> None:
    for path in paths():
        kept = text(stripped(read(path)))
        if kept != path.read_text(encoding="utf-8"):
            path.write_text(kept, encoding="utf-8")
            print(f"stripped {path.name}")


if __name__ == "__main__":
    main()
