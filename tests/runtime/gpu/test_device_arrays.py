"""Arrays of other libraries on a device, as their protocols describe them."""

import ctypes

import numpy as np
import pytest

from polyml.errors import PolymlTypeError
from polyml.frontend.syntax import ArrayType
from polyml.runtime.gpu import device_arrays, dlpack
from polyml.runtime.gpu.device_arrays import DeviceArray, argument, overlap


class Interface:
    def __init__(self, shape=(3, 4), typestr="<f4", data=(4096, False), **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": data, "version": 3, **more}


def test_an_interface_is_read():
    found = argument("A", Interface(stream=7))
    assert isinstance(found.type, ArrayType) and str(found.type) == "f32[:, :]" and found.layout == "C"
    array = found.value
    assert (array.shape, array.dtype, array.start, array.stream) == ((3, 4), np.float32, 4096, 7)
    assert array.nbytes == 48 and array.writeable


def test_bfloat16_has_the_code_that_pytorch_and_ml_dtypes_write():
    import ml_dtypes

    code = np.dtype(ml_dtypes.bfloat16).str
    found = argument("A", Interface(typestr=code))
    assert code == "<V2" and str(found.type) == "bf16[:, :]" and found.value.nbytes == 24


@pytest.mark.parametrize("strides", [None, (16, 4)])
def test_strides_of_rows_one_after_another_are_taken(strides):
    assert argument("A", Interface(strides=strides)).value.shape == (3, 4)


def test_strides_of_extents_of_one_do_not_matter():
    assert argument("A", Interface((1, 4), strides=(1000, 4))).value.size == 4
    assert argument("A", Interface((0, 4), data=(0, False), strides=(1000, 8))).value.size == 0


@pytest.mark.parametrize(
    "array, why",
    [
        (Interface(strides=(32, 8)), "has the strides (32, 8), and kernels on devices take arrays that are stored row by row"),
        (Interface(strides=(4, 12)), "has the strides (4, 12)"),
        (Interface(typestr="<c8"), "has complex numbers"),
        (Interface(typestr=">f4"), "has elements of the type float32"),
        (Interface(typestr="<U1"), "has elements of the type str32"),
        (Interface(mask=object()), "has a mask"),
        (Interface(stream=0), "names the stream 0"),
        (Interface(data=None), "cannot be read: TypeError"),
    ],
)
def test_what_kernels_do_not_take_is_refused_with_the_reason(array, why):
    with pytest.raises(PolymlTypeError) as refused:
        argument("A", array)
    assert "argument `A`, a tests.runtime.gpu.test_device_arrays.Interface on a device, " + why in str(refused.value)


@pytest.mark.parametrize("other", [np.ones(3), 3, None, "text", [1], object()])
def test_anything_else_is_no_array_on_a_device(other):
    assert argument("A", other) is None


def test_a_class_that_raises_is_refused():
    class Wrong:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("no")

    with pytest.raises(PolymlTypeError, match="cannot be read: RuntimeError: no"):
        argument("A", Wrong())


# DLPack

KINDS = {np.dtype("f4"): (2, 32), np.dtype("i8"): (0, 64), np.dtype("u1"): (1, 8), np.dtype("bool"): (6, 8)}


class Tensor:
    """An object with DLPack's protocol, which says that its memory is on a CUDA device."""

    def __init__(self, array, device=2, is_versioned=True, is_read_only=False, strides=None, offset=0):
        self.array, self.device, self.streams = array, device, []
        code, bits = KINDS[array.dtype]
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = (ctypes.c_int64 * array.ndim)(*strides) if strides else None
        tensor = dlpack._Tensor(array.ctypes.data, device, 0, array.ndim, code, bits, 1, dims, steps, offset)
        self.is_versioned = is_versioned
        self.whole = dlpack._Versioned(1, 0, None, None, int(is_read_only), tensor) if is_versioned else tensor
        self.kept = dims, steps

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None, **more):
        if more and not self.is_versioned:
            raise TypeError("max_version")
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.name = b"dltensor_versioned" if self.is_versioned else b"dltensor"
        return new(ctypes.addressof(self.whole), self.name, None)


@pytest.mark.parametrize("is_versioned", [True, False])
@pytest.mark.parametrize("dtype", list(KINDS))
def test_a_capsule_is_read(dtype, is_versioned):
    array = np.zeros((2, 3), dtype)
    given = Tensor(array, is_versioned=is_versioned, offset=8)
    found = argument("A", given).value
    assert (found.language, found.shape, found.dtype, found.start) == ("cuda", (2, 3), dtype, array.ctypes.data + 8)
    assert found.writeable and given.streams == [device_arrays.LEGACY_STREAM]


def test_a_read_only_capsule_is_not_writeable():
    assert not argument("A", Tensor(np.zeros(3, "f4"), is_read_only=True)).value.writeable


def test_strides_of_a_capsule_count_elements():
    assert argument("A", Tensor(np.zeros((2, 3), "f4"), strides=(3, 1))).value.shape == (2, 3)
    with pytest.raises(PolymlTypeError, match=r"strides \(8, 16\)"):
        argument("A", Tensor(np.zeros((2, 3), "f4"), strides=(2, 4)))


def test_a_capsule_of_the_hosts_memory_is_no_array_on_a_device():
    assert argument("A", Tensor(np.zeros(3, "f4"), device=1)) is None


# overlap


def at(start, count, space="cuda"):
    return DeviceArray("cuda", (count,), np.dtype("f4"), None, start, space, True)


def test_overlap_is_found_where_one_of_two_is_written():
    arrays = {"A": at(0, 10), "B": at(36, 10), "C": at(76, 10), "D": at(0, 10, "another buffer"), "E": at(40, 0)}
    assert overlap(arrays, ("A",)) == ("A", "B") and overlap(arrays, ("B",)) == ("B", "A")
    assert overlap(arrays, ("C", "D", "E")) is None
