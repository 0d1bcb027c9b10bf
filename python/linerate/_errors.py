"""Errors, by the exit code of the command."""

from typing import Optional, Sequence

from ._record import Record


class LinerateError(Exception):
    """A run that did not do what was asked."""

    #: What happened, in one sentence.
    message: str
    #: ``usage``, ``unreachable``, ``busy``, ``interrupted`` or ``failed``; of a result, ``invalid``
    #: or ``requirement``.
    kind: str
    #: Exit code of the command.
    exit_code: int
    #: Records of the tests before it.
    records: Sequence[Record]

    def __init__(
        self, message: str, kind: str, exit_code: int, records: Sequence[Record] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.exit_code = exit_code
        self.records = tuple(records)


class TestFailed(LinerateError):
    """The test could not be run, or did not end as planned."""

    #: pytest: it is no class of tests.
    __test__ = False


class UsageError(LinerateError):
    """An option or a value is wrong."""


class InvalidResult(LinerateError):
    """The result is INVALID, and ``require_valid`` was asked."""


class RequirementMissed(LinerateError):
    """A requirement such as ``--min-rate`` was missed."""


class BusyError(LinerateError):
    """The server is busy with tests of others."""


class Interrupted(LinerateError):
    """The run was interrupted."""


_CLASSES = {
    1: TestFailed,
    2: UsageError,
    3: InvalidResult,
    4: RequirementMissed,
    5: BusyError,
    130: Interrupted,
}
_KINDS = {2: "usage", 3: "invalid", 4: "requirement", 5: "busy", 130: "interrupted"}


def error(
    exit_code: int, message: str, kind: Optional[str] = None, records: Sequence[Record] = ()
) -> LinerateError:
    """The exception of an exit code."""
    of_code = _CLASSES.get(exit_code, TestFailed)
    return of_code(message, kind or _KINDS.get(exit_code, "failed"), exit_code, records)
