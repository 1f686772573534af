"""The sizes of one convolution as a value, and the checks of the arguments from which it is made."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import SupportsIndex

import numpy as np

from polyml.errors import PolymlTypeError, PolymlValueError

Borders = tuple[tuple[int, int], tuple[int, int]]  # (above, below), (left, right): rows and columns of zeros

LAYOUTS = ("NCHW", "NHWC")
X_AXES = {"NCHW": "(n, c_in, h, w)", "NHWC": "(n, h, w, c_in)"}
W_AXES = {"NCHW": "(c_out, c_in/groups, kh, kw)", "NHWC": "(kh, kw, c_in/groups, c_out)"}


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """A Geometry holds the sizes of one convolution, without its data.

    images, c_in, height, width: of the image, without zeros around it.
    c_out, kh, kw: how many filters there are, and their rows and columns.
    stride, dilation: (vertical, horizontal).
    padding: ((above, below), (left, right)), rows and columns of zeros.
    groups: how many groups the channels are divided into, each with filters of its own.
    layout: "NCHW" or "NHWC".
    dtype: "float32" or "float64".
    """

    images: int
    c_in: int
    height: int
    width: int
    c_out: int
    kh: int
    kw: int
    stride: tuple[int, int] = (1, 1)
    padding: Borders = ((0, 0), (0, 0))
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    layout: str = "NCHW"
    dtype: str = "float32"

    @property
    def reach(self) -> tuple[int, int]:
        """Returns how many rows and columns of pixels the dilated filter covers."""
        return (self.kh - 1) * self.dilation[0] + 1, (self.kw - 1) * self.dilation[1] + 1

    @property
    def out_height(self) -> int:
        """Returns how many rows the result has."""
        return (self.height + sum(self.padding[0]) - self.reach[0]) // self.stride[0] + 1

    @property
    def out_width(self) -> int:
        """Returns how many columns the result has."""
        return (self.width + sum(self.padding[1]) - self.reach[1]) // self.stride[1] + 1

    @property
    def out_shape(self) -> tuple[int, int, int, int]:
        """Returns the shape of the result, in the axes of the layout."""
        if self.layout == "NHWC":
            return self.images, self.out_height, self.out_width, self.c_out
        return self.images, self.c_out, self.out_height, self.out_width

    @property
    def group_in(self) -> int:
        """Returns how many channels one filter reads: those of one group."""
        return self.c_in // self.groups

    @property
    def group_out(self) -> int:
        """Returns how many channels of the result one group writes."""
        return self.c_out // self.groups

    @property
    def depth(self) -> int:
        """Returns how many products are summed up for one element of the result."""
        return self.kh * self.kw * self.group_in

    @property
    def pixels(self) -> int:
        """Returns how many pixels the result has, in all images."""
        return self.images * self.out_height * self.out_width

    @property
    def flop(self) -> int:
        """Returns how many additions and multiplications the convolution has by its definition."""
        return 2 * self.pixels * self.c_out * self.depth

    @property
    def element_bytes(self) -> int:
        """Returns the bytes of one element."""
        return np.dtype(self.dtype).itemsize

    @property
    def x_bytes(self) -> int:
        """Returns the bytes of all images, without zeros around them."""
        return self.images * self.c_in * self.height * self.width * self.element_bytes

    @property
    def w_bytes(self) -> int:
        """Returns the bytes of all filters."""
        return self.c_out * self.depth * self.element_bytes

    @property
    def y_bytes(self) -> int:
        """Returns the bytes of the result."""
        return self.pixels * self.c_out * self.element_bytes

    @property
    def is_padded(self) -> bool:
        """Returns whether there are zeros around the image."""
        return self.padding != ((0, 0), (0, 0))

    @property
    def is_pointwise(self) -> bool:
        """Returns whether the convolution is a product of matrices: filters of one element, stride 1, no zeros around."""
        return (self.kh, self.kw) == (1, 1) and self.stride == (1, 1) and not self.is_padded

    @property
    def is_depthwise(self) -> bool:
        """Returns whether each filter reads one channel, and there are more channels than filters for any one channel."""
        return self.group_in == 1 and self.groups > self.group_out

    @property
    def has_neighbouring_taps(self) -> bool:
        """Returns whether what one row of a filter reads is contiguous in an image (h, w, c_in)."""
        return self.groups == 1 and (self.dilation[1] == 1 or self.kw == 1)

    def __str__(self) -> str:
        parts = [
            f"{self.images} x {self.c_in} x {self.height} x {self.width}",
            f"by {self.c_out} filters {self.group_in} x {self.kh} x {self.kw}",
            f"to {self.out_height} x {self.out_width}",
        ]
        parts += [f"stride {self.stride[0]}, {self.stride[1]}"] if self.stride != (1, 1) else []
        parts += [f"dilation {self.dilation[0]}, {self.dilation[1]}"] if self.dilation != (1, 1) else []
        parts += [f"groups {self.groups}"] if self.groups != 1 else []
        if self.is_padded:
            (top, bottom), (left, right) = self.padding
            even = (top, left) == (bottom, right)
            parts.append(f"padding {top}, {left}" if even else f"padding {top} and {bottom}, {left} and {right}")
        return f"{', '.join(parts)}; {self.layout} {self.dtype}"


def check_layout(layout: object) -> None:
    """Raises PolymlValueError for a layout other than "NCHW" and "NHWC"."""
    if layout not in LAYOUTS:
        raise PolymlValueError(f"`layout` is {layout!r}", notes=['"NCHW" and "NHWC" are accepted'])


@dataclass(frozen=True)
class ConvolutionArguments:
    """A ConvolutionArguments holds what a caller says of a convolution, as `conv2d` takes it, before it is checked.

    x_shape, w_shape: the shapes of image and filters, in the axes of the layout.
    dtype: "float32" or "float64".
    """

    x_shape: tuple[int, ...]
    w_shape: tuple[int, ...]
    dtype: str
    stride: object
    padding: object
    dilation: object
    groups: object
    layout: str

    @property
    def types(self) -> tuple[type, ...]:
        """Returns the types of stride, padding, dilation and groups: 1 and True are equal, but only 1 is accepted."""
        return type(self.stride), type(self.padding), type(self.dilation), type(self.groups)


def geometry(arguments: ConvolutionArguments) -> Geometry:
    """Returns the sizes of the convolution that a caller's arguments define.

    Raises PolymlTypeError or PolymlValueError for arguments that make no convolution, with the shapes and what would be accepted.
    """
    x_shape, w_shape, layout = arguments.x_shape, arguments.w_shape, arguments.layout
    check_layout(layout)
    for name, shape, axes in (("x", x_shape, X_AXES), ("w", w_shape, W_AXES)):
        if len(shape) != 4:
            raise PolymlValueError(
                f"`{name}` has shape {tuple(shape)}, that is {len(shape)} dimensions",
                notes=[f"in layout {layout} it has four: {axes[layout]}"],
            )
    if layout == "NHWC":
        (images, height, width, c_in), (kh, kw, group_in, c_out) = x_shape, w_shape
    else:
        (images, c_in, height, width), (c_out, group_in, kh, kw) = x_shape, w_shape
    if min(c_in, height, width, c_out, group_in, kh, kw) < 1:
        raise PolymlValueError(
            f"`x` has shape {tuple(x_shape)} and `w` {tuple(w_shape)}", notes=["only the number of images may be 0"]
        )
    groups = _count("groups", arguments.groups, 1)
    if c_in != groups * group_in or c_out % groups:
        raise PolymlValueError(
            f"`x` has {c_in} channels (shape {tuple(x_shape)}), `w` {c_out} filters of {group_in} channels "
            f"(shape {tuple(w_shape)}), groups={groups}",
            notes=[f"w is {W_AXES[layout]}: {c_in} / {groups} channels a filter, and c_out a multiple of groups"],
        )
    stride, dilation = _pair("stride", arguments.stride, 1), _pair("dilation", arguments.dilation, 1)
    made = Geometry(
        images=images,
        c_in=c_in,
        height=height,
        width=width,
        c_out=c_out,
        kh=kh,
        kw=kw,
        stride=stride,
        dilation=dilation,
        groups=groups,
        layout=layout,
        dtype=arguments.dtype,
    )
    made = replace(made, padding=_padding(arguments.padding, made))
    if made.out_height < 1 or made.out_width < 1:
        (top, bottom), (left, right) = made.padding
        raise PolymlValueError(
            f"the filter covers {made.reach[0]} x {made.reach[1]} pixels, the padded image has "
            f"{height + top + bottom} x {width + left + right}",
            notes=["the image with its padding is at least as large as the filter with its dilation"],
        )
    return made


def _padding(given: object, made: Geometry) -> Borders:
    """Returns the rows and columns of zeros around the image, ((above, below), (left, right)).

    given: a number, a pair, "valid" for none, or "same" for as many as make ceil(size / stride) results; an odd row or column of
        zeros goes below or to the right.
    made: the other sizes of the convolution, which "same" needs
    """
    if given == "valid":
        return (0, 0), (0, 0)
    if given == "same":
        sizes = zip((made.height, made.width), made.reach, made.stride)
        missing = [max((-(-size // step) - 1) * step + reach - size, 0) for size, reach, step in sizes]
        (top, bottom), (left, right) = ((total // 2, total - total // 2) for total in missing)
        return (top, bottom), (left, right)
    vertical, horizontal = _pair("padding", given, 0, 'or "same", or "valid"')
    return (vertical, vertical), (horizontal, horizontal)


def _pair(name: str, given: object, least: int, or_else: str = "") -> tuple[int, int]:
    """Returns an argument, a number or a pair of them, as a pair (vertical, horizontal).

    name: of the argument, for the error.
    least: the least number that is accepted.
    or_else: what is accepted besides numbers and pairs, for the error.
    """
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return _count(name, given[0], least, or_else), _count(name, given[1], least, or_else)
    number = _count(name, given, least, or_else)
    return number, number


def _count(name: str, given: object, least: int, or_else: str = "") -> int:
    """Returns an argument as an integer of at least `least`; raises PolymlTypeError or PolymlValueError for anything else.

    name: of the argument, for the error.
    or_else: what is accepted besides such an integer, for the error.
    """
    pairs = "" if name == "groups" else " or a pair of them"
    notes = [" ".join(filter(None, [f"an integer from {least}{pairs}", or_else, "is accepted"]))]
    if not isinstance(given, SupportsIndex) or isinstance(given, bool):
        raise PolymlTypeError(f"`{name}` is {given!r}", notes=notes)
    try:
        number = operator.index(given)
    except TypeError:
        raise PolymlTypeError(f"`{name}` is {given!r}", notes=notes) from None
    if number < least:
        raise PolymlValueError(f"`{name}` is {given!r}", notes=notes)
    return number
