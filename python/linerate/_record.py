"""What a test came to."""

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, Union, cast

if TYPE_CHECKING:
    import pandas

#: Whether the numbers of a result can be trusted.
Stamp = Literal["VALID", "SUSPECT", "INVALID"]


@dataclass(frozen=True)
class Throughput:
    """Payload over a time."""

    bytes: int
    seconds: float
    rate_bits_per_second: int


@dataclass(frozen=True)
class Datagrams:
    """What became of datagrams."""

    sent: int
    received: int
    lost: int

    @property
    def lost_ratio(self) -> float:
        """Share of those sent that were lost, 0 to 1."""
        return self.lost / self.sent if self.sent else 0.0


@dataclass(frozen=True)
class Interval:
    """One interval of a direction."""

    from_seconds: float
    to_seconds: float
    bytes: int
    rate_bits_per_second: int
    #: Segments sent again; of a receiver 0.
    retransmits: int
    #: Datagrams that were missing at its end.
    missing: int
    #: Whether it is before the result (``--omit``).
    omitted: bool


@dataclass(frozen=True)
class Reason:
    """Why a result has its stamp."""

    rule: str
    stamp: Stamp
    text: str


class Record:
    """The record of one test, as ``linerate test --json`` writes it.

    The properties are of its first direction; ``direction(1)`` is that of the second of a test of
    both. What is not known is ``None``.
    """

    #: The whole record.
    data: Mapping[str, Any]

    def __init__(self, data: Mapping[str, Any], *, direction: int = 0) -> None:
        self.data = data
        self._direction = direction

    def __repr__(self) -> str:
        arrived = self.delivered or self.offered
        rate = f"{arrived.rate_bits_per_second} bit/s" if arrived else "no rate"
        return f"<Record {self.transport} {self.way}: {rate}, {self.stamp}>"

    @classmethod
    def load(cls, path: "Union[str, os.PathLike[str]]") -> "Record":
        """The first record of a file of ``linerate test --json``, or of ``save``. Raises a
        ``UsageError`` if it has none."""
        with open(path, encoding="utf-8") as file:
            try:
                data = json.load(file)
                record = data["records"][0] if "records" in data else data
                if "plan" not in record:
                    raise LookupError("plan")
            except (ValueError, LookupError, TypeError):
                # That module imports this one.
                from ._errors import UsageError

                raise UsageError(f"{path} has no record of linerate", "usage", 2) from None
        return cls(record)

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes the record to a file that ``linerate explain`` reads."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def to_json(self) -> str:
        """The record as JSON."""
        return json.dumps(self.data)

    def direction(self, number: int) -> "Record":
        """The same with the properties of another direction, counted from 0."""
        return Record(self.data, direction=number)

    @property
    def transport(self) -> Literal["tcp", "udp"]:
        """What carried the payload."""
        return cast(Literal["tcp", "udp"], self.data["plan"]["transport"])

    @property
    def way(self) -> str:
        """``send`` or ``receive``, as the client sees it."""
        return str(self._outcome.get("direction", self.data["plan"]["direction"]))

    @property
    def stamp(self) -> Stamp:
        """Whether to trust the numbers."""
        return cast(Stamp, self._judgement.get("stamp", "INVALID"))

    @property
    def reasons(self) -> Sequence[Reason]:
        """Why it has that stamp, and notes."""
        reasons = self._judgement.get("reasons", [])
        return [Reason(one["rule"], one["stamp"], one["text"]) for one in reasons]

    @property
    def sentence(self) -> Optional[str]:
        """What limited the test, and what to change."""
        verdict = self._judgement.get("verdict")
        return str(verdict["sentence"]) if verdict else None

    @property
    def limit(self) -> Optional[str]:
        """The rule that names what limited it, e.g. ``qdisc-limit``; None: nothing did, or it was
        not decided."""
        verdict = self._judgement.get("verdict") or {}
        findings = verdict.get("findings", [])
        is_limit = verdict.get("conclusion") == "limited" and findings
        return str(findings[0]["rule"]) if is_limit else None

    @property
    def asked_bits_per_second(self) -> Optional[int]:
        """The rate that was asked."""
        return cast(Optional[int], self._outcome.get("asked_bits_per_second"))

    @property
    def offered(self) -> Optional[Throughput]:
        """Payload that the sender gave to its kernel."""
        return self._throughput("offered")

    @property
    def acknowledged(self) -> Optional[Throughput]:
        """Payload that TCP at the receiver acknowledged."""
        return self._throughput("acknowledged")

    @property
    def delivered(self) -> Optional[Throughput]:
        """Payload that the receiver got."""
        return self._throughput("delivered")

    @property
    def retransmits(self) -> Optional[int]:
        """Segments that TCP sent again."""
        return cast(Optional[int], self._outcome.get("retransmits"))

    @property
    def jitter_seconds(self) -> Optional[float]:
        """Jitter of datagrams (RFC 3550)."""
        return cast(Optional[float], self._outcome.get("jitter_seconds"))

    @property
    def datagrams(self) -> Optional[Datagrams]:
        """What became of datagrams; None: it is TCP."""
        counted = self._outcome.get("datagrams")
        if counted is None:
            return None
        return Datagrams(counted["sent"], counted["received"], counted["lost"])

    @property
    def intervals(self) -> Sequence[Interval]:
        """Its intervals, as the end that ran the client saw them."""
        each = self.data["intervals"]
        if self._direction >= len(each):
            return []
        return [
            Interval(
                one["from_seconds"],
                one["to_seconds"],
                one["bytes"],
                one["rate_bits_per_second"],
                one["retransmits"],
                one["missing"],
                one["omitted"],
            )
            for one in each[self._direction]["intervals"]
        ]

    def to_pandas(self) -> "pandas.DataFrame":
        """The intervals as a table, with the begin of each as its index. Needs pandas."""
        import pandas

        frame = pandas.DataFrame([vars(one) for one in self.intervals])
        return frame.set_index("from_seconds") if len(frame) else frame

    @property
    def _judgement(self) -> Mapping[str, Any]:
        return cast(Mapping[str, Any], self.data.get("judgement") or {})

    @property
    def _outcome(self) -> Mapping[str, Any]:
        directions = self.data["outcome"].get("directions", [])
        if self._direction < len(directions):
            return cast(Mapping[str, Any], directions[self._direction])
        return {}

    def _throughput(self, name: str) -> Optional[Throughput]:
        told = self._outcome.get(name)
        if told is None:
            return None
        return Throughput(told["bytes"], told["seconds"], told["rate_bits_per_second"])
