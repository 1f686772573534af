"""Commands as tests call them."""

from click.testing import CliRunner

from polyml.cli import main


def run(*words, code=0):
    """The command's (stdout, stderr)."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result.stdout, result.stderr
