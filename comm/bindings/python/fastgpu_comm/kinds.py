"""The types of numbers, and the operations on them; the values are those of the C headers."""

import enum
import operator
from typing import Any


class ElementType(enum.IntEnum):
    """The types that can be reduced. Arrays of other types can be moved (broadcast, gathered,
    sent), not reduced.
    """

    FLOAT32 = 0
    FLOAT64 = 1
    INT32 = 2
    INT64 = 3
    FLOAT16 = 4
    BFLOAT16 = 5
    INT8 = 6
    UINT8 = 7


class Op(enum.IntEnum):
    """An operation. On integers, sums and products wrap, and an average is that of the wrapped sum,
    rounded towards zero: two ranks with an int8 of 100 get -28. Convert them first to a type that
    holds the sum. A floating-point result is NaN if an operand is.
    """

    SUM = 0
    AVERAGE = 1
    MIN = 2
    MAX = 3
    PRODUCT = 4

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(
            f"{value!r} is no operation: give fastgpu_comm.SUM, AVERAGE, MIN, MAX or PRODUCT"
        )


SUM, AVERAGE, MIN, MAX, PRODUCT = Op


def op_of(value: Any) -> Op:
    """Returns the operation of that number. Raises ValueError for anything else, such as True or
    1.0, which equal one.
    """
    if not isinstance(value, bool):
        try:
            return Op(operator.index(value))
        except TypeError:
            pass
    raise ValueError(
        f"{value!r} is no operation: give fastgpu_comm.SUM, AVERAGE, MIN, MAX or PRODUCT"
    )
