"""The exact set of valid configs for one problem on one device, as a compact matrix."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autotune_lab.errors import DefinitionError, UsageError
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.parameter import Parameter

Codes = NDArray[np.uint16]


class BoundSpace(Sequence[Config]):
    """A finite set of configs in lexicographic order of the declared values.

    Configs are made when asked for; what is kept is ``codes``.

    Attributes:
        parameters: in declared order.
        codes: (size, parameters) uint16; each row's positions in the parameters' values.
        constraints: texts of all rules; ``skipped`` ones could not be checked without a device.
        rejections: rule text -> raw combinations that it was the first to reject.
    """

    def __init__(
        self,
        *,
        parameters: Sequence[Parameter],
        codes: Codes,
        constraints: Sequence[str] = (),
        rejections: Mapping[str, int] | None = None,
        skipped: Sequence[str] = (),
    ) -> None:
        self.parameters = tuple(parameters)
        self.codes = codes
        self.constraints = tuple(constraints)
        self.rejections = dict(rejections or {})
        self.skipped = tuple(skipped)

    @classmethod
    def from_rows(
        cls,
        parameters: Mapping[str, Sequence[Any]],
        rows: Sequence[Sequence[Any]],
        *,
        ordered: Sequence[str] | None = None,
    ) -> "BoundSpace":
        """Make a space of an explicit list of configs, as recorded or published tables have.

        Args:
            parameters: name -> all values, in the order of the rows' columns.
            rows: one value for each parameter; equal rows count once.
            ordered: names of the ordered parameters; by default those of increasing numbers.

        Raises:
            DefinitionError: a row is too short or long, or holds a value that is not listed.
        """
        made = [
            Parameter(name, tuple(values), None if ordered is None else name in ordered)
            for name, values in parameters.items()
        ]
        positions = [{value: i for i, value in enumerate(p.values)} for p in made]
        try:
            codes = np.array(
                [[at[v] for at, v in zip(positions, row, strict=True)] for row in rows],
                dtype=np.uint16,
            ).reshape(len(rows), len(made))
        except (KeyError, ValueError, TypeError) as error:
            raise DefinitionError("rows", [f"not of the parameters' values: {error}"]) from error
        return cls(parameters=made, codes=np.unique(codes, axis=0))

    @property
    def size(self) -> int:
        """Number of valid configs."""
        return len(self.codes)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names in declared order."""
        return tuple(parameter.name for parameter in self.parameters)

    def __len__(self) -> int:
        return len(self.codes)

    def config(self, index: int) -> Config:
        """Return the config at a position."""
        return Config(
            {
                parameter.name: parameter.values[code]
                for parameter, code in zip(self.parameters, self.codes[index], strict=True)
            }
        )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.config(i) for i in range(*index.indices(len(self)))]
        return self.config(index)

    def __iter__(self) -> Iterator[Config]:
        return (self.config(i) for i in range(len(self)))

    def index(self, config: Any, *unused: Any) -> int:
        """Return a config's position.

        Raises:
            KeyError: it is not a config of this space.
        """
        del unused
        position = self.find([p.index(config[p.name]) for p in self.parameters])
        if position is None or len(config) != len(self.parameters):
            raise KeyError(config)
        return position

    def find(self, code: Sequence[int]) -> int | None:
        """Return the row of a code, by bisection column by column, or None."""
        low, high = 0, len(self.codes)
        for column, wanted in enumerate(code):
            values = self.codes[low:high, column]
            start = low + int(np.searchsorted(values, wanted, side="left"))
            high = low + int(np.searchsorted(values, wanted, side="right"))
            low = start
            if low >= high:
                return None
        return low

    def __contains__(self, config: object) -> bool:
        if not isinstance(config, Mapping):
            return False
        try:
            self.index(config)
        except (KeyError, DefinitionError):
            return False
        return True

    def require(self, config: Mapping[str, Any]) -> Config:
        """Return the space's own copy of a config.

        Raises:
            UsageError: it is not a valid config here; the message names what is wrong.
        """
        faults = [
            f"{name!r} is not a parameter; they are {', '.join(self.names)}"
            for name in config
            if name not in self.names
        ]
        for parameter in self.parameters:
            if parameter.name not in config:
                faults.append(f"{parameter.name} is missing")
                continue
            try:
                parameter.index(config[parameter.name])
            except KeyError:
                allowed = ", ".join(str(value) for value in parameter.values)
                faults.append(f"{parameter.name}={config[parameter.name]} is not one of {allowed}")
        if not faults and config not in self:
            faults.append("a constraint rejects it")
        if faults:
            raise UsageError(f"config {dict(config)}: {'; '.join(faults)}")
        return self.config(self.index(config))

    def neighbours(self, config: Mapping[str, Any]) -> list[Config]:
        """Return the valid configs one step away.

        A step moves one ordered parameter up or down, or gives an unordered one another value.

        Raises:
            KeyError: the config is not of this space.
        """
        return [self.config(i) for i in self.neighbour_indices(self.index(config))]

    def neighbour_indices(self, index: int) -> list[int]:
        """Return the positions of a config's neighbours, in order of parameters and values."""
        code = [int(c) for c in self.codes[index]]
        found = []
        for column, parameter in enumerate(self.parameters):
            here = code[column]
            steps = [here - 1, here + 1] if parameter.ordered else range(len(parameter.values))
            for step in steps:
                if step != here and 0 <= step < len(parameter.values):
                    position = self.find([*code[:column], step, *code[column + 1 :]])
                    if position is not None:
                        found.append(position)
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return plain data that explains the space without its definition."""
        return {
            "parameters": {p.name: [_plain(v) for v in p.values] for p in self.parameters},
            "ordered": [p.name for p in self.parameters if p.ordered],
            "constraints": list(self.constraints),
            "size": len(self),
        }


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
